"""``darter bench drift``: what it costs a warm call that captured values are guarded."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from darter.cli.bench.drift_cases import call, captured_dict, captured_globals, storm
from darter.cli.bench.timing import Candidate, Times, measure
from darter.cli.report_json import Row, write_report


def drift(
    json: Annotated[Path | None, typer.Option(help="Write the rows to this file too ('-': standard output).")] = None,
    batches: Annotated[int, typer.Option(min=1, help="Short batches per row.")] = 300,
    calls: Annotated[int, typer.Option(min=1, help="Calls per batch.")] = 1000,
) -> None:
    """Time warm calls of launchers that capture much and little, and calls between stores into the module they read."""
    console = Console(stderr=str(json) == "-")
    rows: list[Row] = []
    with ExitStack() as stack, Progress(console=console, transient=True) as progress:
        for name, pair in progress.track(_pairs(stack), description="guards"):
            rows.append(_row(name, measure(pair, batches=batches, batch_calls=calls)))
    console.print(_table(rows))
    if json is not None:
        write_report(json, "darter " + " ".join(sys.argv[1:]), rows)


def _pairs(stack: ExitStack) -> list[tuple[str, list[Candidate]]]:
    """Return what is compared, by row: the candidate of interest ("much"), and its reference ("little")."""
    o = np.zeros(8, np.float32)
    globals_of = {count: stack.enter_context(captured_globals(count)) for count in (0, 10, 100)}
    dicts = {entries: stack.enter_context(captured_dict(entries)) for entries in (10, 100_000)}
    pairs = [
        ("globals_100_over_0", [call("much", globals_of[100], o), call("little", globals_of[0], o)]),
        ("dict_100k_over_10", [call("much", dicts[100_000], o), call("little", dicts[10], o)]),
    ]
    for count in (10, 100):
        into, beside = (storm(n, globals_of[count], o, into_module=n == "much") for n in ("much", "little"))
        pairs.append((f"storm_{count}_ns", [into, beside]))
    return pairs


def _row(name: str, times: dict[str, Times]) -> Row:
    """Return the ratio of paired batches, or for a storm the nanoseconds that a store into the module adds."""
    much, little = times["much"], times["little"]
    more = {"much_ns": much.median_ns, "little_ns": little.median_ns}
    if not name.endswith("_ns"):
        return Row(name, much.over(little), "ratio", more)
    added = statistics.median(a - b for a, b in zip(much.batches_ns, little.batches_ns, strict=True))
    return Row(name, added, "ns", more)


def _table(rows: Sequence[Row]) -> Table:
    table = Table("row", "value", "ns", "reference ns", title="guards in a warm call")
    for row in rows:
        shown = f"{row.value:.3f}" if row.unit == "ratio" else f"{row.value:+.0f} ns"
        table.add_row(row.name, shown, f"{row.more['much_ns']:.0f}", f"{row.more['little_ns']:.0f}")
    return table
