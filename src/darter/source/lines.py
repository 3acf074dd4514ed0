"""Lines of files, and those of one function among them."""

from __future__ import annotations

import linecache
import types
from collections.abc import Sequence


def lines_of(function: types.FunctionType, *, refresh: bool = False) -> list[str]:
    """Return the lines of a function's file; with ``refresh`` as they are now, else as they were first read."""
    file = function.__code__.co_filename
    if refresh:
        held = linecache.cache.get(file, ())
        if len(held) > 1 and held[1] is not None:
            # Read, and not only looked at: another text may have the size and the time of the one before.
            linecache.updatecache(file, function.__globals__)
        else:  # a cell's text, which has no time and no file
            linecache.checkcache(file)
    return linecache.getlines(file, function.__globals__)


def own_lines(lines: Sequence[str], first_line: int) -> Sequence[str] | None:
    """Return the lines from ``first_line`` (of a decorator or ``def``) to before the next that is indented no deeper.

    None where no ``def`` stands there.  A cut inside of brackets or of a string leaves text that does not parse.
    """
    begin = first_line - 1
    is_inside = False
    for number in range(begin, len(lines)):
        text = lines[number].lstrip()
        if not text or text[0] in "#)]}":
            continue
        if len(lines[number]) - len(text) > len(lines[begin]) - len(lines[begin].lstrip()):
            continue
        if is_inside:
            return lines[begin:number]
        is_inside = text.startswith(("def ", "async def "))
    return lines[begin:] if is_inside else None
