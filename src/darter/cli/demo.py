"""``darter demo``: compiles launchers that a user could have written, runs them on large arrays, checks and times."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from darter.cli.bench.launch_cases import frameworks
from darter.cli.bench.launchers import SIZES, noop_launcher
from darter.cli.bench.timing import Candidate, measure
from darter.cli.beside import module_beside
from darter.cli.demo_cases import SMALL, Arrays, DemoCase, demo_cases, to_torch
from darter.errors import DarterError


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the table shows of a case; times in ms and ns; ``error`` is the largest difference from numpy's answer."""

    title: str
    elements: int
    run_ms: float
    error: float
    is_right: bool
    cold_ms: float
    disk_ms: float
    warm_ns: dict[str, float]


def demo(
    elements: Annotated[int, typer.Option(min=128 * 128, help="Elements of each array (about).")] = 1 << 24,
) -> None:
    """Compile launchers, run them on 16 Mi elements, check them against numpy, and show what calls cost."""
    console = Console()
    with _own_store(), Progress(console=console, transient=True) as progress:
        task = progress.add_task("starting LLVM", total=len(demo_cases()) + 2)
        start_ms = _start_compiler()
        progress.advance(task)
        outcomes = []
        for case in demo_cases():
            progress.update(task, description=case.title)
            outcomes.append(_outcome(case, elements))
            progress.advance(task)
        refusal = _refusal()
        progress.advance(task)
    console.print(_table(outcomes))
    console.print("cold: first call, compiled; disk hit: first call of a fresh process; Python: an empty function.")
    console.print(f"The first compile of a process also starts LLVM: {start_ms:.0f} ms here, not in the table.")
    console.print(f"A wrong array is refused: [italic]{refusal}[/italic]")
    if not all(outcome.is_right for outcome in outcomes):
        raise typer.Exit(1)


@contextmanager
def _own_store() -> Iterator[None]:
    """An empty store for the demo, so that cold is cold; the processes that it starts share it."""
    before = os.environ.get("DARTER_CACHE_DIR")
    with tempfile.TemporaryDirectory(prefix="darter-demo-") as directory:
        os.environ["DARTER_CACHE_DIR"] = directory
        try:
            yield
        finally:
            if before is None:
                del os.environ["DARTER_CACHE_DIR"]
            else:
                os.environ["DARTER_CACHE_DIR"] = before


def _start_compiler() -> float:
    """Compile one launcher that is not in the table; return the milliseconds it took."""
    x = np.zeros((8, 16), np.float32)
    began = time.perf_counter()
    noop_launcher("S", SIZES["S"]).warm(x, x, x, 1)
    return (time.perf_counter() - began) * 1e3


def _outcome(case: DemoCase, elements: int) -> Outcome:
    launcher = case.pick(module_beside(f"examples.{case.module}"))
    columns = 1 << ((elements.bit_length() - 1) // 2)
    arguments = case.make(elements // columns, columns)
    expected = case.reference(arguments)
    cold_ms = _milliseconds(launcher, case.make(*SMALL))
    launcher(**arguments)
    error = max(_difference(arguments[name], value) for name, value in expected.items())
    run_ms = _milliseconds(launcher, arguments)
    return Outcome(
        case.title,
        elements,
        run_ms,
        error,
        error <= case.tolerance,
        cold_ms,
        _disk_hit_ms(case),
        _warm_ns(case, launcher),
    )


def _difference(found: Any, expected: Any) -> float:
    """Return the largest difference, relative to the expected value where that is above 1."""
    wide_found, wide_expected = found.astype(np.float32), expected.astype(np.float32)
    return float(np.max(np.abs(wide_found - wide_expected) / np.maximum(np.abs(wide_expected), 1)))


def _milliseconds(launcher: Any, arguments: Arrays) -> float:
    began = time.perf_counter()
    launcher(**arguments)
    return (time.perf_counter() - began) * 1e3


def _disk_hit_ms(case: DemoCase) -> float:
    """Return how long the first call takes in a new process, which finds the code in the store: the best of three."""
    command = [sys.executable, "-m", "darter.cli.disk_hit", case.title]
    answers = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(3)]
    return min(float(json.loads(answer)["milliseconds"]) for answer in answers)


def _warm_ns(case: DemoCase, launcher: Any) -> dict[str, float]:
    """Return nanoseconds per call: numpy and torch arguments, and an empty Python function with the same arguments."""
    arguments = case.make(*SMALL)
    by_framework = {"numpy": arguments}
    if "torch" in frameworks():
        by_framework["torch"] = to_torch(arguments)
    candidates = [_candidate(name, launcher, values) for name, values in by_framework.items()]
    candidates.append(_candidate("python", _empty_function(len(arguments)), arguments))
    times = measure(candidates, batches=50, batch_calls=200)
    return {name: each.median_ns for name, each in times.items()}


def _candidate(name: str, function: Any, arguments: Arrays) -> Candidate:
    names = {f"a{number}": value for number, value in enumerate(arguments.values())}
    return Candidate(name, f"function({', '.join(names)})", {"function": function, **names})


def _empty_function(arity: int) -> Any:
    def two(a, b): ...  # type: ignore[no-untyped-def]

    def three(a, b, c): ...  # type: ignore[no-untyped-def]

    def four(a, b, c, d): ...  # type: ignore[no-untyped-def]

    def five(a, b, c, d, e): ...  # type: ignore[no-untyped-def]

    return {2: two, 3: three, 4: four, 5: five}[arity]


def _refusal() -> str:
    """Give a launcher an array that breaks its contract, cold and warm, and return what it says."""
    rotate = module_beside("examples.contracts").rotate
    arguments = demo_cases()[-1].make(*SMALL)
    wrong = {**arguments, "sin": arguments["sin"].astype(np.float64)}
    try:
        rotate(**wrong)
    except DarterError as error:
        return str(error)
    raise typer.Exit(1)


def _table(outcomes: list[Outcome]) -> Table:
    has_torch = any("torch" in outcome.warm_ns for outcome in outcomes)
    title = f"{outcomes[0].elements / 2**20:.0f} Mi elements; warm calls on {SMALL[0]} × {SMALL[1]}"
    table = Table(title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("launcher", no_wrap=True)
    columns = ["run\nms", "max\nerror", "cold\nms", "disk hit\nms", "numpy\nns"]
    for column in [*columns, *(["torch\nns"] if has_torch else []), "Python\nns"]:
        table.add_column(column, justify="right", no_wrap=True)
    for outcome in outcomes:
        verdict = f"{outcome.error:.0e}" if outcome.is_right else f"[red]{outcome.error:.0e} WRONG[/red]"
        warm = [f"{outcome.warm_ns[name]:.0f}" for name in ("numpy", "torch", "python") if name in outcome.warm_ns]
        times = [f"{outcome.cold_ms:.0f}", f"{outcome.disk_ms:.1f}"]
        table.add_row(outcome.title, f"{outcome.run_ms:.1f}", verdict, *times, *warm)
    return table
