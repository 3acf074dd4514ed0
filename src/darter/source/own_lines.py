"""A function parsed from nothing but its own lines.

A file of 3,000 lines takes 60 ms to parse and compile, most functions less than 1, and a launch from disk needs no
more.
"""

from __future__ import annotations

import ast
import functools
import inspect
import types
import warnings
from collections.abc import Iterator

from darter.source.lines import own_lines
from darter.source.same_code import FUTURE_FLAGS, same_code

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def node_from_own_lines(function: types.FunctionType, lines: tuple[str, ...]) -> FunctionNode | None:
    """Return the node of a function in a file of these ``lines``; None where the whole file has to tell.

    What is returned is proven to be the code that runs, down to the position of each instruction.  What is not: a name
    that a class changes (``__x``), ``super()``, a string whose text is indented less than the function, a lambda.
    """
    code = function.__code__
    block = own_lines(lines, code.co_firstlineno)
    if block is None:
        return None
    around = _around(function, block[0][0].isspace())
    found = _parse("".join(block), code.co_firstlineno, around, code.co_flags & FUTURE_FLAGS)
    if found is None:
        return None
    node, other = found
    is_same = code.co_name == other.co_name and same_code(code, other)
    return node if is_same and list(code.co_positions()) == list(other.co_positions()) else None


def _around(function: types.FunctionType, is_indented: bool) -> tuple[str, str]:
    """Return what has to stand above a function to make its code what it is in its file.

    The first line imports what are imported names there, since CPython compiles ``module.name()`` its own way.  The
    second is the function or the other statement that it stands in, empty at the left margin.
    """
    code, scope = function.__code__, function.__globals__
    modules = sorted({name for name in _names(code) if isinstance(scope.get(name), types.ModuleType)})
    imports = f"import {', '.join(modules)}" if modules else ""
    if code.co_flags & inspect.CO_NESTED:
        return imports, f"def around({', '.join(code.co_freevars)}):"
    return imports, "if 1:" if is_indented else ""


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


@functools.lru_cache(maxsize=4096)
def _parse(
    block: str, first_line: int, around: tuple[str, str], flags: int
) -> tuple[FunctionNode, types.CodeType] | None:
    """Parse and compile the lines of one function at their place in a file; None if they are none."""
    imports, opening = around
    above = [""] * (first_line - 1)
    above[:1] = [imports] if above else []
    above[-1:] = [opening or above[-1]] if above else []
    text = "\n".join([*above, block])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the import has warned already
            tree = compile(text, "<source>", "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
            module = compile(tree, "<source>", "exec", flags, dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    outer = tree.body[-1]
    node = outer.body[0] if opening and len(outer.body) == 1 else outer
    is_def = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    codes = [module]
    for code in codes:
        if is_def and (code.co_firstlineno, code.co_name) == (first_line, node.name):
            return node, code
        codes += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return None
