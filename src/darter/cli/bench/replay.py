"""``darter bench replay``: the program of ``benchmarks/hotpath_replay/bench_hotpath.py``."""

from __future__ import annotations

import typer

from darter.cli.beside import module_beside

SETTINGS = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
"""Its options are the program's own, ``--help`` among them."""


def replay(context: typer.Context) -> None:
    """Replay a serving window's launcher calls; its options are those of bench_hotpath.py (--help lists them)."""
    module_beside("examples")  # where the program's launchers are
    program = module_beside("benchmarks.hotpath_replay.bench_hotpath")
    raise typer.Exit(program.main(context.args))
