"""Source lines with carets for positions in the IR, which hold no paths: functions are found again by their names."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator

from darter.errors import SourceUnavailableError
from darter.ir.places import FunctionName, Loc
from darter.source.function_source import FunctionSource, source_of


def source_line(name: FunctionName, loc: Loc, known: types.FunctionType | None = None) -> str:
    """Return the source line of ``loc`` with carets, under its place; ``known`` may be it or reach it.

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


def place_of(name: FunctionName, known: types.FunctionType | None = None) -> tuple[str, int] | None:
    """Return the file of a function and the line of its ``def``; ``known`` may be it or reach it."""
    source = _source(name, known)
    return None if source is None else (source.file, source.first_line)


def _source(name: FunctionName, known: types.FunctionType | None) -> FunctionSource | None:
    function = _live(name, known)
    if function is None:
        return None
    try:
        return source_of(function)
    except SourceUnavailableError:
        return None


def _live(name: FunctionName, known: types.FunctionType | None) -> types.FunctionType | None:
    for function in _enclosed(known):
        if (name.qualname, name.module) == (function.__qualname__, function.__module__):
            return function
    found: object = sys.modules.get(name.module)
    for part in name.qualname.split("."):
        found = getattr(found, part, None)
    return _plain(found)


def _enclosed(function: types.FunctionType | None) -> Iterator[types.FunctionType]:
    """Yield ``function`` and what its closure reaches, kernels and launchers too: no module path leads there."""
    waiting = [] if function is None else [function]
    seen = set(waiting)
    while waiting:
        current = waiting.pop()
        yield current
        for cell in current.__closure__ or ():
            try:
                found = _plain(cell.cell_contents)
            except ValueError:  # an empty cell
                continue
            if found is not None and found not in seen:
                seen.add(found)
                waiting.append(found)


def _plain(value: object) -> types.FunctionType | None:
    value = getattr(value, "__wrapped__", value)
    return value if isinstance(value, types.FunctionType) else None
