"""What is timed: for each launcher, and for all of them mixed, the same calls of every way to launch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import darter as dt
from benchmarks.hotpath_replay.arrays import arrays
from benchmarks.hotpath_replay.launchers import NAMES, Launcher, empty_twins, launchers
from benchmarks.hotpath_replay.straight_line import straight_line
from benchmarks.hotpath_replay.window import Call, softmax_calls, window_calls
from benchmarks.peers import Launch

MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class Candidate:
    """``run(n)`` makes ``calls`` calls n times over and returns nanoseconds; ``row`` is a launcher or ``MIXED``."""

    row: str
    way: str
    calls: int
    run: Callable[[int], int]


@dataclass(frozen=True, slots=True)
class Replay:
    """The calls of a window and of softmax, by row, and the launchers that they go to."""

    made: dict[str, Launcher]
    rows: dict[str, list[Call]]


def replay(backend: str, library: str, bodies: str) -> Replay:
    """Return the calls; compiles and launches nothing.  Raises ``ValueError`` for what does not go together."""
    make = arrays(library, backend)
    window = window_calls(make)
    rows: dict[str, list[Call]] = {MIXED: window}
    for call in [*window, *softmax_calls(make)]:
        rows.setdefault(NAMES[call.launcher], []).append(call)
    return Replay(launchers(bodies), rows)


def candidates(given: Replay) -> list[Candidate]:
    """Return every row's plain calls, its calls of precompiled handles, and its calls of empty Python functions.

    Compiles whatever is missing; launches nothing.
    """
    handles: dict[tuple[str, tuple[int, ...]], Any] = {}
    handle_of: dict[int, Any] = {}
    for calls in given.rows.values():
        for call in calls:
            if id(call) not in handle_of:
                compiled = dt.compile(given.made[call.launcher], *call.arguments)
                # One handle a specialisation, as a program that holds handles would have.
                handle_of[id(call)] = handles.setdefault((call.launcher, compiled.words), compiled)
    twins = empty_twins(given.made)
    found = []
    for row, calls in given.rows.items():
        found.append(_candidate(row, "jit", calls, lambda call: given.made[call.launcher]))
        found.append(_candidate(row, "compiled", calls, lambda call: handle_of[id(call)]))
        found.append(_candidate(row, "python", calls, lambda call: twins[call.launcher]))
    return found


def floor_candidates(given: Replay) -> list[Candidate]:
    """Return the driver's own launches of each row's arguments, in a C loop: one pointer a tensor, then the integers.

    The calls of a mixed row are grouped by launcher.  Raises ``RuntimeError`` for what the driver refuses.
    """
    from benchmarks.peers.driver_floor import prepare_floor

    floors = {}
    for call in {call.launcher: call for calls in given.rows.values() for call in calls}.values():
        tensors = tuple(value for value in call.arguments if hasattr(value, "data_ptr"))
        integers = tuple(value for value in call.arguments if isinstance(value, int))
        floors[call.launcher] = prepare_floor(Launch("", tensors, integers))

    def run(counts: Mapping[str, int], repeats: int) -> int:
        return round(repeats * sum(count * floors[launcher](count) for launcher, count in counts.items()))

    return [
        Candidate(row, "floor", len(calls), partial(run, Counter(call.launcher for call in calls)))
        for row, calls in given.rows.items()
    ]


def _candidate(row: str, way: str, calls: Sequence[Call], function_of: Callable[[Call], Any]) -> Candidate:
    run = straight_line([(function_of(call), call.arguments) for call in calls])
    return Candidate(row, way, len(calls), run)
