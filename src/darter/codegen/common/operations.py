"""Unary, binary and comparison nodes as instructions over lanes, the same for every target.

``round`` takes (dtype, f32 register) and rounds to the narrow float type that the register stands for.
"""

from __future__ import annotations

from collections.abc import Callable

from darter.codegen.common import integers, mathematics
from darter.codegen.common.lanes import Lanes
from darter.codegen.common.types import register_type
from darter.dtypes import Bool, ScalarType
from darter.ir import nodes as ir

Round = Callable[[ScalarType, str], str]

_INTEGER_OPCODES = {
    ir.BinaryOp.ADD: "add",
    ir.BinaryOp.SUB: "sub",
    ir.BinaryOp.MUL: "mul",
    ir.BinaryOp.AND: "and",
    ir.BinaryOp.OR: "or",
    ir.BinaryOp.XOR: "xor",
}
_FLOAT_OPCODES = {
    ir.BinaryOp.ADD: "fadd",
    ir.BinaryOp.SUB: "fsub",
    ir.BinaryOp.MUL: "fmul",
    ir.BinaryOp.DIV: "fdiv",
}


def unary(lanes: Lanes, op: ir.UnaryOp, dtype: ScalarType, a: str) -> str:
    """Return ``op`` of ``a``."""
    element = register_type(dtype)
    match op:
        case ir.UnaryOp.POPCOUNT:
            return lanes.call("llvm.ctpop", element, a)
        case ir.UnaryOp.CLZ:
            return lanes.zeros("llvm.ctlz", element, a)
        case ir.UnaryOp.CTZ:
            return lanes.zeros("llvm.cttz", element, a)
        case ir.UnaryOp.NEG if dtype.is_float:
            return lanes.negate(element, a)
        case ir.UnaryOp.NEG:
            return lanes.op("sub", element, lanes.integer(element, 0), a)
        case ir.UnaryOp.NOT:
            return lanes.op("xor", element, a, lanes.constant(element, "true" if dtype is Bool else "-1"))
        case ir.UnaryOp.ABS if dtype.is_float:
            return lanes.call("llvm.fabs", element, a)
        case ir.UnaryOp.ABS if dtype.is_signed:
            negative = lanes.compare("slt", element, a, lanes.integer(element, 0))
            return lanes.select(element, negative, lanes.op("sub", element, lanes.integer(element, 0), a), a)
        case _:
            return a


def binary(lanes: Lanes, op: ir.BinaryOp, dtype: ScalarType, a: str, b: str, constant: int | None, round: Round) -> str:
    """Return ``a op b`` of ``dtype``; ``constant`` is ``b`` where it is a known integer."""
    if dtype.is_float:
        return round(dtype, _float_binary(lanes, op, register_type(dtype), a, b))
    return _integer_binary(lanes, op, dtype, a, b, constant)


def compare(lanes: Lanes, op: ir.CompareOp, dtype: ScalarType, a: str, b: str) -> str:
    """Return the Bool ``a op b``; ``a`` and ``b`` are of ``dtype`` (float8 widened to f32 before)."""
    element, name = register_type(dtype), op.value
    if dtype.is_float:
        return lanes.compare("une" if name == "ne" else "o" + name, "float" if dtype.is_float8 else element, a, b)
    if name in ("eq", "ne"):
        return lanes.compare(name, element, a, b)
    return lanes.compare(("s" if dtype.is_signed else "u") + name, element, a, b)


def _float_binary(lanes: Lanes, op: ir.BinaryOp, element: str, a: str, b: str) -> str:
    match op:
        case ir.BinaryOp.MIN:
            return lanes.call("llvm.minimum", element, a, b)
        case ir.BinaryOp.MAX:
            return lanes.call("llvm.maximum", element, a, b)
        case ir.BinaryOp.FLOORDIV:
            return mathematics.floor_divide(lanes, element, a, b)
        case ir.BinaryOp.MOD:
            return mathematics.floor_modulo(lanes, element, a, b)
        case _:
            return lanes.op(_FLOAT_OPCODES[op], element, a, b)


def _integer_binary(lanes: Lanes, op: ir.BinaryOp, dtype: ScalarType, a: str, b: str, constant: int | None) -> str:
    element = register_type(dtype)
    opcode = _INTEGER_OPCODES.get(op)
    if opcode is not None:
        return lanes.op(opcode, element, a, b)
    match op:
        case ir.BinaryOp.MIN | ir.BinaryOp.MAX:
            return lanes.call(("llvm.s" if dtype.is_signed else "llvm.u") + op.value, element, a, b)
        case ir.BinaryOp.SHL:
            return lanes.op("shl", element, a, integers.shift_amount(lanes, element, b, constant))
        case ir.BinaryOp.SHR:
            opcode = "ashr" if dtype.is_signed else "lshr"
            return lanes.op(opcode, element, a, integers.shift_amount(lanes, element, b, constant))
        case ir.BinaryOp.FLOORDIV:
            return integers.floor_divide(lanes, element, dtype.is_signed, a, b, constant)
        case _:
            return integers.floor_modulo(lanes, element, dtype.is_signed, a, b, constant)
