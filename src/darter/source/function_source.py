"""The source of a function: found through its code object, and proven to be the code that runs.

``inspect.getsource`` follows ``__wrapped__`` and guesses where a lambda ends; here the whole file is parsed and
compiled once per content, and the function's code object is looked up among the compiled ones by what it does
(bytecode, names, constants).  Text that does not match the running code is refused, never compiled into a kernel.
"""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import linecache
import types
import warnings
from collections.abc import Callable

from darter.errors import SourceUnavailableError
from darter.frozen import Frozen
from darter.source.lines import lines_of
from darter.source.own_lines import FunctionNode, node_from_own_lines
from darter.source.same_code import FUTURE_FLAGS, same_code, same_place


class FunctionSource(Frozen):
    """Where a function stands and what it says.

    ``first_line`` is the 1-based line of ``def`` (or of the lambda), ``file_lines`` are all lines of the file, as read.
    """

    file: str
    first_line: int
    node: FunctionNode
    file_lines: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """All lines of the file, without ends."""
        return tuple(line.rstrip("\r\n") for line in self.file_lines)

    @property
    def digest_text(self) -> str:
        """The normalised text: no positions, no decorators, no docstring; computed once per function."""
        return normalised(self.node)


_ParsedFile = dict[str, list[tuple[types.CodeType, FunctionNode]]]
"""One content of one file: by function name, (compiled code, node) in order."""


def source_of(function: types.FunctionType) -> FunctionSource:
    """Return the source of ``function`` (a plain Python function or lambda).

    Raises:
        SourceUnavailableError: there is no source, or it is not what the function's code was compiled from.
    """
    # The lines that linecache holds may be those of the import; a file edited since then is read again only if these
    # do not match, so that an edit elsewhere does not make a loaded function unreadable.
    for refresh in (False, True):
        lines = _proven.lines(function.__code__.co_filename, lines_of(function, refresh=refresh))
        found = _proven.source(function.__code__, lines)
        if found is None:
            found = _find(function, lines)
            if found is not None:
                _proven.keep(function.__code__, found)
        if found is not None:
            return found
    raise SourceUnavailableError(_remedy(function))


class _Proven:
    """Sources that were proven to be the code that runs: a kernel calls its helpers many times, each by its source.

    They hold for the same code object and the same lines, which are compared and not only their file's name.
    """

    __slots__ = ("_files", "_sources")

    def __init__(self) -> None:
        self._files: dict[str, tuple[list[str], tuple[str, ...]]] = {}
        self._sources: dict[int, tuple[types.CodeType, FunctionSource]] = {}

    def lines(self, file: str, lines: list[str]) -> tuple[str, ...]:
        """Return the lines of a file as one tuple for all its functions, as long as they are the same."""
        held = self._files.get(file)
        # Lists compare their items by identity first: a microsecond for hundreds of lines.
        if held is not None and held[0] == lines:
            return held[1]
        if len(self._files) >= _PROVEN_LIMIT:
            self._files.clear()
        made = tuple(lines)
        self._files[file] = list(made), made
        return made

    def source(self, code: types.CodeType, lines: tuple[str, ...]) -> FunctionSource | None:
        """Return the source that was proven for ``code`` from these very ``lines``, or None."""
        held = self._sources.get(id(code))
        return held[1] if held is not None and held[0] is code and held[1].file_lines is lines else None

    def keep(self, code: types.CodeType, source: FunctionSource) -> None:
        """Remember a source; the code object is held, so that its id stays its own."""
        if len(self._sources) >= _PROVEN_LIMIT:
            self._sources.clear()
        self._sources[id(code)] = code, source


_PROVEN_LIMIT = 1024
_proven = _Proven()


def _find(function: types.FunctionType, lines: tuple[str, ...]) -> FunctionSource | None:
    code = function.__code__
    if not lines:
        return None
    own = node_from_own_lines(function, lines)
    if own is not None:
        return FunctionSource(code.co_filename, own.lineno, own, lines)
    parsed = _parse("".join(lines), code.co_flags & FUTURE_FLAGS)
    if parsed is None:
        return None
    matches = [(other, node) for other, node in parsed.get(code.co_name, ()) if same_code(code, other)]
    if not matches:
        return None
    # Two functions of one text mean the same, wherever they stand; the right one gives the right error positions.
    exact = [node for other, node in matches if same_place(code, other)] if len(matches) > 1 else []
    nearest = min(matches, key=lambda match: abs(match[0].co_firstlineno - code.co_firstlineno))[1]
    node = exact[0] if exact else nearest
    return FunctionSource(code.co_filename, node.lineno, node, lines)


