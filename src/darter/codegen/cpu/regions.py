"""Blocks of several warps with barriers: code is cut at its barriers, and each piece runs for all warps in turn.

A *region* is a run of nodes without a barrier; it becomes a loop over the warps.  Control flow around a barrier is
uniform over the block, so it stands outside of those loops, on scalars.  What crosses from region to region:

* a block-uniform value that is pure is computed once, outside of the loops, before its region;
* a cheap pure scalar (an index, an offset) is computed again in every region that reads it;
* anything else goes to a slot: one scalar for the block, or an array with an entry for each warp, in scratch memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from darter.codegen.common.types import register_type
from darter.codegen.cpu import blocks, slots
from darter.codegen.cpu.context import Context
from darter.codegen.cpu.crossing import Crossing, pieces, reads
from darter.codegen.cpu.shapes import Kind
from darter.codegen.cpu.slots import Slot
from darter.errors import CodegenError
from darter.ir import nodes as ir
from darter.ir.operands import operands_of, results_of, walk

_PURE = (
    ir.Const, ir.ReadIndex, ir.Unary, ir.Binary, ir.Compare, ir.Select, ir.Cast, ir.Bitcast, ir.Fma, ir.Math,
    ir.Offset, ir.PointerCast, ir.SharedAlloc, ir.DynamicShared,
)  # fmt: skip
_CHEAP = (ir.Const, ir.ReadIndex, ir.Unary, ir.Binary, ir.Compare, ir.Cast, ir.Offset, ir.PointerCast)

Copies = Sequence[tuple[ir.Value, ir.Value]]
"""Pairs (source, target): values that a region leaves in the slots of others, all read before any is written."""


@dataclass(slots=True)
class Regions:
    """The state of cutting one kernel.

    ``outside`` are the values that stand outside of the loops over warps, ``again`` those that every region computes
    anew, ``crossing`` those that are read outside of the run that makes them.
    """

    context: Context
    warps: int
    tail_mask: Callable[[Context, str], str | None]
    crossing: set[ir.Value]
    outside: set[ir.Value]
    again: dict[ir.Value, ir.Node] = field(default_factory=dict)
    order: dict[ir.Value, int] = field(default_factory=dict)
    slots: dict[ir.Value, Slot] = field(default_factory=dict)

    def slot(self, value: ir.Value) -> Slot:
        """Return the slot of ``value``, made on first request."""
        slot = self.slots.get(value)
        if slot is None:
            slot = self.slots[value] = slots.new_slot(self.context, value, self.warps)
        return slot

    def is_scalar(self, value: ir.Value) -> bool:
        """Return whether the block agrees on ``value``."""
        return self.context.shapes[value].kind is Kind.BLOCK


def emit_regions(context: Context, warps: int, tail_mask: Callable[[Context, str], str | None]) -> None:
    """Emit the body of a kernel whose blocks have ``warps`` warps that meet at barriers."""
    crossing = Crossing(context.kernel, context.shapes).values
    regions = Regions(context, warps, tail_mask, crossing, set(context.kernel.parameters))
    _block(regions, context.kernel.body, ())


def _block(regions: Regions, block: ir.Block, copies: Copies) -> None:
    """Emit ``block``, then leave ``copies`` behind."""
    for run, node in pieces(block):
        match node:
            case ir.If():
                _region(regions, run, ())
                _if(regions, node)
            case ir.For():
                _region(regions, run, _entering(regions, node.initial, node.body.arguments[1:]))
                _for(regions, node)
            case ir.While():
                _region(regions, run, _entering(regions, node.initial, node.test.arguments))
                _while(regions, node)
            case None:
                _region(regions, run, copies)
            case _:
                _region(regions, run, ())


# -- regions ----------------------------------------------------------------------------------------------------------


def _region(regions: Regions, nodes: Sequence[ir.Node], copies: Copies) -> None:
    """Emit one run of nodes for all warps, and ``copies`` at its end."""
    context, text = regions.context, regions.context.text
    left = _hoist(regions, nodes)
    if not left and not copies:
        return
    kept = dict(context.held)
    own = [value for node in left for value in results_of(node)]
    made = set(own)
    read = [*reads(left), *(source for source, _ in copies)]
    needed = [value for value in read if value not in made]
    targets = [regions.slot(target) for _, target in copies]
    warps = regions.warps if copies or not _same_for_all(regions, left) else 1
    with text.counted(str(warps), "warp") as warp:
        context.warp = warp
        context.mask = regions.tail_mask(context, warp)
        _restore(regions, needed)
        context.emit(context, left)
        moved = [context.as_shape(source, context.shapes[target]) for source, target in copies]
        for value in own:
            if value in regions.crossing and value not in regions.again:
                slots.write(context, regions.slot(value), context.held[value].text)
        for slot, value_text in zip(targets, moved, strict=True):
            slots.write(context, slot, value_text)
    context.mask, context.warp = None, "0"
    context.held = kept


def _same_for_all(regions: Regions, nodes: Sequence[ir.Node]) -> bool:
    """Return whether the first warp can do ``nodes`` for all: they change nothing, and the block agrees on the results.

    A shared sum that every thread reads back is of this kind.
    """
    if any(isinstance(node, ir.Store | ir.Atomic | ir.Assert | ir.Print) for node in _all(nodes)):
        return False
    made = [value for node in nodes for value in results_of(node)]
    return all(regions.is_scalar(value) for value in made if value in regions.crossing and value not in regions.again)


def _all(nodes: Sequence[ir.Node]) -> Iterator[ir.Node]:
    for node in nodes:
        yield node
        for child in ir.children(node):
            yield from walk(child)


def _hoist(regions: Regions, nodes: Sequence[ir.Node]) -> list[ir.Node]:
    """Emit what is pure and block-uniform outside of the loop over warps; return the rest, noting what is cheap."""
    context = regions.context
    left: list[ir.Node] = []
    for node in nodes:
        if isinstance(node, _PURE):
            result = results_of(node)[0]
            regions.order[result] = len(regions.order)
            if regions.is_scalar(result) and all(value in regions.outside for value in operands_of(node)):
                context.emit(context, [node])
                regions.outside.add(result)
                continue
            if isinstance(node, _CHEAP) and _repeatable(regions, node, result):
                regions.again[result] = node
        left.append(node)
    return left


def _repeatable(regions: Regions, node: ir.Node, result: ir.Value) -> bool:
    scalar = regions.context.shapes[result].kind is not Kind.VARYING or isinstance(node, ir.Compare | ir.ReadIndex)
    return scalar and all(value in regions.outside or value in regions.again for value in operands_of(node))


def _restore(regions: Regions, needed: Iterable[ir.Value]) -> None:
    """Make ``needed`` available in this region: computed again, or read from their slots."""
    context = regions.context
    repeated: set[ir.Value] = set()
    pending = list(needed)
    while pending:
        value = pending.pop()
        if value in repeated or value in regions.outside:
            continue
        if value in regions.again:
            repeated.add(value)
            pending.extend(operands_of(regions.again[value]))
        else:
            context.define(value, slots.read(context, regions.slot(value)))
    for value in sorted(repeated, key=regions.order.__getitem__):
        context.emit(context, [regions.again[value]])


def _scalar(regions: Regions, value: ir.Value) -> str:
    """Return a block-uniform value outside of the loops over warps."""
    if not regions.is_scalar(value):
        raise CodegenError("control flow around a barrier depends on a value that the block does not agree on")
    if value not in regions.outside:
        _restore(regions, [value])
    return regions.context.lane0(value)


# -- structure --------------------------------------------------------------------------------------------------------


def _entering(regions: Regions, initial: Sequence[ir.Value], arguments: Sequence[ir.Value]) -> Copies:
    """Return the copies that fill the slots of a loop's carried values on entry."""
    pairs = zip(initial, arguments, strict=True)
    return [(value, argument) for value, argument in pairs if not regions.is_scalar(argument)]


