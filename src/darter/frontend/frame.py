"""One call being interpreted: its source, its names, and the names that are local to a function."""

from __future__ import annotations

import ast
import enum
import functools
import types
from collections.abc import Iterator
from typing import Any

from darter.ir.nodes import Loc
from darter.source.function_source import FunctionSource
from darter.source.own_lines import FunctionNode


class _Unset(enum.Enum):
    UNSET = "unset"


UNSET = _Unset.UNSET
"""The result of a function that has not returned yet."""

RETURNED = "%returned"
RESULT = "%result"


class Frame:
    """A function call, or the scope of a comprehension or nested function inside one.

    ``outer`` is the frame whose names this one sees (nested functions and comprehensions), ``caller`` the frame and
    node that called it.  Flags of early exits stand among the locals, under names that no code can write.
    """

    __slots__ = (
        "caller",
        "function",
        "index",
        "local_names",
        "locals",
        "locs",
        "loops",
        "node",
        "outer",
        "serial",
        "source",
    )

    def __init__(
        self,
        function: types.FunctionType,
        source: FunctionSource,
        node: ast.AST,
        index: int,
        local_names: frozenset[str],
        outer: Frame | None = None,
        caller: tuple[Frame, ast.AST] | None = None,
    ) -> None:
        self.function = function
        self.source = source
        self.node = node
        self.index = index
        self.local_names = local_names
        self.outer = outer
        self.caller = caller
        self.serial = 0
        self.locals: dict[str, Any] = {RETURNED: False, RESULT: UNSET}
        self.loops: list[LoopFlags] = []
        self.locs: dict[int, Loc] = outer.locs if outer is not None else {}

    def loc(self, node: ast.AST) -> Loc:
        """Return the position of ``node``, relative to the function's ``def``."""
        loc = self.locs.get(id(node))
        if loc is None:
            at: Any = node
            first = self.source.first_line
            loc = Loc(self.index, at.lineno - first, at.col_offset, at.end_lineno - first, at.end_col_offset)
            self.locs[id(node)] = loc
        return loc


class LoopFlags:
    """Names of the flags of one loop, among the frame's locals."""

    __slots__ = ("broken", "continued")

    def __init__(self, depth: int) -> None:
        self.broken = f"%broken{depth}"
        self.continued = f"%continued{depth}"


@functools.lru_cache(maxsize=4096)
def local_names(node: FunctionNode) -> frozenset[str]:
    """Return the names that are local to a function: its parameters and whatever its body binds."""
    arguments = node.args
    names = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    for extra in (arguments.vararg, arguments.kwarg):
        if extra is not None:
            names.add(extra.arg)
    body = [node.body] if isinstance(node, ast.Lambda) else node.body
    return frozenset(names.union(assigned_names(tuple(body))))


@functools.lru_cache(maxsize=4096)
def assigned_names(body: tuple[ast.AST, ...]) -> frozenset[str]:
    """Return the names that statements bind in the scope they stand in."""
    names: set[str] = set()
    for node in _walk_scope(body):
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
    return frozenset(names)


@functools.lru_cache(maxsize=4096)
def mutated_names(body: tuple[ast.AST, ...]) -> frozenset[str]:
    """Return the names whose items statements assign (``a[i] = v``, ``a[i] += v``)."""
    return frozenset(
        node.value.id
        for node in _walk_scope(body)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name)
    )


@functools.lru_cache(maxsize=4096)
def exits(body: tuple[ast.AST, ...]) -> tuple[bool, bool]:
    """Return whether a loop body holds a ``break`` of its own, and a ``return``."""
    breaks = returns = False
    pending = [(node, True) for node in body]
    while pending:
        node, own = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        breaks |= own and isinstance(node, ast.Break)
        returns |= isinstance(node, ast.Return)
        inner = own and not isinstance(node, (ast.For, ast.While))
        pending.extend((child, inner) for child in ast.iter_child_nodes(node))
    return breaks, returns


_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _walk_scope(body: tuple[ast.AST, ...]) -> Iterator[ast.AST]:
    """Walk nodes, not entering nested functions; of comprehensions, only assignments by ``:=`` bind outside."""
    pending = list(body)
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, _COMPREHENSIONS):
            pending.extend(n.target for n in ast.walk(node) if isinstance(n, ast.NamedExpr))
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            pending.extend(ast.iter_child_nodes(node))
