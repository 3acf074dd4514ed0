"""Two trees' figures of one row, and whether the second is slower."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

INSTRUCTIONS_TOLERANCE = 0.02


@dataclass(frozen=True, slots=True)
class Comparison:
    """One row: values of paired runs in ``unit``, and instructions per call where they were counted.

    ``least`` are the least samples of all runs of either tree, by default the least values.
    """

    row: str
    unit: str
    original: tuple[float, ...]
    fixed: tuple[float, ...]
    original_instructions: float | None = None
    fixed_instructions: float | None = None
    least: tuple[float, float] | None = None

    @property
    def ratio(self) -> float:
        """The ratio of the medians, fixed to original."""
        return statistics.median(self.fixed) / statistics.median(self.original)

    @property
    def least_ratio(self) -> float:
        """The ratio of the least samples: what else the machine does lengthens some samples, and seldom all."""
        original, fixed = self.least or (min(self.original), min(self.fixed))
        return fixed / original

    @property
    def pair_ratios(self) -> tuple[float, ...]:
        """The ratio of each pair, ascending."""
        return tuple(sorted(b / a for a, b in zip(self.original, self.fixed, strict=True)))

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and highest ratio of a pair; of five pairs and more without the outermost two."""
        ratios = self.pair_ratios
        return (ratios[1], ratios[-2]) if len(ratios) >= 5 else (ratios[0], ratios[-1])

    @property
    def spread(self) -> float:
        low, high = self.bounds
        return high - low

    @property
    def instructions_ratio(self) -> float | None:
        if self.original_instructions is None or self.fixed_instructions is None:
            return None
        return self.fixed_instructions / self.original_instructions

    @property
    def gated(self) -> bool:
        """Whether it is a host row of plain calls."""
        return self.row.endswith("/jit")

    def slower(self, fail_above: float) -> str | None:
        """Return why the fixed tree is slower in this row, or None.

        Instructions decide where they were counted; else time, if medians and least samples agree.  Waiting (a lock,
        a clock, the system) costs time and few instructions: so time speaks too, but then the pairs (of five and more,
        without the outermost two) must all be over ``fail_above``.
        """
        counted = self.instructions_ratio
        if counted is not None and counted > 1 + INSTRUCTIONS_TOLERANCE:
            return f"instructions {counted - 1:+.1%}"
        over = min(self.ratio, self.least_ratio) > fail_above and self.ratio - 1 > self.spread
        if over and (counted is None or (len(self.pair_ratios) >= 3 and self.bounds[0] > fail_above)):
            return f"time {self.ratio - 1:+.0%}"
        return None
