"""Source lines with carets for positions in the IR, which hold no paths: functions are found again by their names."""

from __future__ import annotations

import sys
import types

from darter.errors import SourceUnavailableError
from darter.ir.places import FunctionName, Loc
from darter.source import FunctionSource, source_of


def source_line(name: FunctionName, loc: Loc, known: types.FunctionType | None = None) -> str:
    """Return the source line of ``loc`` with carets, under its place; ``known`` is a function that may be the one.

    Where the function is not to be found, the line is counted from ``def``, which is line 1.
    """
    source = _source(name, known)
    if source is None:
        return f"  at line {loc.line + 1} of {name.module}.{name.qualname}"
    line = source.first_line + loc.line
    text = source.lines[line - 1] if line <= len(source.lines) else ""
    indent = len(text) - len(text.lstrip())
    width = max(1, (loc.end_column if loc.end_line == loc.line else len(text)) - loc.column)
    caret = " " * max(0, loc.column - indent) + "^" * width
    return f"  at {source.file}:{line}:{loc.column + 1}, in {name.qualname}\n    {text.strip()}\n    {caret}"


def _source(name: FunctionName, known: types.FunctionType | None) -> FunctionSource | None:
    function = _live(name, known)
    if function is None:
        return None
    try:
        return source_of(function)
    except SourceUnavailableError:
        return None


def _live(name: FunctionName, known: types.FunctionType | None) -> types.FunctionType | None:
    if known is not None and (name.qualname, name.module) == (known.__qualname__, known.__module__):
        return known
    found: object = sys.modules.get(name.module)
    for part in name.qualname.split("."):
        found = getattr(found, part, None)
    found = getattr(found, "__wrapped__", found)
    return found if isinstance(found, types.FunctionType) else None
