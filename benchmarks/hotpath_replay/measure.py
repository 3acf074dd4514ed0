"""From candidates to rows: host times by windows, the parts of a warm call, GPU time by events."""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from benchmarks.hotpath_replay.candidates import Candidate, Replay
from benchmarks.hotpath_replay.window import Call
from darter.cli.report_json import Row

PARTS = ("reading", "key", "guards", "lookup", "bind", "program")
"""What ``JitFunction._time_parts`` tells; ``key`` contains ``reading``."""

PART_REPEATS = 100
PART_ROUNDS = 5


def host_rows(
    prefix: str, found: Sequence[Candidate], windows: int, warmup: int, repeats: int, synchronize: Callable[[], None]
) -> list[Row]:
    """Return nanoseconds per call of each candidate (median over windows) and ratios to the same row's other ways.

    A round times every candidate once, so that what disturbs one disturbs all; a ratio is the median over the rounds.
    ``synchronize`` waits for the device, before and after what is timed.
    """
    samples: dict[tuple[str, str], list[float]] = {(each.row, each.way): [] for each in found}
    with _no_collections():
        for turn in range(warmup + windows):
            for each in found:
                synchronize()
                spent = each.run(repeats) / (each.calls * repeats)
                synchronize()
                if turn >= warmup:
                    samples[each.row, each.way].append(spent)
    rows = []
    for (row, way), values in samples.items():
        rows.append(Row(f"{prefix}/{row}/{way}", statistics.median(values), "ns", {"min": min(values)}))
    for row in dict.fromkeys(each.row for each in found):
        for way, other in (("jit", "python"), ("compiled", "python"), ("jit", "compiled"), ("jit", "floor")):
            if (row, other) not in samples:
                continue
            pairs = zip(samples[row, way], samples[row, other], strict=True)
            ratio = statistics.median(mine / theirs for mine, theirs in pairs)
            rows.append(Row(f"{prefix}/{row}/{way}_over_{other}", ratio, "ratio"))
    return rows


def part_rows(prefix: str, given: Replay) -> list[Row]:
    """Return nanoseconds per call of each part of a warm call, alone in a native loop; averaged over a row's calls.

    Empty for a darter that has no such loops.
    """
    rows = []
    with _no_collections():
        for row, calls in given.rows.items():
            parts = _parts(given, calls)
            rows += [Row(f"{prefix}/{row}/{part}", parts[part], "ns") for part in PARTS if part in parts]
    return rows


def _parts(given: Replay, calls: Sequence[Call]) -> dict[str, float]:
    """Return the parts' least times over some rounds; each call counts once for each time that it is made."""
    totals: dict[str, float] = {}
    known: dict[int, dict[str, float]] = {}
    for call in calls:
        if id(call) not in known:
            time_parts = getattr(given.made[call.launcher], "_time_parts", None)
            if time_parts is None:
                return {}
            rounds = [time_parts(PART_REPEATS, *call.arguments) for _ in range(PART_ROUNDS)]
            known[id(call)] = {part: min(each[part] for each in rounds) for part in rounds[0]}
        for part, spent in known[id(call)].items():
            totals[part] = totals.get(part, 0.0) + spent / len(calls)
    return totals


def gpu_event_rows(prefix: str, given: Replay, calls_each: int) -> list[Row]:
    """Return microseconds on the GPU of a launch of each row, by events around ``calls_each`` launches at a time."""
    import torch

    rows = []
    for row, calls in given.rows.items():
        spent = []
        for first in range(0, len(calls), calls_each):
            some = calls[first : first + calls_each]
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            # The launches are queued behind work, so that the events do not count the host's pauses between them.
            torch.cuda._sleep(2_000_000)
            start.record()
            for call in some:
                given.made[call.launcher](*call.arguments)
            end.record()
            end.synchronize()
            spent.append(start.elapsed_time(end) * 1e3 / len(some))
        rows.append(Row(f"{prefix}/{row}/gpu", statistics.median(spent), "us", {"min": min(spent)}))
    return rows


@contextmanager
def _no_collections() -> Iterator[None]:
    """Keep the garbage collector from running inside one sample and not another."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