def _alias(regions: Regions, values: Sequence[ir.Value], arguments: Sequence[ir.Value]) -> None:
    """Let ``values`` be found where ``arguments`` are: in the same slot."""
    for value, argument in zip(values, arguments, strict=True):
        if not regions.is_scalar(argument):
            regions.slots[value] = regions.slot(argument)


def _outside(regions: Regions, value: ir.Value, text: str) -> None:
    regions.context.define(value, text)
    regions.outside.add(value)


def _if(regions: Regions, node: ir.If) -> None:
    text = regions.context.text
    scalars = [position for position, result in enumerate(node.results) if regions.is_scalar(result)]
    then, orelse, done = text.fresh_label("then"), text.fresh_label("else"), text.fresh_label("endif")
    text.branch(_scalar(regions, node.condition), then, orelse)
    arms = []
    for label, block in ((then, node.then), (orelse, node.orelse)):
        text.begin(label)
        pairs = zip(block.yields, node.results, strict=True)
        _block(regions, block, [(value, result) for value, result in pairs if not regions.is_scalar(result)])
        arms.append(([_scalar(regions, block.yields[position]) for position in scalars], text.label))
        text.jump(done)
    text.begin(done)
    for number, position in enumerate(scalars):
        result = node.results[position]
        incoming = [(texts[number], label) for texts, label in arms]
        _outside(regions, result, text.phi(register_type(result.type), *incoming))


