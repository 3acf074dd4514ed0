"""Rows of first launches from disk, each of a process of its own: what a start with a warm store waits for."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping

from darter.cli.bench.first_launch import CASES
from darter.cli.report_json import Row

PROCESSES = 9

FILLING = 2
"""Processes before those that count: the first compiles, the second finds no file changed just now."""


def disk_hit_rows(backend: str) -> Iterator[Row]:
    """Yield the median milliseconds of wall clock by case, with the minimum and those of the processor.

    Bytecode is used, as an installed darter has it.

    Raises:
        RuntimeError: a launch did not find its code on disk.
    """
    with tempfile.TemporaryDirectory(prefix="darter-bench-") as cache:
        environment = {**os.environ, "DARTER_CACHE_DIR": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for case in CASES:
            found = [_first_launch(backend, case, environment) for _ in range(FILLING + PROCESSES)][FILLING:]
            if any(origin != "disk" for origin, _, _ in found):
                raise RuntimeError(f"{case}: a first launch compiled; the store should have had it")
            wall, processor = [ms for _, ms, _ in found], [ms for _, _, ms in found]
            more = {
                "min": min(wall),
                "processor_ms": {"min": min(processor), "median": statistics.median(processor)},
                "all": wall,
            }
            yield Row(f"disk_hit/{case}", statistics.median(wall), "ms", more)


def _first_launch(backend: str, case: str, environment: Mapping[str, str]) -> tuple[str, float, float]:
    """Return where a new process found the code, and the milliseconds of wall clock and of processor it took."""
    command = [sys.executable, "-m", "darter.cli.bench.first_launch", backend, case]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    origin, wall, processor = done.stdout.split()
    return origin, float(wall), float(processor)
