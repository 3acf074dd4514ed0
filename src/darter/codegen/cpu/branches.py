"""``If`` inside one warp: a branch where the condition is uniform, masks where it is not.

A guard of the form ``affine < uniform`` is written twice while no mask is on: once for whole warps, without a mask,
and once for the rest.
"""

from __future__ import annotations

from collections.abc import Sequence

from darter.codegen.common.types import register_type
from darter.codegen.cpu.blocks import VERSION_LIMIT, define_all, merge, size, yields_of
from darter.codegen.cpu.context import Context
from darter.codegen.cpu.shapes import Shape
from darter.ir import nodes as ir


def emit_if(context: Context, node: ir.If) -> None:
    if context.shapes[node.condition].uniform:
        _uniform_if(context, node)
        return
    full = context.all_true(node.condition)
    if full is not None and context.mask is None and not context.versioned and size(node.then) <= VERSION_LIMIT:
        _versioned_if(context, node, full)
    else:
        define_all(context, node.results, _masked_if(context, node))


def _uniform_if(context: Context, node: ir.If) -> None:
    text, shapes = context.text, [context.shapes[result] for result in node.results]
    then, orelse, done = text.fresh_label("then"), text.fresh_label("else"), text.fresh_label("endif")
    text.branch(context.lane0(node.condition), then, orelse)
    text.begin(then)
    first = yields_of(context, node.then, shapes), text.label
    text.jump(done)
    text.begin(orelse)
    second = yields_of(context, node.orelse, shapes), text.label
    text.jump(done)
    text.begin(done)
    merge(context, node.results, first, second)


def _versioned_if(context: Context, node: ir.If, full: str) -> None:
    """Branch on ``full``: the whole warp takes the block without a mask, or lanes are masked."""
    text, shapes = context.text, [context.shapes[result] for result in node.results]
    whole, partial, done = text.fresh_label("whole"), text.fresh_label("partial"), text.fresh_label("endif")
    text.branch(full, whole, partial)
    text.begin(whole)
    first = yields_of(context, node.then, shapes), text.label
    text.jump(done)
    text.begin(partial)
    context.versioned = True
    second = _masked_if(context, node), text.label
    context.versioned = False
    text.jump(done)
    text.begin(done)
    merge(context, node.results, first, second)


def _masked_if(context: Context, node: ir.If) -> list[str]:
    """Emit both blocks under their masks, each jumped over where it is off everywhere; return the blended results."""
    condition, outer = context.lanes(node.condition), context.mask
    shapes = [context.shapes[result] for result in node.results]
    on_true = _masked_block(context, node.then, context.both(outer, condition), shapes, node.results)
    on_false: list[str] = []
    if node.orelse.nodes:
        inverted = context.vector.op("xor", "i1", condition, "splat (i1 true)")
        on_false = _masked_block(context, node.orelse, context.both(outer, inverted), shapes, node.results)
    else:
        on_false = [context.as_shape(v, shape) for v, shape in zip(node.orelse.yields, shapes, strict=True)]
    blended = []
    for position, (result, shape) in enumerate(zip(node.results, shapes, strict=True)):
        value = node.then.yields[position]
        if value is node.orelse.yields[position]:
            # Made before the branches: what one of them leaves means nothing where no lane went there.
            blended.append(context.as_shape(value, shape))
        else:
            a, b = on_true[position], on_false[position]
            blended.append(context.vector.select(register_type(result.type), condition, a, b))
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
    yields, end = yields_of(context, block, shapes), text.label
    context.mask = outer
    text.jump(after)
    text.begin(after)
    merged = []
    for value, shape, result in zip(yields, shapes, results, strict=True):
        t = context.type_as(result, shape)
        merged.append(text.phi(t, (value, end), ("poison", before)))
    return merged
