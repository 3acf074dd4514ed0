"""What a node defines and what it uses: the two questions that every pass asks, by tables because they ask it often."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from darter.ir import nodes as n

Values = tuple[n.Value, ...]

_SEVERAL_RESULTS = frozenset({n.Load, n.If, n.For, n.While})
_NO_RESULT = frozenset({n.Store, n.Barrier, n.Assert, n.Print, n.Launch, n.Raise})
_OPERANDS: dict[type[n.Node], Callable[[Any], Values]] = {
    n.Unary: lambda node: (node.operand,),
    n.Cast: lambda node: (node.operand,),
    n.Bitcast: lambda node: (node.operand,),
    n.Binary: lambda node: (node.lhs, node.rhs),
    n.Compare: lambda node: (node.lhs, node.rhs),
    n.Select: lambda node: (node.condition, node.on_true, node.on_false),
    n.Fma: lambda node: (node.a, node.b, node.c),
    n.Math: lambda node: node.operands,
    n.Offset: lambda node: (node.pointer, node.offset),
    n.PointerCast: lambda node: (node.pointer,),
    n.Load: lambda node: (node.pointer, node.offset),
    n.Store: lambda node: (*node.values, node.pointer, node.offset),
    n.Atomic: lambda node: (
        *(node.pointer, node.offset, node.value),
        *(() if node.expected is None else (node.expected,)),
    ),
    n.Shuffle: lambda node: (node.value, node.lane),
    n.Vote: lambda node: (node.predicate,),
    n.Assert: lambda node: (node.condition, *node.operands),
    n.Print: lambda node: node.operands,
    n.If: lambda node: (node.condition,),
    n.For: lambda node: (node.lower, node.upper, node.step, *node.initial),
    n.While: lambda node: node.initial,
    n.Launch: lambda node: (*node.arguments, *node.grid, node.shared_bytes),
    n.Raise: lambda node: node.operands,
}


def results_of(node: n.Node) -> Values:
    """Return the values that ``node`` defines for its block; block arguments inside it are not among them."""
    kind = type(node)
    if kind in _SEVERAL_RESULTS:
        return node.results  # type: ignore[attr-defined, no-any-return]
    return () if kind in _NO_RESULT else (node.result,)  # type: ignore[attr-defined]


def operands_of(node: n.Node) -> Values:
    """Return the values that ``node`` itself uses, not those used inside its blocks."""
    operands = _OPERANDS.get(type(node))
    return () if operands is None else operands(node)


def walk(block: n.Block) -> Iterator[n.Node]:
    """Yield every node of ``block`` and of the blocks inside it, in program order, a node before its blocks."""
    for node in block.nodes:
        yield node
        for child in n.children(node):
            yield from walk(child)
