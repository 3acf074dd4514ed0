"""Structured control flow inside one warp: branches where a condition is uniform, masks where it is not.

A condition or loop bound of the form ``affine < uniform`` is written twice while no mask is on: once for whole warps,
without a mask, and once for the rest.
"""

from __future__ import annotations

from collections.abc import Sequence

from darter.codegen.common.types import register_type
from darter.codegen.cpu.context import Context
from darter.codegen.cpu.shapes import VARYING, Kind, Shape
from darter.ir import nodes as ir

_VERSION_LIMIT = 400
"""Nodes up to which a guarded block or a loop body is written twice."""


def size(block: ir.Block) -> int:
    """Return how many nodes ``block`` holds, nested ones included."""
    return sum(1 + sum(size(child) for child in ir.children(node)) for node in block.nodes)


def emit_if(context: Context, node: ir.If) -> None:
    if context.shapes[node.condition].uniform:
        _uniform_if(context, node)
        return
    full = context.all_true(node.condition)
    if full is not None and context.mask is None and not context.versioned and size(node.then) <= _VERSION_LIMIT:
        _versioned_if(context, node, full)
    else:
        _define(context, node.results, _masked_if(context, node))


def _define(context: Context, results: Sequence[ir.Value], texts: Sequence[str]) -> None:
    for result, text in zip(results, texts, strict=True):
        context.define(result, text)


def _yield(context: Context, block: ir.Block, shapes: Sequence[Shape]) -> list[str]:
    """Emit ``block`` and return what it yields in the forms of ``shapes``."""
    context.emit(context, block.nodes)
    return [context.as_shape(value, shape) for value, shape in zip(block.yields, shapes, strict=True)]


def _merge(context: Context, values: Sequence[ir.Value], *arms: tuple[list[str], str]) -> None:
    """Define ``values`` as phis of each arm's (texts, label)."""
    for position, value in enumerate(values):
        incoming = [(texts[position], label) for texts, label in arms]
        context.define(value, context.text.phi(context.type_of(value), *incoming))


def _uniform_if(context: Context, node: ir.If) -> None:
    text, shapes = context.text, [context.shapes[result] for result in node.results]
    then, orelse, done = text.fresh_label("then"), text.fresh_label("else"), text.fresh_label("endif")
    text.branch(context.lane0(node.condition), then, orelse)
    text.begin(then)
    first = _yield(context, node.then, shapes), text.label
    text.jump(done)
    text.begin(orelse)
    second = _yield(context, node.orelse, shapes), text.label
    text.jump(done)
    text.begin(done)
    _merge(context, node.results, first, second)


def _versioned_if(context: Context, node: ir.If, full: str) -> None:
    """Branch on ``full``: the whole warp takes the block without a mask, or lanes are masked."""
    text, shapes = context.text, [context.shapes[result] for result in node.results]
    whole, partial, done = text.fresh_label("whole"), text.fresh_label("partial"), text.fresh_label("endif")
    text.branch(full, whole, partial)
    text.begin(whole)
    first = _yield(context, node.then, shapes), text.label
    text.jump(done)
    text.begin(partial)
    context.versioned = True
    second = _masked_if(context, node), text.label
    context.versioned = False
    text.jump(done)
    text.begin(done)
    _merge(context, node.results, first, second)


def _masked_if(context: Context, node: ir.If) -> list[str]:
    """Emit both blocks under their masks, each jumped over where it is off everywhere; return the blended results."""
    condition, outer = context.lanes(node.condition), context.mask
    shapes = [VARYING if context.shapes[r].kind is Kind.VARYING else context.shapes[r] for r in node.results]
    on_true = _masked_block(context, node.then, context.both(outer, condition), shapes, node.results)
    on_false: list[str] = []
    if node.orelse.nodes:
        inverted = context.vector.op("xor", "i1", condition, "splat (i1 true)")
        on_false = _masked_block(context, node.orelse, context.both(outer, inverted), shapes, node.results)
    else:
        on_false = [context.as_shape(v, shape) for v, shape in zip(node.orelse.yields, shapes, strict=True)]
    blended = []
    for result, shape, a, b in zip(node.results, shapes, on_true, on_false, strict=True):
        if shape.kind is Kind.VARYING:
            blended.append(context.vector.select(register_type(result.type), condition, a, b))
        else:
            blended.append(b)
    return blended


