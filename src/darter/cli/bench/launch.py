"""``darter bench launch``: what a warm call costs on the host.

On the CPU next to an empty Python function and numba; on CUDA next to the driver's own launch and other libraries.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from darter.cli.bench.launch_cases import LaunchCase, frameworks, launch_cases
from darter.cli.bench.timing import Times, measure
from darter.cli.report_json import Row, write_report


def launch(
    backend: Annotated[str, typer.Option(help="Where to launch: cpu or cuda.")] = "cpu",
    json: Annotated[Path | None, typer.Option(help="Write the rows to this file too ('-': standard output).")] = None,
    batches: Annotated[int, typer.Option(min=1, help="Short batches per row.")] = 200,
    calls: Annotated[int, typer.Option(min=1, help="Calls per batch (cpu; cuda takes 256).")] = 500,
    peers: Annotated[bool, typer.Option(help="Measure other libraries' launches too (cuda).")] = False,
) -> None:
    """Time warm calls of no-op launchers with 4 to 22 arguments; compare with Python and numba, or the driver."""
    console = Console(stderr=str(json) == "-")
    rows = _cuda(console, batches, peers) if backend == "cuda" else _cpu(console, backend, batches, calls)
    if json is not None:
        write_report(json, "darter " + " ".join(sys.argv[1:]), rows)


def _cuda(console: Console, batches: int, with_peers: bool) -> list[Row]:
    from darter.backends.cuda import context
    from darter.cli.bench.cuda_launches import cuda_rows

    context(0)  # before anything that takes long: there has to be a device
    rows = list(cuda_rows(batches, with_peers))
    console.print(_ratio_table(rows))
    return rows


def _cpu(console: Console, backend: str, batches: int, calls: int) -> list[Row]:
    if backend != "cpu":
        raise typer.BadParameter(f"backend {backend!r} cannot be measured; accepted: 'cpu', 'cuda'")
    cases = [case for framework in frameworks() for case in launch_cases(framework)]
    rows: list[Row] = []
    with Progress(console=console, transient=True) as progress:
        for case in progress.track(cases, description="launches"):
            rows += case_rows(case, measure(case.candidates, batches=batches, batch_calls=calls))
    console.print(_table(rows))
    return rows


def case_rows(case: LaunchCase, times: dict[str, Times]) -> list[Row]:
    """Return the rows of one case: nanoseconds per call (the median, ``min`` beside it), ratios of paired batches."""
    mine = times[case.darter.name]
    rows = [Row(case.name, mine.median_ns, "ns", {"min": mine.min_ns, "median": mine.median_ns})]
    for rival, candidate in (("python", case.python), ("numba", case.numba)):
        if candidate is not None:
            theirs = times[candidate.name]
            more = {"min": theirs.min_ns, "median": theirs.median_ns}
            rows.append(Row(f"{case.name}/over_{rival}", mine.over(theirs), "ratio", {f"{rival}_ns": more}))
    return rows


def _table(rows: Sequence[Row]) -> Table:
    by_name = {row.name: row for row in rows}
    table = Table("call", "min ns", "median ns", "÷ Python", "÷ numba", title="warm call, no-op kernel")
    for name, row in by_name.items():
        if row.unit != "ns":
            continue
        ratios = [by_name.get(f"{name}/over_{rival}") for rival in ("python", "numba")]
        shown = [f"{ratio.value:.2f}" if ratio else "–" for ratio in ratios]
        table.add_row(name.removeprefix("launch/"), f"{row.more['min']:.0f}", f"{row.value:.0f}", *shown)
    return table


def _ratio_table(rows: Sequence[Row]) -> Table:
    table = Table("launch, no-op kernel", "ratio", "median ns", "other's", title="warm launches on CUDA")
    for row in rows:
        if row.unit == "ratio":
            table.add_row(
                row.name, f"{row.value:.3f}", f"{row.more['ns']['median']:.0f}", f"{row.more['other_ns']['median']:.0f}"
            )
        else:
            table.add_row(row.name, f"{row.value:.0f} {row.unit}", str(row.more.get("reason", "")), "")
    return table