def _for(regions: Regions, node: ir.For) -> None:
    context, text = regions.context, regions.context.text
    index, *carried = node.body.arguments
    scalars = [position for position, argument in enumerate(carried) if regions.is_scalar(argument)]
    bounds = [(value, _scalar(regions, value)) for value in (node.lower, node.upper, node.step)]
    (_, lower), _, (_, step) = bounds
    first = [_scalar(regions, node.initial[position]) for position in scalars]
    head, done = text.fresh_label("for"), text.fresh_label("endfor")
    enters = blocks.has_turns(context, node)
    before = text.label
    text.branch(enters, head, done)
    text.begin(head)
    arguments = [index, *(carried[position] for position in scalars)]
    phis = blocks.Phis(context, arguments, [lower, *first], before)
    regions.outside.update(arguments)
    pairs = zip(node.body.yields, carried, strict=True)
    _block(regions, node.body, [(value, argument) for value, argument in pairs if not regions.is_scalar(argument)])
    following = [_scalar(regions, node.body.yields[position]) for position in scalars]
    for value, held in bounds:
        context.define(value, held)
    goes_on = blocks.more_turns(context, node, phis.names[0])
    advanced = context.scalar.op("add", register_type(index.type), phis.names[0], step)
    phis.close([advanced, *following], text.label)
    last = text.label
    text.branch(goes_on, head, done)
    text.begin(done)
    for number, position in enumerate(scalars):
        result = node.results[position]
        _outside(
            regions, result, text.phi(register_type(result.type), (first[number], before), (following[number], last))
        )
    _alias(regions, node.results, carried)


def _while(regions: Regions, node: ir.While) -> None:
    context, text, arguments = regions.context, regions.context.text, node.test.arguments
    scalars = [position for position, argument in enumerate(arguments) if regions.is_scalar(argument)]
    first, before = [_scalar(regions, node.initial[position]) for position in scalars], text.label
    head, turn, done = text.fresh_label("while"), text.fresh_label("turn"), text.fresh_label("endwhile")
    text.jump(head)
    text.begin(head)
    phis = blocks.Phis(context, [arguments[position] for position in scalars], first, before)
    regions.outside.update(arguments[position] for position in scalars)
    _alias(regions, node.body.arguments, arguments)
    _block(regions, node.test, ())
    text.branch(_scalar(regions, node.test.yields[0]), turn, done)
    text.begin(turn)
    for name, position in zip(phis.names, scalars, strict=True):
        _outside(regions, node.body.arguments[position], name)
    pairs = zip(node.body.yields, arguments, strict=True)
    _block(regions, node.body, [(value, argument) for value, argument in pairs if not regions.is_scalar(argument)])
    following = [_scalar(regions, node.body.yields[position]) for position in scalars]
    phis.close(following, text.label)
    text.jump(head)
    text.begin(done)
    for name, position in zip(phis.names, scalars, strict=True):
        _outside(regions, node.results[position], name)
    _alias(regions, node.results, arguments)