def _masked_block(
    context: Context, block: ir.Block, mask: str, shapes: Sequence[Shape], results: Sequence[ir.Value]
) -> list[str]:
    """Emit ``block`` under ``mask``; return its yields, which mean nothing where the mask was off everywhere."""
    if not block.nodes:
        return [context.as_shape(value, shape) for value, shape in zip(block.yields, shapes, strict=True)]
    text, outer = context.text, context.mask
    work, after, before = text.fresh_label("masked"), text.fresh_label("after"), text.label
    text.branch(context.any(mask), work, after)
    text.begin(work)
    context.mask = mask
    yields, end = _yield(context, block, shapes), text.label
    context.mask = outer
    text.jump(after)
    text.begin(after)
    merged = []
    for value, shape, result in zip(yields, shapes, results, strict=True):
        t = context.type_as(result, shape)
        merged.append(text.phi(t, (value, end), ("poison", before)))
    return merged


# -- loops ------------------------------------------------------------------------------------------------------------


def emit_for(context: Context, node: ir.For) -> None:
    if not context.shapes.divergent(node):
        _uniform_for(context, node)
    elif _counted_by_lanes(context, node):
        _affine_for(context, node)
    else:
        _masked_for(context, node)


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


def _initial(context: Context, arguments: Sequence[ir.Value], initial: Sequence[ir.Value]) -> list[str]:
    return [context.as_shape(v, context.shapes[a]) for v, a in zip(initial, arguments, strict=True)]


def _uniform_for(context: Context, node: ir.For) -> None:
    """All lanes run the same turns: a plain loop that cannot overflow its index."""
    text, scalar = context.text, context.scalar
    index, *carried = node.body.arguments
    element = register_type(index.type)
    lower, step = context.lane0(node.lower), context.lane0(node.step)
    first = _initial(context, carried, node.initial)
    head, done = text.fresh_label("for"), text.fresh_label("endfor")
    enters = has_turns(context, node)
    before = text.label
    text.branch(enters, head, done)
    text.begin(head)
    phis = Phis(context, [index, *carried], [lower, *first], before)
    following = _yield(context, node.body, [context.shapes[a] for a in carried])
    position = phis.names[0]
    goes_on = more_turns(context, node, position)
    advanced = scalar.op("add", element, position, step)
    phis.close([advanced, *following], text.label)
    last = text.label
    text.branch(goes_on, head, done)
    text.begin(done)
    _merge(context, node.results, (first, before), (following, last))


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
    carried = _initial(context, node.body.arguments[1:], node.initial)
    state = [lower, room, *carried]
    if context.mask is None and not context.versioned and size(node.body) <= _VERSION_LIMIT:
        reach = context.shapes[node.lower].stride * (context.width - 1)
        state = _affine_loop(context, node, state, str(reach), masked=False)
    context_versioned, context.versioned = context.versioned, True
    state = _affine_loop(context, node, state, "0", masked=True)
    context.versioned = context_versioned
    _define(context, node.results, state[2:])


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
    yields = _yield(context, node.body, [context.shapes[argument] for argument in carried])
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
    entering = context.both(outer, vector.op("or", "i1", ahead, behind))
    start, first = context.as_shape(node.lower, context.shapes[index]), _initial(context, carried, node.initial)
    head, done, before = text.fresh_label("for"), text.fresh_label("endfor"), text.label
    text.branch(context.any(entering), head, done)
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
    text.fill(slot, f"{active} = phi {mask_type} [ {entering}, %{before} ], [ {staying}, %{text.label} ]")
    goes_on, last = context.any(staying), text.label
    text.branch(goes_on, head, done)
    text.begin(done)
    _merge(context, node.results, (first, before), (following, last))


def emit_while(context: Context, node: ir.While) -> None:
    text, outer = context.text, context.mask
    arguments, condition = node.test.arguments, node.test.yields[0]
    uniform = context.shapes[condition].uniform
    first, before = _initial(context, arguments, node.initial), text.label
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
        else _yield(context, node.body, [context.shapes[a] for a in arguments])
    )
    context.mask = outer
    phis.close(following, text.label)
    if not uniform:
        t = context.vector.type("i1")
        start = outer or "splat (i1 true)"
        text.fill(slot, f"{active} = phi {t} [ {start}, %{before} ], [ {staying}, %{text.label} ]")
    text.jump(head)
    text.begin(done)
    _define(context, node.results, phis.names)
