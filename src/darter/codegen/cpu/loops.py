"""Loops inside one warp: plain where all lanes run the same turns, under masks where they leave one by one.

A loop that starts at the lane and runs to a uniform end is written twice while no mask is on: whole turns, without a
mask, then the rest.
"""

from __future__ import annotations

from collections.abc import Sequence

from darter.codegen.common.types import register_type
from darter.codegen.cpu.blocks import (
    VERSION_LIMIT,
    Phis,
    define_all,
    entering,
    has_turns,
    merge,
    more_turns,
    size,
    yields_of,
)
from darter.codegen.cpu.context import Context
from darter.codegen.cpu.shapes import Kind
from darter.ir import nodes as ir


def emit_for(context: Context, node: ir.For) -> None:
    if not context.shapes.divergent(node):
        _uniform_for(context, node)
    elif _counted_by_lanes(context, node):
        _affine_for(context, node)
    else:
        _masked_for(context, node)


def _uniform_for(context: Context, node: ir.For) -> None:
    """All lanes run the same turns: a plain loop that cannot overflow its index."""
    text, scalar = context.text, context.scalar
    index, *carried = node.body.arguments
    element = register_type(index.type)
    lower, step = context.lane0(node.lower), context.lane0(node.step)
    first = entering(context, carried, node.initial)
    head, done = text.fresh_label("for"), text.fresh_label("endfor")
    enters = has_turns(context, node)
    before = text.label
    text.branch(enters, head, done)
    text.begin(head)
    phis = Phis(context, [index, *carried], [lower, *first], before)
    following = yields_of(context, node.body, [context.shapes[a] for a in carried])
    position = phis.names[0]
    goes_on = more_turns(context, node, position)
    advanced = scalar.op("add", element, position, step)
    phis.close([advanced, *following], text.label)
    last = text.label
    text.branch(goes_on, head, done)
    text.begin(done)
    merge(context, node.results, (first, before), (following, last))


def _counted_by_lanes(context: Context, node: ir.For) -> bool:
    """Return whether lanes leave in order: an affine start that rises, a uniform end, a positive constant step."""
    step, lower = context.shapes.constant(node.step), context.shapes[node.lower]
    return (
        step is not None
        and int(step) > 0
        and lower.kind is Kind.AFFINE
        and 0 < lower.stride * context.width < 1 << 20
        and context.shapes[node.upper].uniform
    )


def _affine_for(context: Context, node: ir.For) -> None:
    """``for i in range(affine, uniform, constant)``: whole turns without a mask, then turns of fewer and fewer lanes.

    ``room`` is the end minus lane 0's index, an unsigned number: lane L is on while L·stride < room.  The start of no
    lane is taken to have wrapped.
    """
    scalar, index = context.scalar, node.body.arguments[0]
    element, sign = register_type(index.type), "s" if index.dtype.is_signed else "u"
    lower, upper = context.lane0(node.lower), context.lane0(node.upper)
    difference = scalar.op("sub", element, upper, lower)
    inside = scalar.compare(f"{sign}lt", element, lower, upper)
    room = scalar.select(element, inside, difference, "0")
    carried = entering(context, node.body.arguments[1:], node.initial)
    state = [lower, room, *carried]
    if context.mask is None and not context.versioned and size(node.body) <= VERSION_LIMIT:
        reach = context.shapes[node.lower].stride * (context.width - 1)
        state = _affine_loop(context, node, state, str(reach), masked=False)
    context_versioned, context.versioned = context.versioned, True
    state = _affine_loop(context, node, state, "0", masked=True)
    context.versioned = context_versioned
    define_all(context, node.results, state[2:])


def _affine_loop(context: Context, node: ir.For, state: list[str], least: str, masked: bool) -> list[str]:
    """Run turns while room > ``least``; return [index of lane 0, room, *carried] after them."""
    text, scalar = context.text, context.scalar
    index, *carried = node.body.arguments
    element, outer, step = register_type(index.type), context.mask, context.lane0(node.step)
    head, done, before = text.fresh_label("for"), text.fresh_label("endfor"), text.label
    text.branch(scalar.compare("ugt", element, state[1], least), head, done)
    text.begin(head)
    room, slot = text.name(), text.reserve()
    phis = Phis(context, [index, *carried], [state[0], *state[2:]], before)
    old = phis.names[1:]
    skip = None
    if masked:
        inside = context.first_lanes(element, room, context.shapes[node.lower].stride)
        context.mask = context.both(outer, inside)
        if outer is not None:
            skip = text.fresh_label("latch")
    following = _guarded_body(context, node, carried, old, skip)
    context.mask = outer
    further = scalar.op("add", element, phis.names[0], step)
    spare = scalar.compare("ugt", element, room, step)
    less = scalar.select(element, spare, scalar.op("sub", element, room, step), "0")
    text.fill(slot, f"{room} = phi {element} [ {state[1]}, %{before} ], [ {less}, %{text.label} ]")
    phis.close([further, *following], text.label)
    last = text.label
    text.branch(scalar.compare("ugt", element, less, least), head, done)
    text.begin(done)
    types = [element, element, *(context.type_of(argument) for argument in carried)]
    after = [further, less, *following]
    return [text.phi(t, (a, before), (b, last)) for t, a, b in zip(types, state, after, strict=True)]


