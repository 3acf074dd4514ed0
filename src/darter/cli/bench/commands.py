"""``darter bench``: measurements, each a command of its own; all write the same JSON (``report_json``)."""

from __future__ import annotations

import typer

from darter.cli.bench import drift, kernels, launch, replay, report

app = typer.Typer(help="Measure darter on this machine.", no_args_is_help=True)
app.command("launch")(launch.launch)
app.command("drift")(drift.drift)
app.command("kernels")(kernels.kernels)
app.command("replay", context_settings=replay.SETTINGS)(replay.replay)
app.command("report")(report.report)


@app.callback()
def bench() -> None:
    """Measure darter on this machine."""
