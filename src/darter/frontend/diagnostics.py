"""Messages about kernel and launcher code: where (with a caret), what was found, what is accepted."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable
from typing import Any

from darter.errors import CompileError
from darter.frontend.frame import Frame


def located(
    cls: type[CompileError],
    frame: Frame,
    node: ast.AST,
    message: str,
    found: str = "",
    accepted: str = "",
    advice: str = "",
) -> CompileError:
    """Return an error of ``cls`` at ``node``; the calls that led there follow, innermost first."""
    lines = [f"{place(frame, node)}: {message}", *excerpt(frame, node)]
    lines.extend(f"  {label}: {text}" for label, text in (("found", found), ("accepted", accepted)) if text)
    if advice:
        lines.append(f"  {advice}")
    lines.extend(_callers(frame))
    return cls("\n".join(lines))


def _callers(frame: Frame) -> list[str]:
    """Return the calls that led to ``frame``, innermost first, a recursion once."""
    lines: list[str] = []
    caller = frame.caller
    while caller is not None:
        outer, call = caller
        line = f"  called from {place(outer, call)}: {_line(outer, call).strip()}"
        if not lines or lines[-1] != line:
            lines.append(line)
        caller = outer.caller
    return lines


def place(frame: Frame, node: ast.AST) -> str:
    """Return ``file:line:column``; the column is 1-based and counts UTF-8 bytes."""
    at: Any = node
    return f"{frame.source.file}:{at.lineno}:{at.col_offset + 1}"


def _line(frame: Frame, node: ast.AST) -> str:
    at: Any = node
    lines = frame.source.lines
    return lines[at.lineno - 1] if 0 < at.lineno <= len(lines) else ""


def excerpt(frame: Frame, node: ast.AST) -> list[str]:
    """Return the source line of ``node`` and carets under it."""
    at: Any = node
    text = _line(frame, node)
    if not text:
        return []
    encoded = text.encode()
    start = len(encoded[: at.col_offset].decode(errors="replace"))
    if at.end_lineno == at.lineno:
        end = len(encoded[: at.end_col_offset].decode(errors="replace"))
    else:
        end = len(text.rstrip())
    stripped = text.lstrip()
    indent = len(text) - len(stripped)
    return ["    " + stripped, "    " + " " * (start - indent) + "^" * max(1, end - start)]


def nearest(name: str, candidates: Iterable[str]) -> str:
    """Return ``Did you mean 'x'?`` or nothing."""
    matches = difflib.get_close_matches(name, list(candidates), n=1)
    return f"Did you mean {matches[0]!r}?" if matches else ""
