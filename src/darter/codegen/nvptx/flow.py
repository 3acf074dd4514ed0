"""Structured control flow for NVPTX: branches and phis; divergence is the hardware's business."""

from __future__ import annotations

from collections.abc import Sequence

from darter.codegen.common.types import register_type
from darter.codegen.nvptx.context import Context, nvptx_type
from darter.ir import nodes as ir


def emit_if(context: Context, node: ir.If) -> None:
    text = context.text
    then, orelse, done = text.fresh_label("then"), text.fresh_label("else"), text.fresh_label("endif")
    text.branch(context.read(node.condition), then, orelse)
    arms = []
    for label, block in ((then, node.then), (orelse, node.orelse)):
        text.begin(label)
        context.emit(context, block.nodes)
        arms.append((text.label, [context.read(value) for value in block.yields]))
        text.jump(done)
    text.begin(done)
    for index, result in enumerate(node.results):
        incoming = [(values[index], label) for label, values in arms]
        context.define(result, text.phi(nvptx_type(result.type), *incoming))


def _open_loop(context: Context, arguments: Sequence[ir.Value]) -> list[int]:
    """Define the loop's carried values as phis of the block just begun; returns the lines to fill."""
    slots = []
    for argument in arguments:
        name = context.text.name()
        slots.append(context.text.reserve())
        context.define(argument, name)
    return slots


def _close_loop(
    context: Context,
    arguments: Sequence[ir.Value],
    slots: Sequence[int],
    before: tuple[str, Sequence[str]],
    latch: tuple[str, Sequence[str]],
) -> None:
    for index, (argument, slot) in enumerate(zip(arguments, slots, strict=True)):
        first, following = before[1][index], latch[1][index]
        incoming = f"[ {first}, %{before[0]} ], [ {following}, %{latch[0]} ]"
        context.text.fill(slot, f"{context.read(argument)} = phi {nvptx_type(argument.type)} {incoming}")


def emit_for(context: Context, node: ir.For) -> None:
    """``step`` may be of either sign; the number of turns is counted first, so that no index overflows."""
    text, lanes = context.text, context.lanes
    index, *carried = node.body.arguments
    dtype = index.dtype
    element = register_type(dtype)
    lower, upper, step = (context.read(value) for value in (node.lower, node.upper, node.step))
    head, body, done = text.fresh_label("for"), text.fresh_label("body"), text.fresh_label("done")
    initial = [context.read(value) for value in node.initial]
    turns = _turns(context, node, lower, upper, step)
    entry = text.label
    text.jump(head)
    text.begin(head)
    arguments = [index, *carried]
    slots = _open_loop(context, arguments)
    left = text.name()
    left_slot = text.reserve()
    text.branch(lanes.compare("ne", element, left, "0"), body, done)
    text.begin(body)
    context.emit(context, node.body.nodes)
    following = [context.read(value) for value in node.body.yields]
    next_index = lanes.op("add", element, context.read(index), step)
    next_left = lanes.op("sub", element, left, "1")
    latch = text.label
    text.jump(head)
    _close_loop(context, arguments, slots, (entry, [lower, *initial]), (latch, [next_index, *following]))
    text.fill(left_slot, f"{left} = phi {element} [ {turns}, %{entry} ], [ {next_left}, %{latch} ]")
    text.begin(done)
    for result, argument in zip(node.results, carried, strict=True):
        context.define(result, context.read(argument))


def _turns(context: Context, node: ir.For, lower: str, upper: str, step: str) -> str:
    """Return how often the body runs, as an unsigned number of the index' type."""
    lanes, dtype = context.lanes, node.lower.dtype
    element = register_type(dtype)
    sign = "s" if dtype.is_signed else "u"
    known = context.constants.get(node.step)

    def upward(by: str) -> str:
        distance = lanes.op("sub", element, upper, lower)
        if by == "1":
            count = distance
        else:
            count = lanes.op("udiv", element, lanes.op("sub", element, distance, "1"), by)
            count = lanes.op("add", element, count, "1")
        return lanes.select(element, lanes.compare(f"{sign}lt", element, lower, upper), count, "0")

    def downward(by: str) -> str:
        distance = lanes.op("sub", element, lower, upper)
        count = lanes.op("add", element, lanes.op("udiv", element, lanes.op("sub", element, distance, "1"), by), "1")
        return lanes.select(element, lanes.compare(f"{sign}gt", element, lower, upper), count, "0")

    if known is not None:
        return "0" if known == 0 else upward(str(known)) if known > 0 else downward(str(-known))
    positive = lanes.compare(f"{sign}gt", element, step, "0")
    zero = lanes.compare("eq", element, step, "0")
    magnitude = lanes.select(element, positive, step, lanes.op("sub", element, "0", step))
    safe = lanes.select(element, zero, "1", magnitude)
    count = lanes.select(element, positive, upward(safe), downward(safe) if dtype.is_signed else "0")
    return lanes.select(element, zero, "0", count)


def emit_while(context: Context, node: ir.While) -> None:
    text = context.text
    head, body, done = text.fresh_label("while"), text.fresh_label("body"), text.fresh_label("done")
    initial = [context.read(value) for value in node.initial]
    entry = text.label
    text.jump(head)
    text.begin(head)
    slots = _open_loop(context, node.test.arguments)
    context.emit(context, node.test.nodes)
    text.branch(context.read(node.test.yields[0]), body, done)
    text.begin(body)
    for inner, outer in zip(node.body.arguments, node.test.arguments, strict=True):
        context.define(inner, context.read(outer))
    context.emit(context, node.body.nodes)
    following = [context.read(value) for value in node.body.yields]
    latch = text.label
    text.jump(head)
    _close_loop(context, node.test.arguments, slots, (entry, initial), (latch, following))
    text.begin(done)
    for result, argument in zip(node.results, node.test.arguments, strict=True):
        context.define(result, context.read(argument))
