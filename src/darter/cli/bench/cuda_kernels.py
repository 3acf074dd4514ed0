"""What ``darter bench kernels --backend cuda`` measures: row kernels next to Triton's and a copy, and compiles."""

from __future__ import annotations

import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

from darter.cli.bench.cuda_kernel_cases import SETS, KernelCase, kernel_cases
from darter.cli.bench.disk_hits import disk_hit_rows
from darter.cli.report_json import Row

LAUNCHES = 3 * SETS
"""Launches between two events."""

COPY_BYTES = 1 << 30

LARGEST_ERROR = {"bf16": 1e-2, "f32": 1e-5}


def cuda_rows(rounds: int) -> Iterator[Row]:
    """Yield the rows; raises ``RuntimeError`` when a kernel's result is wrong."""
    yield from _compile_rows()
    yield from _kernel_rows(rounds)


# -- kernels ----------------------------------------------------------------------------------------------------------


def _kernel_rows(rounds: int) -> Iterator[Row]:
    copy = _copy()
    for case in kernel_cases():
        case.darter(0)
        error = case.error()
        kind = case.name.rpartition("_")[2]
        if not error <= LARGEST_ERROR[kind]:
            raise RuntimeError(f"{case.name} is wrong: relative error {error}")
        yield from _rows_of(case, error, _times(case, copy, rounds))


def _rows_of(case: KernelCase, error: float, times: dict[str, list[float]]) -> Iterator[Row]:
    """Yield time over Triton's at its best number of warps, and bytes a second over the copy's."""
    best = min((name for name in times if name.startswith("triton")), key=lambda name: statistics.median(times[name]))
    mine, rival, copied = (statistics.median(times[name]) for name in ("darter", best, "copy"))
    over_triton = statistics.median(a / b for a, b in zip(times["darter"], times[best], strict=True))
    bandwidth = [
        (case.moved_bytes / a) / (2 * COPY_BYTES / b) for a, b in zip(times["darter"], times["copy"], strict=True)
    ]
    yield Row(f"{case.name}/ms", mine, "ms", {"relative_error": error})
    yield Row(f"{case.name}/over_triton", over_triton, "ratio", {"triton_ms": rival, "triton": best})
    yield Row(
        f"{case.name}/over_copy",
        statistics.median(bandwidth),
        "ratio",
        {
            "copy_tb_per_s": 2 * COPY_BYTES / copied / 1e9,
            "triton": case.moved_bytes / rival / (2 * COPY_BYTES / copied),
        },
    )


def _copy() -> Any:
    import torch

    source = torch.randn(COPY_BYTES // 4, device="cuda")
    target = torch.empty_like(source)
    return lambda _: target.copy_(source)


def _times(case: KernelCase, copy: Any, rounds: int) -> dict[str, list[float]]:
    """Return milliseconds a launch, one figure a round and candidate, all candidates by turns."""
    runs = {"darter": (case.darter, LAUNCHES), "copy": (copy, 2)} | {
        f"triton_{warps}": (run, LAUNCHES) for warps, run in case.triton.items()
    }
    for run, launches in runs.values():
        _timed(run, launches)
    found: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(rounds):
        for name in list(runs) if number % 2 == 0 else reversed(runs):
            found[name].append(_timed(*runs[name]))
    return found


def _timed(run: Any, launches: int) -> float:
    cuda: Any = importlib.import_module("torch.cuda")
    begin, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    # Keeps the GPU busy until everything is queued, so that no gap between launches is timed.
    cuda._sleep(800_000)
    begin.record()
    for number in range(launches):
        run(number % SETS)
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end)) / launches


# -- compiles ---------------------------------------------------------------------------------------------------------


def _compile_rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="darter-bench-") as cache:
        cold = _cold_times(cache)
    for name, milliseconds in cold.items():
        yield Row(f"cold_compile/{name}", milliseconds, "ms")
    yield from disk_hit_rows("cuda")


def _cold_times(cache: str) -> dict[str, float]:
    """Return what ``cuda_compile_times`` measures, without the driver's own cache of assembled code."""
    environment = {**os.environ, "CUDA_CACHE_DISABLE": "1", "DARTER_CACHE_DIR": cache}
    command = [sys.executable, "-m", "darter.cli.bench.cuda_compile_times"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found
