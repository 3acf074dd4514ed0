"""What a call of a launcher that does nothing costs by the number of its arguments: darter and the peers, on the CPU.

``python -m benchmarks.hotpath_replay.by_arguments --json FILE``
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from timeit import Timer
from typing import Any

import numpy as np

from benchmarks.peers import Call, Launch, Skipped
from benchmarks.peers.on_cpu import CPU_PEERS, prepared_on_cpu
from darter.cli.bench.launchers import SIZES, ArgumentList, empty_function, noop_launcher
from darter.cli.bench.timing import timer_of
from darter.cli.report_json import Row, installed_version, write_report

COUNTS = (1, 2, 4, 8, 14, 20, 30, 40, 50, 60)

DARTER = "darter"
BATCHES = 101
BATCH_NS = 1e5
"""So short that most batches pass between two interruptions of a busy machine."""


def main() -> int:
    """Measure everything that is importable here; print and write the rows."""
    parser = argparse.ArgumentParser(prog="by_arguments", description=__doc__)
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--counts", type=int, nargs="*", default=list(COUNTS), help="numbers of tensors")
    parser.add_argument("--only", choices=(DARTER, *CPU_PEERS), help="this one alone, in this process")
    options = parser.parse_args()
    if options.only is None:
        rows = [row for who in (DARTER, *CPU_PEERS) for row in _measured_apart(who, options.counts)]
    else:
        lists = {str(count): (count, 0) for count in options.counts}
        lists |= {size: (each.tensors, each.integers) for size, each in SIZES.items()}
        rows = [row for label, shape in lists.items() for row in _rows(options.only, label, *shape)]
    if options.json is not None:
        write_report(options.json, "python -m benchmarks.hotpath_replay.by_arguments", rows)
    return 0


def _measured_apart(who: str, counts: list[int]) -> list[Row]:
    """Return the rows of one of them, measured in a process of its own: some libraries do not bear each other."""
    with tempfile.TemporaryDirectory(prefix="darter-arguments-") as folder:
        file = Path(folder) / "rows.json"
        command = [sys.executable, "-m", "benchmarks.hotpath_replay.by_arguments", "--only", who, "--json", str(file)]
        done = subprocess.run([*command, "--counts", *map(str, counts)], stderr=subprocess.DEVNULL, check=False)
        if done.returncode:
            print(f"{who}: its process ended with status {done.returncode}")
            return []
        found = json.loads(file.read_text())["rows"]
    return [Row(row.pop("name"), row.pop("value"), row.pop("unit"), row) for row in found]


def _rows(who: str, label: str, tensors: int, integers: int) -> Iterator[Row]:
    calls = _darter_calls if who == DARTER else partial(_peer_call, who)
    for name, call in calls(label, tensors, integers):
        try:
            spent, least = nanoseconds(call)
        except Exception as error:  # noqa: BLE001 - what fails at this many arguments has no figure there
            print(f"{label:>3}  {name:30} failed: {type(error).__name__}: {error}", flush=True)
            continue
        print(f"{label:>3}  {name:30} {spent:12.0f} ns", flush=True)
        yield Row(f"arguments/cpu/{name}/{label}", spent, "ns", {"min": least, "arguments": tensors + integers})


def _darter_calls(label: str, tensors: int, integers: int) -> Iterator[tuple[str, Call]]:
    arrays = tuple(np.zeros((8, 16), np.float32) for _ in range(tensors))
    launch = Launch(label, arrays, _numbers(integers))
    arguments = ArgumentList(tensors, integers)
    launcher = noop_launcher(label, arguments)
    statement = f"function({arguments.names})"
    yield "empty Python function", Call(statement, launch.names | {"function": empty_function(label, arguments)})
    yield "darter, NumPy", Call(statement, launch.names | {"function": launcher})
    if installed_version("torch") is None:
        print("torch is not installed: no torch tensors")
        return
    names_of_torch = Launch(label, _torch_tensors(tensors), launch.integers).names
    yield "darter, torch", Call(statement, names_of_torch | {"function": launcher})


def _peer_call(who: str, label: str, tensors: int, integers: int) -> Iterator[tuple[str, Call]]:
    if installed_version("torch") is None:
        print(f"{label:>3}  {who:30} skipped: torch is not installed", flush=True)
        return
    found = prepared_on_cpu(who, Launch(label, _torch_tensors(tensors), _numbers(integers)))
    if isinstance(found, Skipped):
        print(f"{label:>3}  {found.name:30} skipped: {found.reason}", flush=True)
    else:
        yield found


def _torch_tensors(count: int) -> tuple[Any, ...]:
    import torch

    return tuple(torch.zeros((8, 16), dtype=torch.float32) for _ in range(count))


def _numbers(count: int) -> tuple[int, ...]:
    return tuple(range(100, 100 + count))


def nanoseconds(call: Call) -> tuple[float, float]:
    """Return the median and the least time of a call, in short batches."""
    timer = timer_of(call.statement, call.names)
    timer.timeit(20 if _one(timer) < BATCH_NS else 1)
    one = _one(timer)
    number = max(1, int(BATCH_NS / one))
    batches = [timer.timeit(number) / number * 1e9 for _ in range(BATCHES if one < 10 * BATCH_NS else BATCHES // 10)]
    return statistics.median(batches), min(batches)


def _one(timer: Timer) -> float:
    return max(1.0, timer.timeit(3) / 3 * 1e9)


if __name__ == "__main__":
    sys.exit(main())
