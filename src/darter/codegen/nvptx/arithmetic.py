"""Scalar computation for NVPTX.

Conversions and mathematics are the sequences shared with the CPU; where one PTX instruction is known to round alike (to
nearest even, denormals kept), it is used, with NaN put right after it.

Source: PTX ISA 8.7, "Floating Point Instructions" and "cvt" (rounding, NaN results, maximum errors).
"""

from __future__ import annotations

from darter.codegen.common import mathematics, numbers, operations
from darter.codegen.common.constants import literal
from darter.codegen.common.lanes import Lanes
from darter.codegen.common.types import register_type
from darter.codegen.nvptx import libdevice
from darter.codegen.nvptx.context import Context, nvptx_type
from darter.dtypes import BFloat16, Float16, Float32, ScalarType
from darter.ir import nodes as ir

_HALF_HAS_INSTRUCTIONS = True  # fpext and fptrunc of half: every NVPTX target has them
_LOG2_E = 1.4426950408889634


def round_narrow(context: Context, dtype: ScalarType, a: str) -> str:
    """Round an f32 register to the narrow float type that it stands for; as it is for f32 and f64."""
    lanes = context.lanes.strict()
    if dtype is BFloat16:
        return _round_bfloat16(context, lanes, a)
    if dtype is Float16:
        return numbers.round_float16(lanes, a, _HALF_HAS_INSTRUCTIONS)
    return a


def _round_bfloat16(context: Context, lanes: Lanes, a: str) -> str:
    """cvt.rn.bf16.f32 keeps denormals and rounds to nearest even; its NaN has no sign, so NaN is made by hand."""
    code = context.assembly("cvt.rn.bf16.f32 $0, $1;", "=h,f", "i16", ("float", a))
    bits = lanes.op("shl", "i32", lanes.convert("zext", "i16", "i32", code), lanes.integer("i32", 16))
    rounded = lanes.convert("bitcast", "i32", "float", bits)
    sign = lanes.op("and", "i32", lanes.convert("bitcast", "float", "i32", a), lanes.integer("i32", -(1 << 31)))
    nan = lanes.convert("bitcast", "i32", "float", lanes.op("or", "i32", sign, lanes.integer("i32", 0x7FC00000)))
    return lanes.select("float", lanes.compare("uno", "float", a, a), nan, rounded)


def cast(context: Context, source: ScalarType, target: ScalarType, a: str) -> str:
    """Return ``a`` converted by the rules of ``ir.nodes.Cast``."""
    if target is BFloat16 and source is Float32:
        return _round_bfloat16(context, context.lanes.strict(), a)
    return numbers.cast(context.lanes, source, target, a, _HALF_HAS_INSTRUCTIONS)


def emit_const(context: Context, node: ir.Const) -> None:
    dtype = node.result.dtype
    context.define(node.result, literal(node.value, dtype))
    if dtype.is_integer:
        context.constants[node.result] = int(node.value)


def emit_unary(context: Context, node: ir.Unary) -> None:
    context.define(node.result, operations.unary(context.lanes, node.op, node.result.dtype, context.read(node.operand)))


def emit_binary(context: Context, node: ir.Binary) -> None:
    constant = context.constants.get(node.rhs)
    result = operations.binary(
        context.lanes,
        node.op,
        node.result.dtype,
        context.read(node.lhs),
        context.read(node.rhs),
        constant,
        lambda dtype, a: round_narrow(context, dtype, a),
    )
    context.define(node.result, result)


def emit_compare(context: Context, node: ir.Compare) -> None:
    dtype, sides = node.lhs.dtype, (context.read(node.lhs), context.read(node.rhs))
    if dtype.is_float8:
        a, b = (numbers.widen(context.lanes, dtype, side, _HALF_HAS_INSTRUCTIONS) for side in sides)
    else:
        a, b = sides
    context.define(node.result, operations.compare(context.lanes, node.op, dtype, a, b))


