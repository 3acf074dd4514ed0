"""Programs that stand beside the package: in an installed darter under its own folder, in a checkout at its root."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def folder_beside(name: str) -> Path:
    """Return the folder ``name`` (``benchmarks``, ``examples``) that belongs to this darter."""
    installed = Path(__file__).parents[1] / name
    return installed if installed.is_dir() else Path(__file__).parents[3] / name


def module_beside(qualified: str) -> ModuleType:
    """Return a module such as ``benchmarks.peers`` or ``examples.vector_add`` of this darter.

    A package of that name that is loaded already (in a checkout's tests, say) is asked for it instead.

    Raises:
        ModuleNotFoundError: there is no such folder or module.
    """
    package = qualified.partition(".")[0]
    if package not in sys.modules:
        _load_package(package, folder_beside(package))
    return importlib.import_module(qualified)


def _load_package(name: str, folder: Path) -> None:
    """Load the package ``name`` from ``folder``, which is on no search path."""
    entry = folder / "__init__.py"
    spec = importlib.util.spec_from_file_location(name, entry, submodule_search_locations=[str(folder)])
    if spec is None or spec.loader is None or not entry.is_file():
        raise ModuleNotFoundError(f"no package {name!r} in {folder}")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
