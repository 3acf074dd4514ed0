"""Modules that are imported at their first use: what a launch from disk, or a call that goes well, does not need.

Written so, below the other imports, that type checkers and the linter of layers see an import like any other::

    if TYPE_CHECKING:
        from darter.launch import explain
    else:
        explain = later("darter.launch.explain")
"""

from __future__ import annotations

import importlib
from typing import Any


class _Later:
    """Stands for a module that may not be imported yet; for cold code, since each use looks the module up."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)


def later(name: str) -> _Later:
    """Return what stands for the module with this full name, imported at the first read of an attribute."""
    return _Later(name)
