"""Axes and colours that both kinds of picture, SVG and PNG, agree on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

OWN = ("#0b57d0", "#d1495b", "#00798c", "#6a4c93")
"""Colours of darter's lines."""

OTHERS = ("#8a6d3b", "#7a8b99", "#b07aa1", "#59a14f", "#e08214", "#9c755f", "#4e9a9a", "#a0a0a0", "#c48f00", "#6b6b9e")
"""Colours of everybody else's."""

PARTS = ("#9fb3c8", "#0b57d0", "#5b9bd5", "#f2a541", "#d1495b", "#3a9679", "#d5d8dc")
"""Colours of the parts of a stack; the last one is the rest."""


def colours(own: Sequence[bool]) -> list[str]:
    """Return a colour for each line, darter's from their own palette."""
    mine, others = iter(OWN * len(own)), iter(OTHERS * len(own))
    return [next(mine) if each else next(others) for each in own]


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps values from ``low`` … ``high`` to 0 … 1, linearly or by logarithm."""

    low: float
    high: float
    logarithmic: bool = False

    def place(self, value: float) -> float:
        if self.logarithmic:
            return (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        return (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        """Return round values inside the scale: 1, 2, 5 times powers of ten where logarithmic, else about six."""
        if self.logarithmic:
            decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            steps = (1, 2, 5) if self.high / self.low < 300 else (1,)
            found = [step * 10.0**decade for decade in decades for step in steps]
        else:
            step = _round_step((self.high - self.low) / 6)
            first = math.ceil(self.low / step - 1e-9)
            found = [step * number for number in range(first, math.floor(self.high / step + 1e-9) + 1)]
        return [tick for tick in found if self.low * (1 - 1e-9) <= tick <= self.high * (1 + 1e-9)]


def value_scale(values: Sequence[float], logarithmic: bool) -> Scale:
    """Return a scale with some air around the values; a linear one begins at 0."""
    if logarithmic:
        return Scale(min(values) / 1.25, max(values) * 1.25, True)
    return Scale(0.0, max(values) * 1.12 or 1.0)


def date_scale(days: Sequence[float]) -> Scale:
    """Return a scale of days, at least a fortnight wide."""
    margin = max(1.0, (max(days) - min(days)) * 0.05, (14 - (max(days) - min(days))) / 2)
    return Scale(min(days) - margin, max(days) + margin)


def date_text(day: float) -> str:
    """Return the ISO date of a day number."""
    return date.fromordinal(round(day)).isoformat()


def number_text(value: float) -> str:
    """Return a short number: 12, 1.5, 20k."""
    if value >= 1000:
        return f"{value / 1000:g}k" if value < 1e6 else f"{value / 1e6:g}M"
    return f"{value:.3g}"


def spread_out(places: Sequence[float], distance: float, low: float, high: float) -> list[float]:
    """Return the places, moved apart to at least ``distance`` and kept within ``low`` … ``high``, in the same order."""
    order = sorted(range(len(places)), key=lambda index: places[index])
    moved = list(places)
    for before, index in zip([None, *order], order, strict=False):
        least = low if before is None else moved[before] + distance
        moved[index] = max(moved[index], least)
    limit = high
    for index in reversed(order):
        moved[index] = min(moved[index], limit)
        limit = moved[index] - distance
    return moved


def _round_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= rough * 0.999)
