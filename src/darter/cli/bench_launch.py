"""``darter bench launch``: what a warm call costs on the host, next to an empty Python function and to numba."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from darter.cli.launch_cases import LaunchCase, frameworks, launch_cases
from darter.cli.report_json import Row, write_report
from darter.cli.timing import Times, measure


def launch(
    backend: Annotated[str, typer.Option(help="Where to launch: cpu.")] = "cpu",
    json: Annotated[Path | None, typer.Option(help="Write the rows to this file too ('-': standard output).")] = None,
    batches: Annotated[int, typer.Option(min=1, help="Short batches per row.")] = 200,
    calls: Annotated[int, typer.Option(min=1, help="Calls per batch.")] = 500,
) -> None:
    """Time warm calls of no-op launchers with 4 to 22 arguments, and compare with Python and numba."""
    if backend != "cpu":
        raise typer.BadParameter(f"backend {backend!r} cannot be measured here; accepted is 'cpu'")
    console = Console(stderr=str(json) == "-")
    cases = [case for framework in frameworks() for case in launch_cases(framework)]
    rows: list[Row] = []
    with Progress(console=console, transient=True) as progress:
        for case in progress.track(cases, description="launches"):
            rows += case_rows(case, measure(case.candidates, batches=batches, batch_calls=calls))
    console.print(_table(rows))
    if json is not None:
        write_report(json, "darter " + " ".join(sys.argv[1:]), rows)


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
