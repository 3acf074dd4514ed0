"""Digests of functions' sources, remembered by what they are computed from.

To parse a function and to compile it, which proves that its text is the code that runs, takes 0.3 ms; a launch from
disk asks for the digest of every function that it captures, and text and code are those of the launch before it.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING

from darter.later import later
from darter.sha256 import sha256
from darter.source.lines import lines_of, own_lines

if TYPE_CHECKING:
    from darter.source import function_source, own_lines as parsing
else:
    # What parses and compiles: not needed where digests are known.
    function_source = later("darter.source.function_source")
    parsing = later("darter.source.own_lines")

LIMIT = 1024
"""Digests told by another process above which they are found out anew: edited functions leave theirs behind."""


class SourceDigests:
    """SHA-256 digests, in hexadecimal, of normalised sources; another process may begin with them.

    A digest is known by the text of the function's own lines together with the content of its code object: the first
    process proved that this text compiles to this code.
    """

    __slots__ = ("_has_news", "_known", "_met")

    def __init__(self, text: str | None = None) -> None:
        """Begin with the digests that :meth:`text` told in another process."""
        checksum, _, told = (text or "").partition(" ")
        words = told.split() if checksum == _digest(told) else []  # a disk may have damaged it
        self._known = dict(zip(words[::2], words[1::2], strict=True)) if len(words) < 2 * LIMIT else {}
        # By the identity of the code; it is held, so that its id stays its own.
        self._met: dict[int, tuple[types.CodeType, str]] = {}
        self._has_news = False

    @property
    def has_news(self) -> bool:
        """Whether digests were found out that were not told at the beginning."""
        return self._has_news

    def text(self) -> str:
        """Return all that is known, as one line."""
        told = " ".join(f"{content} {digest}" for content, digest in sorted(self._known.items()))
        return f"{_digest(told)} {told}"

    def of(self, function: types.FunctionType) -> str:
        """Return the digest of a function's normalised source.

        Raises:
            SourceUnavailableError: there is no source, or it is not what the function's code was compiled from.
        """
        met = self._met.get(id(function.__code__))
        if met is None:
            met = self._met[id(function.__code__)] = (function.__code__, self._digest_of(function))
        return met[1]

    def _digest_of(self, function: types.FunctionType) -> str:
        lines = lines_of(function)
        block = own_lines(lines, function.__code__.co_firstlineno)
        if block is None:
            return _digest(function_source.source_of(function).digest_text)
        content = _digest(repr(("".join(block), _content(function.__code__))))
        found = self._known.get(content)
        if found is None:
            node = parsing.node_from_own_lines(function, tuple(lines))
            if node is None:  # more than its own lines decides what its source is
                return _digest(function_source.source_of(function).digest_text)
            found = self._known[content] = _digest(function_source.normalised(node))
            self._has_news = True
        return found


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _content(code: types.CodeType) -> tuple[object, ...]:
    """Return what code does and where its instructions stand in its lines, as values whose ``repr`` tells all."""
    return (
        code.co_name,
        code.co_code,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags),
        code.co_linetable,
        tuple(map(_constant, code.co_consts)),
    )


def _constant(value: object) -> object:
    if isinstance(value, types.CodeType):
        return _content(value)
    if isinstance(value, tuple):
        return tuple(map(_constant, value))
    if isinstance(value, frozenset):  # in the order of the hash seed
        return ("frozenset", sorted(map(repr, value)))
    return value
