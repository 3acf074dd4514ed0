"""``darter``: the command line's entry."""

from __future__ import annotations

import sys

import typer

from darter.cli import demo, info
from darter.cli.bench import commands
from darter.errors import DarterError

app = typer.Typer(
    help="darter: a kernel JIT whose launch costs what the driver costs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("demo")(demo.demo)
app.command("info")(info.info)
app.add_typer(commands.app, name="bench")


def main() -> None:
    """Run a command; what darter refuses is a message and no traceback."""
    try:
        app(prog_name="darter")
    except DarterError as error:
        sys.stderr.write(f"darter: {error}\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
