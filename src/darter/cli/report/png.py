"""Charts as PNG files, by matplotlib (``pip install darter[report]``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from darter.cli.report.charts import Chart, LineChart, RatioChart, StackChart
from darter.cli.report.scales import PARTS, colours, date_scale, date_text, number_text, spread_out, value_scale


def write_png(chart: Chart, path: Path) -> None:
    """Draw the chart into a file.  Raises ``ImportError`` where matplotlib is not installed."""
    from matplotlib.figure import Figure

    rows = len(chart.bars) if isinstance(chart, StackChart) else len(chart.rows) if isinstance(chart, RatioChart) else 0
    figure = Figure(figsize=(11, 1.7 + 0.34 * rows if rows else 5.4), dpi=110, layout="constrained")
    axes = figure.subplots()
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.set_title(chart.title, loc="left", fontsize=12, fontweight="bold")
    axes.set_axisbelow(True)
    axes.set_xlabel(chart.x_label)
    match chart:
        case LineChart():
            _lines(axes, chart)
        case StackChart():
            _stack(axes, chart)
        case RatioChart():
            _ratios(axes, chart)
    figure.savefig(path)


def _lines(axes: Any, chart: LineChart) -> None:
    ys = [y for series in chart.series for _, y in series.points]
    up = value_scale(ys, chart.log_y)
    if chart.log_y:
        axes.set_yscale("log")
    axes.set_ylim(up.low, up.high)
    axes.set_yticks(up.ticks(), [number_text(tick) for tick in up.ticks()])
    axes.set_yticks([], minor=True)
    axes.set_ylabel(chart.y_label)
    axes.grid(axis="y", color="#e3e6ea")
    for series, colour in zip(chart.series, colours([series.own for series in chart.series]), strict=True):
        width, size = (2.6, 5) if series.own else (1.4, 3.5)
        axes.plot(*zip(*series.points, strict=True), color=colour, linewidth=width, marker="o", markersize=size)
    xs = sorted({x for series in chart.series for x, _ in series.points})
    if chart.x_is_date:
        across = date_scale(xs)
        axes.set_xlim(across.low, across.high)
    if len(xs) <= 6:
        axes.set_xticks(xs, [date_text(x) if chart.x_is_date else number_text(x) for x in xs])
    _name_lines(axes, chart, [up.place(series.points[-1][1]) for series in chart.series])


def _name_lines(axes: Any, chart: LineChart, ends: list[float]) -> None:
    """Write each line's name to the right of the axes, near the line's end."""
    places = spread_out(ends, 0.042, 0.0, 1.0)
    # Fixes the limits, which the ends of the lines are placed by.
    axes.set_xlim(axes.get_xlim())
    for number, (series, colour, place) in enumerate(
        zip(chart.series, colours([series.own for series in chart.series]), places, strict=True)
    ):
        weight = "bold" if series.own else "normal"
        (last, _), end = series.points[-1], ends[number]
        across = axes.transAxes.inverted().transform(axes.transData.transform((last, axes.get_ylim()[0])))[0]
        line = {"color": colour, "linewidth": 0.7, "alpha": 0.7, "transform": axes.transAxes, "clip_on": False}
        axes.plot([across + 0.006, 1.008], [end, place], **line)
        axes.text(
            1.012,
            place,
            series.name,
            color=colour,
            fontweight=weight,
            fontsize=9,
            va="center",
            transform=axes.transAxes,
        )


def _stack(axes: Any, chart: StackChart) -> None:
    labels = [label for label, _ in chart.bars]
    starts = [0.0] * len(labels)
    for number, (part, colour) in enumerate(zip(chart.parts, PARTS, strict=True)):
        values = [parts[number] for _, parts in chart.bars]
        axes.barh(labels, values, left=starts, color=colour, label=part, height=0.7)
        starts = [start + value for start, value in zip(starts, values, strict=True)]
    for row, total in enumerate(starts):
        axes.text(total, row, f" {total:.0f}", va="center", fontsize=9)
    axes.invert_yaxis()
    axes.grid(axis="x", color="#e3e6ea")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=len(chart.parts), frameon=False, fontsize=8)


def _ratios(axes: Any, chart: RatioChart) -> None:
    for row, (_, low, ratio, high, judged) in enumerate(chart.rows):
        colour = "#0b57d0" if judged else "#9aa5b1"
        axes.plot([low, high], [row, row], color=colour, linewidth=6, alpha=0.35, solid_capstyle="round")
        axes.plot([ratio], [row], "o", color=colour, markersize=7)
    axes.set_yticks(range(len(chart.rows)), [label for label, *_ in chart.rows])
    axes.axvline(1.0, color="#444444", linewidth=1)
    axes.invert_yaxis()
    axes.grid(axis="x", color="#e3e6ea")
