"""Where a launcher failed: turns a site of its program into file, line and caret.

Artifacts hold no paths; the function that is being called knows its file, and other functions are found again by module
and qualified name.
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Sequence
from typing import cast

from darter import errors
from darter.ir.carets import source_line
from darter.ir.places import FunctionName, Loc


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
        return source_line(self._functions[loc.function], loc, self._function)
