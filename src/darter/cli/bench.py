"""``darter bench``: measurements, each a command of its own; all write the same JSON (``report_json``)."""

from __future__ import annotations

import typer

from darter.cli import bench_drift, bench_kernels, bench_launch, bench_replay, bench_report

app = typer.Typer(help="Measure darter on this machine.", no_args_is_help=True)
app.command("launch")(bench_launch.launch)
app.command("drift")(bench_drift.drift)
app.command("kernels")(bench_kernels.kernels)
app.command("replay", context_settings=bench_replay.SETTINGS)(bench_replay.replay)
app.command("report")(bench_report.report)


@app.callback()
def bench() -> None:
    """Measure darter on this machine."""
