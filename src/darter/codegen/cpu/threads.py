"""The positions of threads and blocks."""

from __future__ import annotations

from darter.codegen.common.lanes import Lanes
from darter.codegen.cpu.context import Context
from darter.codegen.cpu.shapes import Kind
from darter.ir import nodes as ir


def emit_read_index(context: Context, node: ir.ReadIndex) -> None:
    match node.index:
        case ir.Index.BLOCK_IDX:
            context.define(node.result, context.block_index[node.axis])
        case ir.Index.GRID_DIM:
            context.define(node.result, context.grid[node.axis])
        case ir.Index.LANE_ID:
            context.define(node.result, "0")
        case ir.Index.WARP_ID:
            context.define(node.result, _narrow(context, context.warp))
        case ir.Index.THREAD_IDX:
            context.define(node.result, _thread_index(context, node))


def _narrow(context: Context, text: str) -> str:
    return text if text == "0" else context.text.value(f"trunc i64 {text} to i32")


def _thread_index(context: Context, node: ir.ReadIndex) -> str:
    """Return ``thread_idx`` of an axis: the linear number, divided by what runs inside, modulo the axis."""
    kernel, axis = context.kernel, node.axis
    if kernel.block[axis] == 1:
        return "0"
    first = context.scalar.op("mul", "i32", _narrow(context, context.warp), str(context.width))
    if context.shapes[node.result].kind is not Kind.VARYING:
        return _along(context.scalar, kernel, axis, first)
    linear = context.vector.op("add", "i32", context.splat("i32", first), context.steps("i32", 1))
    return _along(context.vector, kernel, axis, linear)


def _along(lanes: Lanes, kernel: ir.Kernel, axis: int, linear: str) -> str:
    inner = (1, kernel.block[0], kernel.block[0] * kernel.block[1])[axis]
    text = linear if inner == 1 else lanes.op("udiv", "i32", linear, lanes.integer("i32", inner))
    if inner * kernel.block[axis] >= kernel.threads:
        return text
    return lanes.op("urem", "i32", text, lanes.integer("i32", kernel.block[axis]))
