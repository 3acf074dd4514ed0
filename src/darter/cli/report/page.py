"""The page of a report: one HTML file with everything in it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from darter.cli.report.charts import Chart, ResultFile
from darter.cli.report.svg import svg_of

_STYLE = """
:root { color-scheme: light; }
body { margin: 2rem auto; max-width: 1020px; padding: 0 1rem; color: #1f2933; background: #fff;
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.6rem; margin-bottom: .2rem; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .2rem; }
p.lead, figcaption { color: #52606d; margin: .1rem 0 .6rem; }
figure { margin: 0; }
svg.chart { width: 100%; height: auto; font-size: 12.5px; }
svg .grid { stroke: #e3e6ea; } svg .axis { stroke: #52606d; }
svg .tick { fill: #3e4c59; } svg .label { fill: #52606d; font-size: 13px; }
table { border-collapse: collapse; font-size: 13px; width: 100%; }
th, td { text-align: left; padding: .25rem .7rem .25rem 0; border-bottom: 1px solid #e3e6ea; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
code { font-size: 12px; overflow-wrap: anywhere; }
details { margin: .5rem 0; } summary { cursor: pointer; }
"""

# An icon of its own keeps browsers from asking for /favicon.ico.
_HEAD = '<meta charset="utf-8"><meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">'


def page(results: Sequence[ResultFile], charts: Sequence[Chart]) -> str:
    """Return the page: the charts, what the figures come from, and every row."""
    figures = "".join(
        f"<h2>{escape(chart.title)}</h2><figure><figcaption>{escape(chart.caption)}</figcaption>{svg_of(chart)}</figure>"
        for chart in charts
    )
    lead = f"{len(results)} result files, {results[0].day} to {results[-1].day}."
    return (
        f'<!DOCTYPE html><html lang="en"><head>{_HEAD}<title>darter: launch costs</title><style>{_STYLE}</style></head>'
        f'<body><h1>What a launch costs</h1><p class="lead">{lead}</p>{figures}'
        f"<h2>Where the figures come from</h2>{_sources(results)}<h2>All rows</h2>{_rows(results)}</body></html>\n"
    )


def _sources(results: Sequence[ResultFile]) -> str:
    lines = []
    for result in results:
        machine = "; ".join(f"{name} {value}" for name, value in result.machine.items() if name != "date")
        lines.append(
            f"<tr><td>{escape(result.name)}</td><td>{result.day}</td><td>{escape(machine)}</td>"
            f"<td><code>{escape(result.command)}</code></td></tr>"
        )
    return (
        "<table><thead><tr><th>file</th><th>date</th><th>machine and versions</th><th>command</th></tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table>"
    )


def _rows(results: Sequence[ResultFile]) -> str:
    tables = []
    for result in results:
        lines = "".join(
            f'<tr><td>{escape(row["name"])}</td><td class="number">{row["value"]:.4g}</td>'
            f"<td>{escape(row['unit'])}</td></tr>"
            for row in result.rows
        )
        summary = f"<summary>{escape(result.name)}: {len(result.rows)} rows</summary>"
        tables.append(f"<details>{summary}<table>{lines}</table></details>")
    return "".join(tables)
