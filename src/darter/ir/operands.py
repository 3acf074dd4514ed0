"""What a node defines and what it uses: the two questions that every pass asks."""

from __future__ import annotations

from collections.abc import Iterator

from darter.ir import nodes as n


def results_of(node: n.Node) -> tuple[n.Value, ...]:
    """Return the values that ``node`` defines for its block; block arguments inside it are not among them."""
    match node:
        case n.Load() | n.If() | n.For() | n.While():
            return node.results
        case n.Store() | n.Barrier() | n.Assert() | n.Print() | n.Launch() | n.Raise():
            return ()
        case _:
            result: n.Value = node.result  # type: ignore[attr-defined]
            return (result,)


def operands_of(node: n.Node) -> tuple[n.Value, ...]:
    """Return the values that ``node`` itself uses, not those used inside its blocks."""
    match node:
        case n.Unary() | n.Cast() | n.Bitcast():
            return (node.operand,)
        case n.Binary() | n.Compare():
            return (node.lhs, node.rhs)
        case n.Select():
            return (node.condition, node.on_true, node.on_false)
        case n.Fma():
            return (node.a, node.b, node.c)
        case n.Math() | n.Print() | n.Raise():
            return node.operands
        case n.Offset() | n.Load():
            return (node.pointer, node.offset)
        case n.PointerCast():
            return (node.pointer,)
        case n.Store():
            return (*node.values, node.pointer, node.offset)
        case n.Atomic():
            expected = () if node.expected is None else (node.expected,)
            return (node.pointer, node.offset, node.value, *expected)
        case n.Shuffle():
            return (node.value, node.lane)
        case n.Vote():
            return (node.predicate,)
        case n.Assert():
            return (node.condition, *node.operands)
        case n.Launch():
            return (*node.arguments, *node.grid, node.shared_bytes)
        case n.If():
            return (node.condition,)
        case n.For():
            return (node.lower, node.upper, node.step, *node.initial)
        case n.While():
            return node.initial
        case _:
            return ()


def walk(block: n.Block) -> Iterator[n.Node]:
    """Yield every node of ``block`` and of the blocks inside it, in program order, a node before its blocks."""
    for node in block.nodes:
        yield node
        for child in n.children(node):
            yield from walk(child)
