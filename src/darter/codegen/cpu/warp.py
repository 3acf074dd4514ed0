"""Warp operations: shuffles as vector permutations, votes as reductions of masks."""

from __future__ import annotations

from darter.codegen.common.types import register_type
from darter.codegen.cpu import lane_loops
from darter.codegen.cpu.context import Context
from darter.codegen.cpu.shapes import Kind
from darter.ir import nodes as ir


def emit_shuffle(context: Context, node: ir.Shuffle) -> None:
    element, shapes = register_type(node.result.type), context.shapes
    if shapes[node.value].uniform:
        context.define(node.result, context.lane0(node.value))
        return
    known = shapes.constant(node.lane)
    if shapes[node.result].uniform:
        context.define(node.result, _one_lane(context, node, element))
    elif known is not None:
        _static(context, node, element, known)
    else:
        _dynamic(context, node, element)


def _one_lane(context: Context, node: ir.Shuffle, element: str) -> str:
    """Return the value of one lane, the same for all; lane 0's where the block has no such thread."""
    lane = context.scalar.op("and", "i32", context.lane0(node.lane), str(context.width - 1))
    return context.text.value(f"extractelement {context.vector.type(element)} {context.lanes(node.value)}, i32 {lane}")


def _sources(mode: ir.ShuffleMode, lane: int, width: int) -> list[int]:
    """Return the lane that each lane reads for a known ``lane`` operand."""
    match mode:
        case ir.ShuffleMode.INDEX:
            wanted = [lane % width for _ in range(width)]
        case ir.ShuffleMode.XOR:
            wanted = [own ^ lane for own in range(width)]
        case ir.ShuffleMode.UP:
            wanted = [own - lane for own in range(width)]
        case ir.ShuffleMode.DOWN:
            wanted = [own + lane for own in range(width)]
    return [source if 0 <= source < width else own for own, source in enumerate(wanted)]


def _permute(context: Context, element: str, data: str, sources: list[int]) -> str:
    t = context.vector.type(element)
    order = ", ".join(f"i32 {source}" for source in sources)
    return context.text.value(f"shufflevector {t} {data}, {t} poison, {context.vector.type('i32')} <{order}>")


def _static(context: Context, node: ir.Shuffle, element: str, lane: int) -> None:
    own = context.lanes(node.value)
    sources = _sources(node.mode, lane, context.width)
    result = _permute(context, element, own, sources)
    if context.mask is not None:
        there = _permute(context, "i1", context.mask, sources)
        result = context.vector.select(element, there, result, own)
    context.define(node.result, result)


def _dynamic(context: Context, node: ir.Shuffle, element: str) -> None:
    vector, width = context.vector, context.width
    own, lane, lanes = context.lanes(node.value), context.lanes(node.lane), context.steps("i32", 1)
    match node.mode:
        case ir.ShuffleMode.INDEX:
            source = vector.op("and", "i32", lane, vector.integer("i32", width - 1))
        case ir.ShuffleMode.XOR:
            source = vector.op("xor", "i32", lanes, lane)
        case ir.ShuffleMode.UP:
            source = vector.op("sub", "i32", lanes, lane)
        case ir.ShuffleMode.DOWN:
            source = vector.op("add", "i32", lanes, lane)
    inside = vector.compare("ult", "i32", source, vector.integer("i32", width))
    source = vector.select("i32", inside, source, lanes)
    result = _through_memory(context, element, own, source)
    if context.mask is not None:
        bits = vector.select("i32", context.mask, vector.integer("i32", 1), vector.integer("i32", 0))
        there = vector.compare("ne", "i32", _through_memory(context, "i32", bits, source), vector.integer("i32", 0))
        result = vector.select(element, there, result, own)
    context.define(node.result, result)


def _through_memory(context: Context, element: str, data: str, source: str) -> str:
    name = lane_loops.permute(context.module, element, context.width)
    vector = context.vector
    return context.text.call_function(
        name, vector.type(element), (vector.type(element), data), (vector.type("i32"), source)
    )


def emit_vote(context: Context, node: ir.Vote) -> None:
    if context.shapes[node.predicate].kind is not Kind.VARYING:
        _uniform_vote(context, node)
        return
    predicate, active = context.lanes(node.predicate), context.mask
    match node.mode:
        case ir.VoteMode.ANY:
            context.define(node.result, context.any(context.both(active, predicate)))
        case ir.VoteMode.ALL:
            inverted = context.vector.op("xor", "i1", predicate, "splat (i1 true)")
            fails = context.any(context.both(active, inverted))
            context.define(node.result, context.scalar.op("xor", "i1", fails, "true"))
        case ir.VoteMode.BALLOT:
            context.define(node.result, _wide(context, context.bits(context.both(active, predicate))))


def _wide(context: Context, bits: str) -> str:
    return bits if context.width == 64 else context.scalar.convert("zext", f"i{context.width}", "i64", bits)


def _uniform_vote(context: Context, node: ir.Vote) -> None:
    predicate = context.lane0(node.predicate)
    if node.mode is not ir.VoteMode.BALLOT:
        context.define(node.result, predicate)
        return
    everyone = str((1 << context.width) - 1 if context.width < 64 else -1)
    active = everyone if context.mask is None else _wide(context, context.bits(context.mask))
    context.define(node.result, context.scalar.select("i64", predicate, active, "0"))
