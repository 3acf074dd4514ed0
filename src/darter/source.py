"""The source of a function: found through its code object, and proven to be the code that runs.

``inspect.getsource`` follows ``__wrapped__`` and guesses where a lambda ends; here the whole file is parsed and
compiled once per content, and the function's code object is looked up among the compiled ones by what it does
(bytecode, names, constants).  Text that does not match the running code is refused, never compiled into a kernel.
"""

from __future__ import annotations
import __future__

import ast
import copy
import functools
import inspect
import linecache
import types
import warnings

from darter.errors import SourceUnavailableError
from darter.frozen import Frozen

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

_FUTURE_FLAGS = functools.reduce(
    lambda flags, name: flags | int(getattr(__future__, name).compiler_flag), __future__.all_feature_names, 0
)


class FunctionSource(Frozen):
    """Where a function stands and what it says.

    ``first_line`` is the 1-based line of ``def`` (or of the lambda), ``lines`` all lines of the file, without ends.
    """

    file: str
    first_line: int
    node: FunctionNode
    lines: tuple[str, ...]

    @property
    def digest_text(self) -> str:
        """The normalised text: no positions, no decorators, no docstring; computed once per function."""
        return _normalised(self.node)


class _ParsedFile(Frozen):
    """One content of one file: its lines and, by function name, (compiled code, node) in order."""

    lines: tuple[str, ...]
    functions: dict[str, list[tuple[types.CodeType, FunctionNode]]]


def source_of(function: types.FunctionType) -> FunctionSource:
    """Return the source of ``function`` (a plain Python function or lambda).

    Raises:
        SourceUnavailableError: there is no source, or it is not what the function's code was compiled from.
    """
    code = function.__code__
    # The lines that linecache holds may be those of the import; a file edited since then is read again only if these
    # do not match, so that an edit elsewhere does not make a loaded function unreadable.
    for refresh in (False, True):
        found = _find(code, _file_lines(function, refresh=refresh))
        if found is not None:
            return found
    raise SourceUnavailableError(_remedy(function))


def _file_lines(function: types.FunctionType, *, refresh: bool) -> tuple[str, ...]:
    file = function.__code__.co_filename
    if refresh:
        held = linecache.cache.get(file, ())
        if len(held) > 1 and held[1] is not None:
            # Read, and not only looked at: another text may have the size and the time of the one before.
            linecache.updatecache(file, function.__globals__)
        else:  # a cell's text, which has no time and no file
            linecache.checkcache(file)
    return tuple(linecache.getlines(file, function.__globals__))


def _find(code: types.CodeType, lines: tuple[str, ...]) -> FunctionSource | None:
    if not lines:
        return None
    parsed = _parse("".join(lines), code.co_flags & _FUTURE_FLAGS)
    if parsed is None:
        return None
    matches = [(other, node) for other, node in parsed.functions.get(code.co_name, ()) if _same_code(code, other)]
    if not matches:
        return None
    # Two functions of one text mean the same, wherever they stand; the right one gives the right error positions.
    exact = [node for other, node in matches if _same_place(code, other)] if len(matches) > 1 else []
    nearest = min(matches, key=lambda match: abs(match[0].co_firstlineno - code.co_firstlineno))[1]
    node = exact[0] if exact else nearest
    return FunctionSource(code.co_filename, node.lineno, node, parsed.lines)


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
    return _ParsedFile(tuple(text.splitlines()), functions)


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
        alike = [node for node in candidates if isinstance(node, ast.Lambda) and _same_code(_alone(node, code), code)]
        return alike[0] if len(set(map(ast.dump, alike))) == 1 else None
    for node in sorted(candidates, key=_extent):
        if all(_holds(node, begin, end) for begin, end in spans):
            return node
    return None


def _alone(node: ast.Lambda, like: types.CodeType) -> types.CodeType:
    """Return the code of a lambda compiled by itself, with the flags of ``like``."""
    whole = compile(ast.Expression(node), "<source>", "eval", like.co_flags & _FUTURE_FLAGS, dont_inherit=True)
    codes: list[types.CodeType] = [constant for constant in whole.co_consts if isinstance(constant, types.CodeType)]
    return codes[-1].replace(co_flags=codes[-1].co_flags | like.co_flags & inspect.CO_NESTED)


def _holds(node: FunctionNode, begin: tuple[int, int], end: tuple[int, int]) -> bool:
    """Return whether what stands from one (line, column) to another stands in the body of ``node``."""
    first, last = (node.body, node.body) if isinstance(node, ast.Lambda) else (node.body[0], node.body[-1])
    return (first.lineno, first.col_offset) <= begin and end <= (last.end_lineno or 0, last.end_col_offset or 0)


def _extent(node: FunctionNode) -> tuple[int, int]:
    return ((node.end_lineno or node.lineno) - node.lineno, (node.end_col_offset or 0) - node.col_offset)


def _same_code(a: types.CodeType, b: types.CodeType) -> bool:
    """Tell whether two code objects do the same: everything but positions, file and qualified name."""
    return (
        a.co_code == b.co_code
        and a.co_names == b.co_names
        and a.co_varnames == b.co_varnames
        and a.co_freevars == b.co_freevars
        and a.co_cellvars == b.co_cellvars
        and (a.co_argcount, a.co_posonlyargcount, a.co_kwonlyargcount, a.co_flags)
        == (b.co_argcount, b.co_posonlyargcount, b.co_kwonlyargcount, b.co_flags)
        and _same_constants(a.co_consts, b.co_consts)
    )


def _same_constants(a: tuple[object, ...], b: tuple[object, ...]) -> bool:
    return len(a) == len(b) and all(map(_same_constant, a, b))


def _same_constant(a: object, b: object) -> bool:
    if isinstance(a, types.CodeType) and isinstance(b, types.CodeType):
        return a.co_name == b.co_name and _same_code(a, b)
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple) and isinstance(b, tuple):
        return _same_constants(a, b)
    # repr tells 0.0 from -0.0 and nan from nothing else; constants are plain values.
    return repr(a) == repr(b) if isinstance(a, (float, complex)) else a == b


def _same_place(a: types.CodeType, b: types.CodeType) -> bool:
    return (
        a.co_firstlineno == b.co_firstlineno
        and a.co_qualname == b.co_qualname
        and list(a.co_positions()) == list(b.co_positions())
    )


@functools.lru_cache(maxsize=4096)
def _normalised(node: FunctionNode) -> str:
    bare = copy.copy(node)
    if not isinstance(bare, ast.Lambda):
        bare.decorator_list = []
        if ast.get_docstring(bare, clean=False) is not None:
            bare.body = bare.body[1:]
    return ast.dump(bare)


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