def emit_select(context: Context, node: ir.Select) -> None:
    t = nvptx_type(node.result.type)
    condition, a, b = (context.read(value) for value in (node.condition, node.on_true, node.on_false))
    context.define(node.result, context.text.value(f"select i1 {condition}, {t} {a}, {t} {b}"))


def emit_cast(context: Context, node: ir.Cast) -> None:
    context.define(node.result, cast(context, node.operand.dtype, node.result.dtype, context.read(node.operand)))


def emit_bitcast(context: Context, node: ir.Bitcast) -> None:
    bits = numbers.reinterpret(
        context.lanes, node.operand.dtype, node.result.dtype, context.read(node.operand), _HALF_HAS_INSTRUCTIONS
    )
    context.define(node.result, bits)


def emit_fma(context: Context, node: ir.Fma) -> None:
    a, b, c = (context.read(value) for value in (node.a, node.b, node.c))
    context.define(node.result, context.lanes.strict().fma(register_type(node.result.type), a, b, c))


def emit_math(context: Context, node: ir.Math) -> None:
    operands = [context.read(operand) for operand in node.operands]
    element, fast = register_type(node.result.type), context.kernel.options.fast_math
    result = _instruction(context, node.op, operands[0], fast) if element == "float" else None
    if result is None and node.op in ir.LIBRARY_MATH:
        result = libdevice.emit(context, node.op, element, operands)
    context.define(node.result, result or mathematics.emit(context.lanes, node.op, element, operands, fast))


def _instruction(context: Context, op: ir.MathOp, a: str, fast: bool) -> str | None:
    """Return an f32 function by the special function unit, where it is good to 2 ulp (or ``fast`` asks for less)."""
    lanes = context.lanes.strict()
    match op:
        case ir.MathOp.EXP2:
            return _approximate(context, "ex2", a)
        case ir.MathOp.EXP if fast:
            return _approximate(context, "ex2", lanes.op("fmul", "float", a, lanes.real("float", _LOG2_E)))
        case ir.MathOp.EXP:
            return _exp(context, a)
        case ir.MathOp.RSQRT:
            return _approximate(context, "rsqrt", a)
        case ir.MathOp.TANH if fast:
            return _approximate(context, "tanh", a)
        case ir.MathOp.LOG2 if fast:
            return _approximate(context, "lg2", a)
        case ir.MathOp.SIN | ir.MathOp.COS if fast:
            return _approximate(context, op.value, a)
        case _:
            return None


def _approximate(context: Context, name: str, a: str) -> str:
    return context.assembly(f"{name}.approx.f32 $0, $1;", "=f,f", "float", ("float", a))


def _exp(context: Context, a: str) -> str:
    """exp(a) = 2^n · 2^r with n = rint(a·log2 e): the product is split so that 2^r sees an exact remainder; ≤ 2 ulp."""
    lanes = context.lanes.strict()
    # Beyond these the result is 0 or infinity and the remainder stays finite; NaN passes through both.
    clamped = lanes.call("llvm.minimum", "float", a, lanes.real("float", 150.0))
    clamped = lanes.call("llvm.maximum", "float", clamped, lanes.real("float", -150.0))
    n = lanes.call("llvm.rint", "float", lanes.op("fmul", "float", clamped, lanes.real("float", _LOG2_E)))
    r = lanes.fma("float", clamped, lanes.real("float", 1.4426950216293335), lanes.negate("float", n))
    r = lanes.fma("float", clamped, lanes.real("float", 1.9259629911266175e-08), r)
    half = lanes.op("fmul", "float", n, lanes.real("float", 0.5))
    low = lanes.call("llvm.floor", "float", half)
    high = lanes.op("fsub", "float", n, low)
    # Two factors, since 2^n alone leaves the range before the result does; both are exact powers of two.
    scaled = lanes.op("fmul", "float", _approximate(context, "ex2", r), _approximate(context, "ex2", low))
    return lanes.op("fmul", "float", scaled, _approximate(context, "ex2", high))