def _guarded_body(
    context: Context, node: ir.For | ir.While, carried: Sequence[ir.Value], old: Sequence[str], skip: str | None
) -> list[str]:
    """Emit a loop's body under the mask that is on, jumped over where ``skip`` names a label; return its yields."""
    text, mask = context.text, context.mask
    before = text.label
    if skip is not None and mask is not None:
        work = text.fresh_label("turn")
        text.branch(context.any(mask), work, skip)
        text.begin(work)
    yields = yields_of(context, node.body, [context.shapes[argument] for argument in carried])
    if mask is not None:
        yields = [
            context.vector.select(register_type(argument.type), mask, new, previous)
            if context.shapes[argument].kind is Kind.VARYING
            else new
            for argument, new, previous in zip(carried, yields, old, strict=True)
        ]
    if skip is None or mask is None:
        return yields
    end = text.label
    text.jump(skip)
    text.begin(skip)
    return [
        text.phi(context.type_of(argument), (new, end), (previous, before))
        for argument, new, previous in zip(carried, yields, old, strict=True)
    ]


def _masked_for(context: Context, node: ir.For) -> None:
    """Lanes have bounds of their own: turns while any lane has one left, the index a vector (or a scalar)."""
    text, vector = context.text, context.vector
    index, *carried = node.body.arguments
    element, outer = register_type(index.type), context.mask
    lower, upper, step = (context.lanes(v) for v in (node.lower, node.upper, node.step))
    sign = "s" if index.dtype.is_signed else "u"
    zero = vector.integer(element, 0)
    rises = vector.compare(f"{sign}gt", element, step, zero)
    ahead = vector.op("and", "i1", rises, vector.compare(f"{sign}lt", element, lower, upper))
    falls = vector.compare(f"{sign}lt", element, step, zero)
    behind = vector.op("and", "i1", falls, vector.compare(f"{sign}gt", element, lower, upper))
    first_active = context.both(outer, vector.op("or", "i1", ahead, behind))
    start, first = context.as_shape(node.lower, context.shapes[index]), entering(context, carried, node.initial)
    head, done, before = text.fresh_label("for"), text.fresh_label("endfor"), text.label
    text.branch(context.any(first_active), head, done)
    text.begin(head)
    active, slot = text.name(), text.reserve()
    phis = Phis(context, [index, *carried], [start, *first], before)
    context.mask = active
    following = _guarded_body(context, node, carried, phis.names[1:], None)
    context.mask = outer
    position = context.lanes(index)
    size_ = vector.select(element, rises, step, vector.op("sub", element, zero, step))
    up, down = vector.op("sub", element, upper, position), vector.op("sub", element, position, upper)
    left = vector.select(element, rises, up, down)
    staying = vector.op("and", "i1", active, vector.compare("ugt", element, left, size_))
    scalar_index = context.shapes[index].kind is not Kind.VARYING
    if scalar_index:
        advanced = context.scalar.op("add", element, phis.names[0], context.lane0(node.step))
    else:
        advanced = vector.op("add", element, position, step)
    phis.close([advanced, *following], text.label)
    mask_type = vector.type("i1")
    text.fill(slot, f"{active} = phi {mask_type} [ {first_active}, %{before} ], [ {staying}, %{text.label} ]")
    goes_on, last = context.any(staying), text.label
    text.branch(goes_on, head, done)
    text.begin(done)
    merge(context, node.results, (first, before), (following, last))


def emit_while(context: Context, node: ir.While) -> None:
    text, outer = context.text, context.mask
    arguments, condition = node.test.arguments, node.test.yields[0]
    uniform = context.shapes[condition].uniform
    first, before = entering(context, arguments, node.initial), text.label
    head, turn, done = text.fresh_label("while"), text.fresh_label("turn"), text.fresh_label("endwhile")
    text.jump(head)
    text.begin(head)
    active, slot = text.name(), text.reserve()
    phis = Phis(context, arguments, first, before)
    if not uniform:
        context.mask = active
    context.emit(context, node.test.nodes)
    if uniform:
        goes_on, staying = context.lane0(condition), ""
    else:
        staying = context.vector.op("and", "i1", active, context.lanes(condition))
        goes_on = context.any(staying)
        context.mask = staying
    text.branch(goes_on, turn, done)
    text.begin(turn)
    for inner, argument in zip(node.body.arguments, arguments, strict=True):
        context.define(inner, context.held[argument].text)
    following = (
        _guarded_body(context, node, arguments, phis.names, None)
        if not uniform
        else yields_of(context, node.body, [context.shapes[a] for a in arguments])
    )
    context.mask = outer
    phis.close(following, text.label)
    if not uniform:
        t = context.vector.type("i1")
        start = outer or "splat (i1 true)"
        text.fill(slot, f"{active} = phi {t} [ {start}, %{before} ], [ {staying}, %{text.label} ]")
    text.jump(head)
    text.begin(done)
    define_all(context, node.results, phis.names)
