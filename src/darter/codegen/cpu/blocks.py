"""What branches and loops share: blocks and what they yield, phis, and the turns of uniform loops."""

from __future__ import annotations

from collections.abc import Sequence

from darter.codegen.common.types import register_type
from darter.codegen.cpu.context import Context
from darter.codegen.cpu.shapes import Shape
from darter.ir import nodes as ir

VERSION_LIMIT = 120
"""Nodes up to which a guarded block or a loop body is written twice."""


def size(block: ir.Block) -> int:
    """Return how many nodes ``block`` holds, nested ones included."""
    return sum(1 + sum(size(child) for child in ir.children(node)) for node in block.nodes)


def define_all(context: Context, results: Sequence[ir.Value], texts: Sequence[str]) -> None:
    for result, text in zip(results, texts, strict=True):
        context.define(result, text)


def yields_of(context: Context, block: ir.Block, shapes: Sequence[Shape]) -> list[str]:
    """Emit ``block`` and return what it yields in the forms of ``shapes``."""
    context.emit(context, block.nodes)
    return [context.as_shape(value, shape) for value, shape in zip(block.yields, shapes, strict=True)]


def merge(context: Context, values: Sequence[ir.Value], *arms: tuple[list[str], str]) -> None:
    """Define ``values`` as phis of each arm's (texts, label)."""
    for position, value in enumerate(values):
        incoming = [(texts[position], label) for texts, label in arms]
        context.define(value, context.text.phi(context.type_of(value), *incoming))


class Phis:
    """The phis of a loop's carried values: written at its head, filled when the back edge is known."""

    def __init__(self, context: Context, arguments: Sequence[ir.Value], initial: Sequence[str], before: str) -> None:
        self._context = context
        self._slots = []
        for argument, first in zip(arguments, initial, strict=True):
            name, slot = context.text.name(), context.text.reserve()
            self._slots.append((slot, name, context.type_of(argument), first))
            context.define(argument, name)
        self._before = before
        self.names = [name for _, name, _, _ in self._slots]

    def close(self, following: Sequence[str], label: str) -> None:
        """Fill in what comes round from ``label``."""
        for (slot, name, type, first), value in zip(self._slots, following, strict=True):
            self._context.text.fill(slot, f"{name} = phi {type} [ {first}, %{self._before} ], [ {value}, %{label} ]")


def entering(context: Context, arguments: Sequence[ir.Value], initial: Sequence[ir.Value]) -> list[str]:
    return [context.as_shape(v, context.shapes[a]) for v, a in zip(initial, arguments, strict=True)]


def has_turns(context: Context, node: ir.For) -> str:
    """Return whether a uniform loop runs at all."""
    scalar, element = context.scalar, register_type(node.lower.type)
    lower, upper, step = (context.lane0(value) for value in (node.lower, node.upper, node.step))
    sign, known = "s" if node.lower.dtype.is_signed else "u", context.shapes.constant(node.step)
    up = scalar.compare(f"{sign}lt", element, lower, upper)
    if known is not None:
        if known == 0:
            return "false"
        return up if known > 0 else scalar.compare(f"{sign}gt", element, lower, upper)
    down = scalar.compare(f"{sign}gt", element, lower, upper)
    rises = scalar.compare(f"{sign}gt", element, step, "0")
    falls = scalar.compare(f"{sign}lt", element, step, "0")
    risen, fallen = scalar.op("and", "i1", rises, up), scalar.op("and", "i1", falls, down)
    return scalar.op("or", "i1", risen, fallen)


def more_turns(context: Context, node: ir.For, position: str) -> str:
    """Return whether another turn follows: what is left, an unsigned number, is more than one step."""
    scalar, known, element = context.scalar, context.shapes.constant(node.step), register_type(node.lower.type)
    upper, step = context.lane0(node.upper), context.lane0(node.step)
    ahead = scalar.op("sub", element, upper, position)
    if known is not None and known > 0:
        return scalar.compare("ugt", element, ahead, step)
    behind, back = scalar.op("sub", element, position, upper), scalar.op("sub", element, "0", step)
    if known is not None:
        return scalar.compare("ugt", element, behind, back)
    sign = "s" if node.step.dtype.is_signed else "u"
    rises = scalar.compare(f"{sign}gt", element, step, "0")
    left, size_ = scalar.select(element, rises, ahead, behind), scalar.select(element, rises, step, back)
    return scalar.compare("ugt", element, left, size_)
