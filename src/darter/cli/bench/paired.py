"""Times of launches next to the driver's own: short batches in turn, judged by the median of paired ratios."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from darter.cli.bench.timing import Candidate, timer_of

Batch = Callable[[int], float]
"""Makes so many launches and returns nanoseconds a launch; the caller synchronises before."""

MOST_LAUNCHES = 256
"""Launches between two synchronisations: more of them fill the driver's queue, and then every launcher waits alike."""


@dataclass(frozen=True, slots=True)
class Paired:
    """Nanoseconds a launch of each candidate, one figure a round."""

    rounds: dict[str, list[float]] = field(default_factory=dict)

    def median_ns(self, name: str) -> float:
        return statistics.median(self.rounds[name])

    def min_ns(self, name: str) -> float:
        return min(self.rounds[name])

    def ratio(self, name: str, other: str) -> float:
        """Return the median of ``name``'s batches over those of ``other`` in the same rounds."""
        return statistics.median(a / b for a, b in zip(self.rounds[name], self.rounds[other], strict=True))


def batch_of(candidate: Candidate) -> Batch:
    """Return a candidate's statement as a batch."""
    timer = timer_of(candidate.statement, candidate.names)

    def run(count: int) -> float:
        turns = max(1, count // candidate.calls)
        return timer.timeit(turns) / (turns * candidate.calls) * 1e9

    return run


def measure_rounds(
    batches: Mapping[str, Batch],
    synchronize: Callable[[], object],
    *,
    rounds: int,
    launches: int = MOST_LAUNCHES,
    seconds: float = 3.0,
) -> Paired:
    """Return ``rounds`` rounds over all batches, in turning order, or as many (at least 20) as fit in ``seconds``."""
    paired = Paired({name: [] for name in batches})
    for run in batches.values():
        run(launches)
    end = time.perf_counter() + seconds
    for number in range(rounds):
        if number >= 20 and time.perf_counter() > end:
            break
        for name in _turned(list(batches), number):
            synchronize()
            paired.rounds[name].append(batches[name](launches))
    synchronize()
    return paired


def _turned(names: Sequence[str], number: int) -> list[str]:
    """Return the names forwards and backwards by turns, so that what follows on what evens out."""
    return list(names) if number % 2 == 0 else list(reversed(names))
