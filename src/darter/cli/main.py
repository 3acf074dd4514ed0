"""``darter``: the command line's entry."""

from __future__ import annotations

import typer

from darter.cli import bench, demo, info

app = typer.Typer(
    help="darter: a kernel JIT whose launch costs what the driver costs.", no_args_is_help=True, add_completion=False
)
app.command("demo")(demo.demo)
app.command("info")(info.info)
app.add_typer(bench.app, name="bench")

if __name__ == "__main__":
    app()
