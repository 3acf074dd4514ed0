"""Scalar computation: unary, binary, comparison, select, casts, fused multiply-add and mathematics."""

from __future__ import annotations

from darter.codegen.common import mathematics, numbers, operations
from darter.codegen.common.constants import literal
from darter.codegen.common.lanes import Lanes
from darter.codegen.common.types import register_type
from darter.codegen.cpu.context import Context
from darter.codegen.cpu.shapes import Kind
from darter.dtypes import BFloat16, Bool, Float16, ScalarType
from darter.ir import nodes as ir

_INLINE_USES = 4
"""Uses of a function in a kernel up to which it is written at each: with 32, compiling took 152 ms, with calls 79."""


def emit_const(context: Context, node: ir.Const) -> None:
    context.define(node.result, literal(node.value, node.result.dtype))


def emit_unary(context: Context, node: ir.Unary) -> None:
    dtype = node.result.dtype
    context.compute(node.result, (node.operand,), lambda lanes, a: operations.unary(lanes, node.op, dtype, a))


def emit_binary(context: Context, node: ir.Binary) -> None:
    dtype = node.result.dtype
    constant = context.shapes.constant(node.rhs)

    def make(lanes: Lanes, a: str, b: str) -> str:
        return operations.binary(
            lanes, node.op, dtype, a, b, constant, lambda dtype, result: _round(context, dtype, lanes, result)
        )

    context.compute(node.result, (node.lhs, node.rhs), make)
    if node.op is ir.BinaryOp.AND and dtype is Bool:
        _carry_full(context, node.result, node.lhs, node.rhs)


def _carry_full(context: Context, result: ir.Value, a: ir.Value, b: ir.Value) -> None:
    """The cheap test of ``a and b`` is that of both, a uniform side being its own."""
    held = context.held[result]
    if held.shape.kind is not Kind.VARYING:
        return
    tests = [context.lane0(side) if context.shapes[side].uniform else context.all_true(side) for side in (a, b)]
    if tests[0] is not None and tests[1] is not None:
        context.define(result, held.text, context.scalar.op("and", "i1", tests[0], tests[1]))


def _round(context: Context, dtype: ScalarType, lanes: Lanes, a: str) -> str:
    """Round an f32 result to the narrow float type that it stands for."""
    if dtype is BFloat16:
        return numbers.round_bfloat16(lanes, a)
    if dtype is Float16:
        return numbers.round_float16(lanes, a, context.has("f16c"))
    return a


def emit_select(context: Context, node: ir.Select) -> None:
    element = register_type(node.result.type)
    if context.shapes[node.condition].uniform:
        condition, shape = context.lane0(node.condition), context.shapes[node.result]
        t = context.type_of(node.result)
        a, b = context.as_shape(node.on_true, shape), context.as_shape(node.on_false, shape)
        context.define(node.result, context.text.value(f"select i1 {condition}, {t} {a}, {t} {b}"))
        return
    context.compute(
        node.result,
        (node.condition, node.on_true, node.on_false),
        lambda lanes, c, a, b: lanes.select(element, c, a, b),
    )


def emit_cast(context: Context, node: ir.Cast) -> None:
    source, target, f16c = node.operand.dtype, node.result.dtype, context.has("f16c")
    context.compute(node.result, (node.operand,), lambda lanes, a: numbers.cast(lanes, source, target, a, f16c))


def emit_bitcast(context: Context, node: ir.Bitcast) -> None:
    source, target = node.operand.dtype, node.result.dtype
    f16c = context.has("f16c")
    context.compute(node.result, (node.operand,), lambda lanes, a: numbers.reinterpret(lanes, source, target, a, f16c))


def emit_fma(context: Context, node: ir.Fma) -> None:
    element = register_type(node.result.type)
    context.compute(node.result, (node.a, node.b, node.c), lambda lanes, a, b, c: lanes.fma(element, a, b, c))


def emit_math(context: Context, node: ir.Math) -> None:
    element, fast = register_type(node.result.type), context.kernel.options.fast_math
    called = context.math_uses[node.op] > _INLINE_USES
    context.compute(
        node.result,
        node.operands,
        lambda lanes, *operands: mathematics.emit(lanes, node.op, element, operands, fast, called),
    )
