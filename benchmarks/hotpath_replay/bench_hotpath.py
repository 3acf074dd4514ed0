"""Replays a serving window's launcher calls and tells what the host spends on each.

``python benchmarks/hotpath_replay/bench_hotpath.py [--windows N] [--backend cpu|cuda] …``, or ``darter bench replay``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

if not __package__:  # run as a script: its folder is on the path, and the checkout's root is not
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from benchmarks.hotpath_replay.candidates import MIXED, candidates, floor_candidates, replay
from benchmarks.hotpath_replay.measure import gpu_event_rows, host_rows, part_rows
from darter.cli.report_json import Row, write_report

CPU_REPEATS = 4
"""Windows in one sample on the CPU, where one takes some 0.1 ms; on a GPU it is one, or the queue fills up."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table, write the JSON; return the exit status."""
    options = parser().parse_args(arguments)
    for library in options.arguments or (["torch"] if options.backend == "cuda" else ["numpy"]):
        if library == "numpy" and options.backend != "cpu":
            parser().error("--arguments numpy goes with --backend cpu only; take --arguments torch")
    rows = run(options)
    sys.stdout.write(table(rows))
    if options.json is not None:
        command = "bench_hotpath.py " + " ".join(sys.argv[1:] if arguments is None else arguments)
        write_report(options.json, command, rows)
    return 0


def run(options: argparse.Namespace) -> list[Row]:
    """Return all rows that the options ask for."""
    cuda = options.backend == "cuda"
    rows: list[Row] = []
    for library in options.arguments or (["torch"] if cuda else ["numpy"]):
        prefix = prefix_of(options, library)
        given = replay(options.backend, library, options.bodies)
        found = candidates(given)
        if cuda:
            found += floor_candidates(given)
        repeats = 1 if cuda or options.bodies == "real" else CPU_REPEATS
        rows += host_rows(prefix, found, options.windows, options.warmup_windows, repeats, _synchronize(cuda))
        if options.bodies == "noop":
            rows += part_rows(prefix, given)
        if cuda and options.gpu_event_calls:
            rows += gpu_event_rows(prefix, given, options.gpu_event_calls)
    return rows


def prefix_of(options: argparse.Namespace, library: str) -> str:
    """Return what the names of a run's rows begin with."""
    return f"replay/{options.backend}/{library}/{options.bodies}"


def table(rows: Sequence[Row]) -> str:
    """Return the rows as text: one line a launcher, the mixed window first."""
    lines = []
    values = {row.name: row.value for row in rows}
    prefixes = dict.fromkeys(name.rsplit("/", 2)[0] for name in values)
    columns = (
        *("jit", "compiled", "python", "floor", "key", "guards", "reading", "gpu"),
        *("jit_over_python", "jit_over_compiled", "jit_over_floor"),
    )
    for prefix in prefixes:
        lines.append(f"{prefix}: ns per call (gpu: µs)")
        lines.append(" " * 24 + "".join(f"{column.replace('_over_', ' ÷ '):>15}" for column in columns))
        found = dict.fromkeys(name.rsplit("/", 2)[1] for name in values if name.startswith(f"{prefix}/"))
        for row in sorted(found, key=lambda name: name != MIXED):
            cells = [values.get(f"{prefix}/{row}/{column}") for column in columns]
            shown = [
                "–" if cell is None else f"{cell:.2f}" if "_over_" in column or column == "gpu" else f"{cell:.0f}"
                for cell, column in zip(cells, columns, strict=True)
            ]
            lines.append(f"{row:24}" + "".join(f"{cell:>15}" for cell in shown))
    return "\n".join(lines) + "\n"


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line, which ``run_matrix.sh`` passes its arguments on to."""
    made = argparse.ArgumentParser(prog="bench_hotpath.py", description=__doc__)
    made.add_argument("--windows", type=_positive, default=16, help="samples of each row (16)")
    made.add_argument("--warmup-windows", type=_natural, default=4, help="samples that are thrown away before (4)")
    made.add_argument(
        "--gpu-event-calls", type=_natural, default=32, help="launches between two GPU events (32; 0: none)"
    )
    made.add_argument("--backend", choices=("cpu", "cuda"), default="cpu")
    made.add_argument("--arguments", nargs="+", choices=("numpy", "torch"), help="numpy on the CPU, torch on a GPU")
    made.add_argument("--bodies", choices=("real", "noop"), default="noop", help="what the kernels do (noop)")
    made.add_argument("--json", type=Path, help="write the rows to this file too ('-': standard output)")
    return made


def _positive(text: str) -> int:
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number of 1 or more")
    return int(text)


def _natural(text: str) -> int:
    if int(text) < 0:
        raise argparse.ArgumentTypeError(f"{text} is not a number of 0 or more")
    return int(text)


def _synchronize(cuda: bool) -> Callable[[], None]:
    if not cuda:
        return lambda: None
    import torch

    return torch.cuda.synchronize


if __name__ == "__main__":
    sys.exit(main())
