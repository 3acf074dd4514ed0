"""Comparisons; those of a lane's position with a bound have a cheaper form, and a cheaper test of all lanes at once."""

from __future__ import annotations

from darter.codegen.common import numbers, operations
from darter.codegen.common.lanes import Lanes
from darter.codegen.common.types import register_type
from darter.codegen.cpu.context import Context
from darter.codegen.cpu.shapes import Kind
from darter.ir import nodes as ir

_FLIPPED = {
    ir.CompareOp.LT: ir.CompareOp.GT,
    ir.CompareOp.LE: ir.CompareOp.GE,
    ir.CompareOp.GT: ir.CompareOp.LT,
    ir.CompareOp.GE: ir.CompareOp.LE,
}


def emit_compare(context: Context, node: ir.Compare) -> None:
    bound = _against_bound(context, node)
    if bound is None:
        _compare(context, node)
        return
    position, limit, op = bound
    if op in (ir.CompareOp.LT, ir.CompareOp.GE) and context.shapes.exact(position):
        context.define(node.result, _first_lanes(context, position, limit, op is ir.CompareOp.LT))
    else:
        _compare(context, node)
    full = _full(context, position, limit, op)
    if full is not None:
        context.define(node.result, context.held[node.result].text, full)


def _compare(context: Context, node: ir.Compare) -> None:
    dtype = node.lhs.dtype

    def make(lanes: Lanes, a: str, b: str) -> str:
        if dtype.is_float8:
            a, b = (numbers.widen(lanes, dtype, side, context.has("f16c")) for side in (a, b))
        return operations.compare(lanes, node.op, dtype, a, b)

    context.compute(node.result, (node.lhs, node.rhs), make)


def _against_bound(context: Context, node: ir.Compare) -> tuple[ir.Value, ir.Value, ir.CompareOp] | None:
    """Return (affine side, uniform side, operator with the affine side first) of such a comparison that varies."""
    lhs, rhs, shapes = node.lhs, node.rhs, context.shapes
    if node.op not in _FLIPPED or shapes[node.result].kind is not Kind.VARYING:
        return None
    if shapes[lhs].kind is Kind.AFFINE and shapes[rhs].uniform:
        return lhs, rhs, node.op
    if shapes[rhs].kind is Kind.AFFINE and shapes[lhs].uniform:
        return rhs, lhs, _FLIPPED[node.op]
    return None


def _first_lanes(context: Context, position: ir.Value, limit: ir.Value, below: bool) -> str:
    """Return ``position < limit`` (or its opposite), by the distance of lane 0; no active lane has wrapped."""
    scalar, element, stride = context.scalar, register_type(position.type), context.shapes[position].stride
    first, bound, sign = context.lane0(position), context.lane0(limit), "s" if position.dtype.is_signed else "u"
    if not 0 < stride < 1 << 12:
        op = "lt" if below else "ge"
        return context.vector.compare(sign + op, element, context.lanes(position), context.splat(element, bound))
    inside = scalar.compare(f"{sign}lt", element, first, bound)
    room = scalar.select(element, inside, scalar.op("sub", element, bound, first), "0")
    lanes = context.first_lanes(element, room, stride)
    return lanes if below else context.vector.op("xor", "i1", lanes, "splat (i1 true)")


def _full(context: Context, position: ir.Value, limit: ir.Value, op: ir.CompareOp) -> str | None:
    """Return a scalar that implies that every lane compares true: the farthest does, and none wrapped."""
    dtype, element, scalar = position.dtype, register_type(position.type), context.scalar
    reach = context.shapes[position].stride * (context.width - 1)
    if abs(reach) > dtype.max // 4 or (reach < 0 and not dtype.is_signed):
        return None
    first, bound, sign = context.lane0(position), context.lane0(limit), "s" if dtype.is_signed else "u"
    last = scalar.op("add", element, first, str(reach))
    farthest = last if (op in (ir.CompareOp.LT, ir.CompareOp.LE)) == (reach >= 0) else first
    holds = scalar.compare(sign + op.value, element, farthest, bound)
    if context.shapes.exact(position):
        return holds
    straight = scalar.compare(f"{sign}ge" if reach >= 0 else f"{sign}le", element, last, first)
    return scalar.op("and", "i1", straight, holds)
