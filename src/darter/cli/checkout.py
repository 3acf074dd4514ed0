"""What stands beside the package in a checkout: the benchmarks' peers and the examples."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import typer


def checkout_module(name: str) -> ModuleType:
    """Return a module of the checkout that this file or the working directory is in, such as ``benchmarks.peers``.

    Raises:
        typer.BadParameter: there is no checkout.
    """
    for folder in (Path(__file__).parents[3], Path.cwd()):
        if (folder / name.replace(".", "/")).is_dir() or (folder / f"{name.replace('.', '/')}.py").is_file():
            if str(folder) not in sys.path:
                sys.path.insert(0, str(folder))
            return importlib.import_module(name)
    raise typer.BadParameter(f"{name} is not here: run this command in a checkout of darter")
