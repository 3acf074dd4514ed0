"""Where a launcher failed: turns a site of its program into file, line and caret.

Artifacts hold no paths; the function that is being called knows its file, and other functions are found again by module
and qualified name.
"""

from __future__ import annotations

import builtins
import sys
import types
from collections.abc import Sequence
from typing import cast

from darter import errors
from darter.errors import SourceUnavailableError
from darter.ir.places import FunctionName, Loc
from darter.source import FunctionSource, source_of


class Sites:
    """The sites of one artifact, as seen from the launcher that runs it."""

    __slots__ = ("_function", "_functions", "_sites")

    def __init__(self, function: types.FunctionType, functions: Sequence[FunctionName], sites: Sequence[Loc]) -> None:
        self._function = function
        self._functions = tuple(functions)
        self._sites = tuple(sites)

    def error(self, kind: str, exception: str, message: str, site: int) -> BaseException:
        """Return the exception of a failed run; ``exception`` is a builtin's name or the name of a class in ``errors``.

        What the launcher itself raises comes as it was written, without a place: its traceback is the call's.
        """
        cls = getattr(errors, exception, None) or getattr(builtins, exception)
        if kind == "raise" or not 0 <= site < len(self._sites):
            return cast(BaseException, cls(message))
        place = self.describe(self._sites[site])
        return cast(BaseException, cls(f"{message}\n{place}" if place else message))

    def describe(self, loc: Loc) -> str:
        """Return the source line of ``loc`` with carets, under its place."""
        if not 0 <= loc.function < len(self._functions):
            return ""
        name = self._functions[loc.function]
        source = self._source(name)
        if source is None:
            return f"  at line {loc.line + 1} of {name.module}.{name.qualname}"
        line = source.first_line + loc.line
        text = source.lines[line - 1] if line <= len(source.lines) else ""
        indent = len(text) - len(text.lstrip())
        width = max(1, (loc.end_column if loc.end_line == loc.line else len(text)) - loc.column)
        caret = " " * max(0, loc.column - indent) + "^" * width
        return f"  at {source.file}:{line}:{loc.column + 1}, in {name.qualname}\n    {text.strip()}\n    {caret}"

    def _source(self, name: FunctionName) -> FunctionSource | None:
        function = self._live(name)
        if function is None:
            return None
        try:
            return source_of(function)
        except SourceUnavailableError:
            return None

    def _live(self, name: FunctionName) -> types.FunctionType | None:
        if (name.qualname, name.module) == (self._function.__qualname__, self._function.__module__):
            return self._function
        found: object = sys.modules.get(name.module)
        for part in name.qualname.split("."):
            found = getattr(found, part, None)
        found = getattr(found, "__wrapped__", found)
        return found if isinstance(found, types.FunctionType) else None
