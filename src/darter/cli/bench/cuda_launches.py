"""Warm calls on a CUDA device over the driver's own launch, and over other libraries' launches of the same no-op."""

from __future__ import annotations

import timeit
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any

import darter as dt
from darter.cli.bench.launch_cases import LaunchCase, launch_cases
from darter.cli.bench.launchers import SIZES
from darter.cli.bench.paired import Batch, Paired, batch_of, measure_rounds
from darter.cli.bench.timing import Candidate
from darter.cli.beside import module_beside
from darter.cli.report_json import Row

CANARY_NS = 200.0
"""Busy work that a row of its own adds to the plain call: a measurement that does not show it shows nothing."""


def cuda_rows(rounds: int, with_peers: bool) -> Iterator[Row]:
    """Yield the rows of ``darter bench launch --backend cuda``: ratios, with nanoseconds beside them."""
    import torch

    peers = module_beside("benchmarks.peers")
    floors = module_beside("benchmarks.peers.driver_floor")
    for size in SIZES:
        cases = list(launch_cases("torch", sizes=(size,), with_numba=False, device="cuda"))
        launch = _launch(peers, size, cases[0])
        floor = floors.prepare_floor(launch)
        for case in cases:
            batches = _own_batches(case, floor)
            yield from _own_rows(case, measure_rounds(batches, torch.cuda.synchronize, rounds=rounds))
        if with_peers:
            yield from _peer_rows(peers, launch, cases[0], floor, rounds)


def _launch(peers: ModuleType, size: str, case: LaunchCase) -> Any:
    arguments = {name[:-2]: value for name, value in case.darter.names.items() if name.endswith("_0")}
    tensors = tuple(value for name, value in arguments.items() if name.startswith("t"))
    integers = tuple(value for name, value in arguments.items() if name.startswith("n"))
    return peers.Launch(size, tensors, integers)


def _own_batches(case: LaunchCase, floor: Batch) -> dict[str, Batch]:
    batches = {"floor": floor, case.name: batch_of(case.darter)}
    if case.is_plainest:
        compiled = _compiled(case.darter)
        batches[f"compiled/{_suffix(case)}"] = batch_of(compiled)
        batches[f"canary/{_suffix(case)}"] = batch_of(_slowed(case.darter))
    return batches


def _own_rows(case: LaunchCase, paired: Paired) -> Iterator[Row]:
    for name in paired.rounds:
        if name != "floor":
            yield _row(f"{name}/over_floor", paired, name, "floor")
    canary = f"canary/{_suffix(case)}"
    if canary in paired.rounds:
        yield Row(f"{canary}/added_ns", paired.median_ns(canary) - paired.median_ns(case.name), "ns")


def _peer_rows(peers: ModuleType, launch: Any, case: LaunchCase, floor: Batch, rounds: int) -> Iterator[Row]:
    import torch

    for found in peers.prepared(launch):
        if isinstance(found, peers.Skipped):
            yield Row(f"peer/{found.name}/{launch.size}/skipped", 0.0, "none", {"reason": found.reason})
            continue
        name, call = found
        candidate = Candidate(name, call.statement, call.names)
        batches: Mapping[str, Batch] = {"floor": floor, "darter": batch_of(case.darter), name: batch_of(candidate)}
        paired = measure_rounds(batches, torch.cuda.synchronize, rounds=rounds, seconds=2.0)
        yield _row(f"peer/{name}/{launch.size}/over_floor", paired, name, "floor")
        yield _row(f"{case.name}/over_{name}", paired, "darter", name)


def _row(name: str, paired: Paired, mine: str, theirs: str) -> Row:
    more = {
        "ns": {"min": paired.min_ns(mine), "median": paired.median_ns(mine)},
        "other_ns": {"min": paired.min_ns(theirs), "median": paired.median_ns(theirs)},
        "rounds": len(paired.rounds[mine]),
    }
    return Row(name, paired.ratio(mine, theirs), "ratio", more)


def _suffix(case: LaunchCase) -> str:
    return case.name.removeprefix("launch/")


def _compiled(candidate: Candidate) -> Candidate:
    """Return the same statement on what ``dt.compile`` returns for its arguments."""
    arguments = [value for name, value in candidate.names.items() if name != "function"]
    return replace(
        candidate, names={**candidate.names, "function": dt.compile(candidate.names["function"], *arguments)}
    )


def _slowed(candidate: Candidate) -> Candidate:
    """Return the candidate with ``CANARY_NS`` of busy work before each call."""
    turns = 100
    empty = min(timeit.repeat("for _ in turns: pass", globals={"turns": range(0)}, number=2000, repeat=20)) / 2000
    full = min(timeit.repeat("for _ in turns: pass", globals={"turns": range(turns)}, number=2000, repeat=20)) / 2000
    wanted = max(1, round(CANARY_NS * 1e-9 / ((full - empty) / turns)))
    text = f"for _ in turns: pass\n{candidate.statement}"
    return replace(candidate, statement=text, names={**candidate.names, "turns": range(wanted)})
