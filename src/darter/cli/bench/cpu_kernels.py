"""What ``darter bench kernels --backend cpu`` measures: kernels next to numpy, threads, compiles, disk hits."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from darter import _native
from darter.cli.bench.disk_hits import disk_hit_rows
from darter.cli.beside import module_beside
from darter.cli.report_json import Row

ROWS = 8192
ELEMENTS = 64 << 20
BLOCK_ROWS = (1, 4, 16, 64, 256)
"""Rows that numpy takes at a time: few enough and they stay in a cache between its passes."""

Run = Callable[[], object]


def cpu_rows(rounds: int) -> Iterator[Row]:
    """Yield the rows: ratios are medians of the ratios of runs that followed each other; ``min_ratio`` is of minima.

    Raises:
        RuntimeError: a kernel's result is wrong.
    """
    yield from _compile_rows()
    yield from disk_hit_rows("cpu")
    yield from _softmax_rows(rounds)
    yield _add_row(rounds)
    _native.set_cpu_threads(0)


def _softmax_rows(rounds: int) -> Iterator[Row]:
    softmax = module_beside("examples.serving.softmax").make_softmax(ROWS, "f32")
    x = np.random.default_rng(0).standard_normal((ROWS, ROWS), np.float32)
    out, expected = np.empty_like(x), np.empty_like(x)
    runs: dict[str, Run] = {
        f"darter_{threads}": _on_threads(threads, lambda: softmax(x, out, ROWS)) for threads in (1, 2)
    }
    numpys = {f"numpy_{rows}": _numpy_softmax(x, expected, rows) for rows in BLOCK_ROWS}
    for run in (*runs.values(), *numpys.values()):
        run()
    if not np.allclose(out, expected, rtol=1e-5, atol=1e-9):
        raise RuntimeError(f"softmax differs from numpy's by {np.abs(out - expected).max()}")
    tried = _interleaved(numpys, 2)
    best = min(tried, key=lambda name: min(tried[name]))
    times = _interleaved({**runs, best: numpys[best]}, rounds)
    yield _ratio("softmax_8192/over_numpy", times, "darter_1", best)
    yield _ratio("softmax_8192/threads2_over_1", times, "darter_2", "darter_1")


def _numpy_softmax(x: Any, out: Any, block: int) -> Run:
    def run() -> None:
        for start in range(0, len(x), block):
            part = out[start : start + block]
            np.subtract(x[start : start + block], x[start : start + block].max(axis=1, keepdims=True), out=part)
            np.exp(part, out=part)
            part *= 1.0 / part.sum(axis=1, keepdims=True)

    return run


def _add_row(rounds: int) -> Row:
    add = module_beside("examples.vector_add").add
    x, y = (np.random.default_rng(seed).standard_normal(ELEMENTS, np.float32) for seed in (1, 2))
    out, expected = np.zeros_like(x), np.zeros_like(x)
    runs: dict[str, Run] = {
        "darter": _on_threads(1, lambda: add(x, y, out)),
        "numpy": lambda: np.add(x, y, out=expected),
    }
    for run in runs.values():
        run()
    if not np.array_equal(out, expected):
        raise RuntimeError("vector add differs from numpy's")
    return _ratio("add_64Mi/over_numpy", _interleaved(runs, rounds), "darter", "numpy")


def _on_threads(threads: int, run: Run) -> Run:
    def timed() -> None:
        _native.set_cpu_threads(threads)
        run()

    return timed


def _interleaved(runs: Mapping[str, Run], rounds: int) -> dict[str, list[float]]:
    """Return milliseconds by candidate, one figure a round; the order of candidates turns."""
    found: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(rounds):
        for name in list(runs)[:: 1 if number % 2 == 0 else -1]:
            begin = time.perf_counter()
            runs[name]()
            found[name].append((time.perf_counter() - begin) * 1e3)
    return found


def _ratio(name: str, times: Mapping[str, list[float]], mine: str, other: str) -> Row:
    ratio = statistics.median(a / b for a, b in zip(times[mine], times[other], strict=True))
    more = {
        "min_ratio": min(times[mine]) / min(times[other]),
        "ms": {"min": min(times[mine]), "median": statistics.median(times[mine])},
        "other": other,
        "other_ms": {"min": min(times[other]), "median": statistics.median(times[other])},
    }
    return Row(name, ratio, "ratio", more)


# -- cold compiles ----------------------------------------------------------------------------------------------------


def _compile_rows() -> Iterator[Row]:
    """Compile in a process of its own: the first compile loads LLVM, the later ones are what is reported."""
    with tempfile.TemporaryDirectory(prefix="darter-bench-") as cache:
        command = [sys.executable, "-m", "darter.cli.bench.cpu_compile_times"]
        environment = {**os.environ, "DARTER_CACHE_DIR": cache}
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    found: dict[str, dict[str, list[float]]] = json.loads(done.stdout.splitlines()[-1])
    for name, times in found.items():
        more = {"min": min(times["wall_ms"]), "processor": statistics.median(times["processor_ms"])}
        yield Row(f"cold_ms/{name}", statistics.median(times["wall_ms"]), "ms", more)
