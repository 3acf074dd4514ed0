"""``darter bench report``: one HTML page and PNGs from a folder of result files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from darter.cli.report.charts import charts_of, read_results
from darter.cli.report.page import page
from darter.cli.report.png import write_png


def report(
    directory: Annotated[Path, typer.Argument(help="A folder of result files (*.json).", metavar="DIR")],
    output: Annotated[Path | None, typer.Option(help="Where the page and the PNGs go; by default into DIR.")] = None,
) -> None:
    """Draw launch costs, where the nanoseconds go, comparisons and history of the result files in DIR."""
    try:
        results = read_results(directory)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise typer.BadParameter(str(error)) from None
    folder = directory if output is None else output
    folder.mkdir(parents=True, exist_ok=True)
    charts = charts_of(results)
    file = folder / "report.html"
    file.write_text(page(results, charts), encoding="utf-8")
    print(file)
    try:
        for chart in charts:
            path = folder / f"{chart.key}.png"
            write_png(chart, path)
            print(path)
    except ImportError:
        print("no PNGs: matplotlib is not installed (pip install 'darter[report]')")
