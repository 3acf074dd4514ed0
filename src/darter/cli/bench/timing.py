"""Times of calls by many short batches, interleaved, so that what disturbs one candidate disturbs all of them."""

from __future__ import annotations

import statistics
import timeit
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Candidate:
    """``statement`` is timed with ``names`` in scope; it makes ``calls`` calls."""

    name: str
    statement: str
    names: Mapping[str, Any]
    calls: int = 1


def timer_of(statement: str, names: Mapping[str, Any]) -> timeit.Timer:
    """Return a timer of the statement in which the names are local variables, as a function's own are."""
    setup = "; ".join(f"{name} = __names[{name!r}]" for name in names)
    return timeit.Timer(statement, setup, globals={"__names": dict(names)})


@dataclass(frozen=True, slots=True)
class Times:
    """Nanoseconds per call, one figure per batch."""

    batches_ns: tuple[float, ...]

    @property
    def min_ns(self) -> float:
        return min(self.batches_ns)

    @property
    def median_ns(self) -> float:
        return statistics.median(self.batches_ns)

    def over(self, other: Times) -> float:
        """Return the median of the ratios of batches that ran one after the other."""
        pairs = zip(self.batches_ns, other.batches_ns, strict=True)
        return statistics.median(mine / theirs for mine, theirs in pairs)


def measure(candidates: Sequence[Candidate], *, batches: int = 200, batch_calls: int = 500) -> dict[str, Times]:
    """Return the times of each candidate: ``batches`` rounds over all of them, ``batch_calls`` calls at a time."""
    timers = {
        each.name: (
            timer_of(each.statement, each.names),
            max(1, batch_calls // each.calls),
            each.calls,
        )
        for each in candidates
    }
    for timer, repeats, _ in timers.values():
        timer.timeit(repeats)
    found: dict[str, list[float]] = {name: [] for name in timers}
    order = list(timers.items())
    for _ in range(batches):
        # Back and forth, so that none has the same neighbour before it each time.
        order.reverse()
        for name, (timer, repeats, calls) in order:
            found[name].append(timer.timeit(repeats) / (repeats * calls) * 1e9)
    return {name: Times(tuple(values)) for name, values in found.items()}
