"""``darter bench kernels``: kernels next to what else computes the same, and cold compiles."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from darter.cli.report_json import Row, write_report


def kernels(
    backend: Annotated[str, typer.Option(help="Where to run: cpu or cuda.")] = "cpu",
    json: Annotated[Path | None, typer.Option(help="Write the rows to this file too ('-': standard output).")] = None,
    rounds: Annotated[int, typer.Option(min=3, help="Rounds over all candidates.")] = 9,
) -> None:
    """Time row kernels and cold compiles: against numpy on the CPU, against Triton and a copy on CUDA."""
    console = Console(stderr=str(json) == "-")
    rows = _rows(backend, rounds)
    console.print(_table(rows, backend))
    if json is not None:
        write_report(json, "darter " + " ".join(sys.argv[1:]), rows)


def _rows(backend: str, rounds: int) -> list[Row]:
    # Each backend's measurements are imported where they are asked for: they need what other machines lack.
    if backend == "cpu":
        from darter.cli.bench.cpu_kernels import cpu_rows

        return list(cpu_rows(rounds))
    if backend == "cuda":
        from darter.backends.cuda import context
        from darter.cli.bench.cuda_kernels import cuda_rows

        context(0)  # before anything that takes long: there has to be a device
        return list(cuda_rows(rounds))
    raise typer.BadParameter(f"backend {backend!r} cannot be measured; accepted: 'cpu', 'cuda'")


def _table(rows: Sequence[Row], backend: str) -> Table:
    table = Table("row", "value", "unit", "more", title=f"kernels on {backend}")
    for row in rows:
        more = ", ".join(f"{key} {value:.3g}" for key, value in row.more.items() if isinstance(value, float))
        table.add_row(row.name, f"{row.value:.3f}", row.unit, more)
    return table
