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
    """Return a module such as ``benchmarks.hotpath_replay.bench_hotpath`` of this darter.

    Raises:
        ModuleNotFoundError: there is no such folder or module, or another package of that name is loaded.
    """
    package = qualified.partition(".")[0]
    folder = folder_beside(package)
    _load_package(package, folder)
    return importlib.import_module(qualified)


def _load_package(name: str, folder: Path) -> None:
    """Load the package ``name`` from ``folder``, which is on no search path."""
    loaded = sys.modules.get(name)
    if loaded is not None:
        if str(folder) in map(str, loaded.__path__):
            return
        raise ModuleNotFoundError(f"a package {name!r} from {list(loaded.__path__)} is loaded; needed is {folder}")
    entry = folder / "__init__.py"
    spec = importlib.util.spec_from_file_location(name, entry, submodule_search_locations=[str(folder)])
    if spec is None or spec.loader is None or not entry.is_file():
        raise ModuleNotFoundError(f"no package {name!r} in {folder}")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