@functools.lru_cache(maxsize=256)
def _parse(text: str, flags: int) -> _ParsedFile | None:
    """Parse and compile a file's text; None if it is no Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the import has warned already
            return _compiled(text, flags)
    except (SyntaxError, ValueError):
        return None


def _compiled(text: str, flags: int) -> _ParsedFile:
    tree = compile(text, "<source>", "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
    module = compile(tree, "<source>", "exec", flags, dont_inherit=True)
    nodes: dict[tuple[str, int], list[FunctionNode]] = {}
    for node in ast.walk(tree):
        if isinstance(node, FunctionNode):
            nodes.setdefault((_code_name(node), _code_line(node)), []).append(node)
    functions: dict[str, list[tuple[types.CodeType, FunctionNode]]] = {}
    pending = [module]
    while pending:
        code = pending.pop()
        pending.extend(constant for constant in code.co_consts if isinstance(constant, types.CodeType))
        candidates = nodes.get((code.co_name, code.co_firstlineno))
        found = _node_of(code, candidates) if candidates else None
        if found is not None:
            functions.setdefault(code.co_name, []).append((code, found))
    return functions


def _code_name(node: FunctionNode) -> str:
    return "<lambda>" if isinstance(node, ast.Lambda) else node.name


def _code_line(node: FunctionNode) -> int:
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _node_of(code: types.CodeType, candidates: list[FunctionNode]) -> FunctionNode | None:
    """Return which of several functions that begin on one line ``code`` is: the innermost that spans its positions.

    None if nobody can tell: without positions (``python -X no_debug_ranges``), of lambdas that close over names.
    """
    if len(candidates) == 1:
        return candidates[0]
    spans = [
        ((first, begin), (last, end))
        for first, last, begin, end in set(code.co_positions())
        if first is not None and last is not None and begin is not None and end is not None and begin != end
    ]
    if not spans:  # from 3.12 on, what returns a constant has none
        alike = [node for node in candidates if isinstance(node, ast.Lambda) and same_code(_alone(node, code), code)]
        return alike[0] if len(set(map(ast.dump, alike))) == 1 else None
    for node in sorted(candidates, key=_extent):
        if all(_holds(node, begin, end) for begin, end in spans):
            return node
    return None


def _alone(node: ast.Lambda, like: types.CodeType) -> types.CodeType:
    """Return the code of a lambda compiled by itself, with the flags of ``like``."""
    whole = compile(ast.Expression(node), "<source>", "eval", like.co_flags & FUTURE_FLAGS, dont_inherit=True)
    codes: list[types.CodeType] = [constant for constant in whole.co_consts if isinstance(constant, types.CodeType)]
    return codes[-1].replace(co_flags=codes[-1].co_flags | like.co_flags & inspect.CO_NESTED)


def _holds(node: FunctionNode, begin: tuple[int, int], end: tuple[int, int]) -> bool:
    """Return whether what stands from one (line, column) to another stands in the body of ``node``."""
    first, last = (node.body, node.body) if isinstance(node, ast.Lambda) else (node.body[0], node.body[-1])
    return (first.lineno, first.col_offset) <= begin and end <= (last.end_lineno or 0, last.end_col_offset or 0)


def _extent(node: FunctionNode) -> tuple[int, int]:
    return ((node.end_lineno or node.lineno) - node.lineno, (node.end_col_offset or 0) - node.col_offset)


@functools.lru_cache(maxsize=4096)
def normalised(node: FunctionNode) -> str:
    """Return what a function says: no positions, no decorators, no docstring."""
    bare = copy.copy(node)
    if not isinstance(bare, ast.Lambda):
        bare.decorator_list = []
        if ast.get_docstring(bare, clean=False) is not None:
            bare.body = bare.body[1:]
    parts: list[str] = []
    _write(bare, parts.append)
    return "".join(parts)


def _write(item: object, put: Callable[[str], object]) -> None:
    """Write a node, a list or a value of a field: what ``ast.dump`` tells, in less than half its time."""
    if isinstance(item, ast.AST):
        put(f"{type(item).__name__}(")
        for field in item._fields:
            _write(getattr(item, field, None), put)
        put(")")
    elif type(item) is list:
        put("[")
        for each in item:
            _write(each, put)
        put("]")
    else:
        put(f"{item!r},")


def _remedy(function: types.FunctionType) -> str:
    code = function.__code__
    where = f"{function.__qualname__} (file {code.co_filename!r}, line {code.co_firstlineno})"
    if "@pytest_ar" in function.__globals__:
        return (
            f"the source of {where} is not the code that runs: pytest rewrote the module, and with it the assert "
            f"statements of this function. Use `if ...: raise`, or put it into a module that pytest does not collect."
        )
    if linecache.getlines(code.co_filename, function.__globals__):
        return (
            f"the source of {where} is not the code that runs: the file was edited after it was loaded, or the code "
            f"object was rewritten. Reload the module, or put the function into an unmodified .py file."
        )
    return (
        f"the source of {where} is not available. Put the function into a .py file or a notebook cell; for code made "
        f"with exec, register its text in linecache.cache under the file name that it was compiled with."
    )
