"""Operators of numbers and pointers: each emits its node, or runs at compile time where both operands are static."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

from darter.capture.structure import ARITHMETIC
from darter.dtypes import Bool, Float32, Float64, Int32, Int64, ScalarType
from darter.errors import KernelTypeError, KernelValueError
from darter.frontend.numbers.promotion import as_value, common_type, derived, divisor_of, is_number, is_weak, strong
from darter.frontend.numbers.static_operators import (
    run_native,
    settled,
    static_binary,
)
from darter.frontend.tracer import Tracer
from darter.frontend.values import DeviceValue, PointerValue, kind_of
from darter.frontend.walks import walked
from darter.ir.nodes import (
    LIBRARY_MATH,
    Binary,
    BinaryOp,
    Math,
    MathOp,
    Offset,
    Unary,
    UnaryOp,
    Value,
)

Native = Callable[[Any, Any], Any]

BINARY: dict[type[ast.operator], tuple[str, Native]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
    ast.Pow: ("**", operator.pow),
    ast.LShift: ("<<", operator.lshift),
    ast.RShift: (">>", operator.rshift),
    ast.BitAnd: ("&", operator.and_),
    ast.BitOr: ("|", operator.or_),
    ast.BitXor: ("^", operator.xor),
    ast.MatMult: ("@", operator.matmul),
}

_ARITHMETIC = {
    "+": BinaryOp.ADD,
    "-": BinaryOp.SUB,
    "*": BinaryOp.MUL,
    "//": BinaryOp.FLOORDIV,
    "%": BinaryOp.MOD,
}
_BITWISE = {"&": BinaryOp.AND, "|": BinaryOp.OR, "^": BinaryOp.XOR}
_SHIFTS = {"<<": BinaryOp.SHL, ">>": BinaryOp.SHR}

# Operators of these types run no code of the user's.


# -- binary -----------------------------------------------------------------------------------------------------------


def binary(t: Tracer, symbol: str, native: Native, a: Any, b: Any) -> Any:
    """Return ``a symbol b``."""
    if not isinstance(a, DeviceValue) and not isinstance(b, DeviceValue):
        if isinstance(a, PointerValue) or isinstance(b, PointerValue):
            return _pointer(t, symbol, a, b)
        return static_binary(t, symbol, native, a, b)
    if isinstance(a, PointerValue) or isinstance(b, PointerValue):
        return _pointer(t, symbol, a, b)
    a, b = strong(t, a), strong(t, b)
    if not (is_number(a) and is_number(b)):
        t.fail(
            KernelTypeError,
            f"operator {symbol} does not take these operands",
            found=f"{kind_of(a)} and {kind_of(b)}",
            accepted="numbers",
        )
    if symbol in _ARITHMETIC:
        return arithmetic(t, symbol, a, b)
    if symbol == "/":
        return _divide(t, a, b)
    if symbol in _BITWISE:
        return _bitwise(t, symbol, a, b)
    if symbol in _SHIFTS:
        return _shift(t, symbol, a, b)
    if symbol == "**":
        return power(t, a, b)
    raise t.error(KernelTypeError, f"operator {symbol} is not in the language")


def arithmetic(t: Tracer, symbol: str, a: Any, b: Any) -> DeviceValue:
    """Return a sum, difference, product, floored quotient or remainder."""
    dtype = common_type(t, a, b, symbol)
    if dtype is Bool:
        dtype = Int32
    refuse_float8(t, symbol, dtype)
    same = _identity(symbol, a, b, dtype)
    if same is not None:
        return same
    result = Value(dtype)
    left, right = as_value(t, a, dtype), as_value(t, b, dtype)
    t.emit(Binary(result, _ARITHMETIC[symbol], left, right))
    multiple = _multiple(symbol, a, b) if dtype.is_integer else 1
    return derived(DeviceValue(result, is_weak(a, b), multiple), a, b)


def refuse_float8(t: Tracer, symbol: str, dtype: ScalarType) -> None:
    if dtype.is_float8:
        t.fail(
            KernelTypeError,
            f"operator {symbol} on {dtype.name}: float8 values must be cast first",
            advice="dt.Float32(v)",
        )


def _identity(symbol: str, a: Any, b: Any, dtype: ScalarType) -> DeviceValue | None:
    """Return the operand that an integer operation leaves as it is."""
    if not dtype.is_integer:
        return None
    if isinstance(a, DeviceValue) and a.dtype is dtype and type(b) is int and b == (0 if symbol in "+-" else 1):
        return a if symbol != "%" else None
    if isinstance(b, DeviceValue) and b.dtype is dtype and type(a) is int:
        if symbol == "+" and a == 0:
            return b
        if symbol == "*" and a == 1:
            return b
    return None


def _multiple(symbol: str, a: Any, b: Any) -> int:
    x, y = divisor_of(a), divisor_of(b)
    if symbol in "+-":
        return math.gcd(x, y)
    if symbol == "*":
        return min(x * y, 1 << 20) if x * y & (x * y - 1) == 0 else x * y
    if symbol == "//" and type(b) is int and b > 0 and x % b == 0:
        return x // b
    if symbol == "%" and type(b) is int:
        return math.gcd(x, y)
    return 1


def _divide(t: Tracer, a: Any, b: Any) -> DeviceValue:
    """Return the true quotient; integers of up to 32 bits divide as Float32, 64-bit ones as Float64."""
    dtype = common_type(t, a, b, "/")
    refuse_float8(t, "/", dtype)
    if not dtype.is_float:
        weak = is_weak(a, b)
        dtype = Float64 if dtype.bits == 64 and not weak else Float32
    result = Value(dtype)
    t.emit(Binary(result, BinaryOp.DIV, as_value(t, a, dtype), as_value(t, b, dtype)))
    return derived(DeviceValue(result, is_weak(a, b)), a, b)


def _bitwise(t: Tracer, symbol: str, a: Any, b: Any) -> DeviceValue:
    dtype = common_type(t, a, b, symbol)
    if dtype.is_float:
        t.fail(KernelTypeError, f"operator {symbol} takes integers and Bool", found=f"{kind_of(a)} and {kind_of(b)}")
    result = Value(dtype)
    t.emit(Binary(result, _BITWISE[symbol], as_value(t, a, dtype), as_value(t, b, dtype)))
    multiple = math.gcd(divisor_of(a), divisor_of(b)) if symbol != "&" or dtype is Bool else 1
    # A power of two that divides both divides what bitwise operators make of them.
    return derived(DeviceValue(result, is_weak(a, b), multiple & -multiple or 1), a, b)


def _shift(t: Tracer, symbol: str, a: Any, b: Any) -> DeviceValue:
    """Return ``a`` shifted; the result has the type of ``a``, or of ``b`` where ``a`` is a Python int."""
    for operand in (a, b):
        if isinstance(operand, float) or (isinstance(operand, DeviceValue) and not operand.dtype.is_integer):
            t.fail(KernelTypeError, f"operator {symbol} takes integers", found=f"{kind_of(a)} and {kind_of(b)}")
    dtype = a.dtype if isinstance(a, DeviceValue) else b.dtype
    if isinstance(b, int) and not 0 <= b < dtype.bits:
        t.fail(KernelValueError, f"the shift amount {b} is outside 0 … {dtype.bits - 1} for {dtype.name}")
    result = Value(dtype)
    t.emit(Binary(result, _SHIFTS[symbol], as_value(t, a, dtype), as_value(t, b, dtype)))
    multiple = divisor_of(a) << b if symbol == "<<" and isinstance(b, int) and b < 16 else 1
    return derived(DeviceValue(result, is_weak(a, b), multiple), a, b)


def power(t: Tracer, a: Any, b: Any) -> Any:
    """Return ``a ** b``: repeated products for a small static integer exponent, else the function ``pow``."""
    if type(b) is int and 0 <= b <= 16 and isinstance(a, DeviceValue):
        if b == 0:
            return DeviceValue(as_value(t, 1, Int32 if a.dtype is Bool else a.dtype), a.weak)
        result, square = None, a
        while b:
            if b & 1:
                result = square if result is None else arithmetic(t, "*", result, square)
            b >>= 1
            if b:
                square = arithmetic(t, "*", square, square)
        return result
    dtype = common_type(t, a, b, "**")
    if not dtype.is_float:
        t.fail(
            KernelTypeError,
            "integers have ** only with a small static exponent",
            found=f"{kind_of(a)} ** {kind_of(b)}",
            advice="cast one of them to a float type",
        )
    return math_function(t, MathOp.POW, (a, b), "**")


def math_function(t: Tracer, op: MathOp, operands: tuple[Any, ...], name: str) -> DeviceValue:
    """Return a function of floats; f16 and bf16 compute in f32 and round once, integers become Float32."""
    if t.host:
        t.fail(
            KernelTypeError,
            f"{name} of a run-time value is not available in a launcher",
            advice="compute it in the kernel, or from static values",
        )
    dtype = operands[0].dtype if len(operands) == 1 else common_type(t, operands[0], operands[1], name)
    if dtype.is_float8:
        t.fail(KernelTypeError, f"{name} of {dtype.name}: float8 values must be cast first", advice="dt.Float32(v)")
    if dtype is Bool or not dtype.is_float:
        t.fail(
            KernelTypeError,
            f"{name} takes floats",
            found=" and ".join(map(kind_of, operands)),
            advice="cast it: dt.Float32(v)",
        )
    if op in LIBRARY_MATH and t.session.target.backend == "cuda":
        t.session.recorder.libdevice()
    wide = dtype if dtype.bits >= 32 else Float32
    result = Value(wide)
    t.emit(Math(result, op, tuple(as_value(t, operand, wide) for operand in operands)))
    return derived(DeviceValue(t.cast(result, dtype)), *operands)


def _pointer(t: Tracer, symbol: str, a: Any, b: Any) -> Any:
    if symbol == "+" and isinstance(b, PointerValue):
        a, b = b, a
    if not isinstance(a, PointerValue) or symbol not in ("+", "-") or not _is_integer(b):
        t.fail(
            KernelTypeError,
            f"operator {symbol} does not take these operands",
            found=f"{kind_of(a)} and {kind_of(b)}",
            accepted="a pointer + or - an integer number of elements",
        )
    if t.host:
        t.fail(
            KernelTypeError, "pointer arithmetic is not available in a launcher", advice="pass the offset to the kernel"
        )
    if isinstance(b, DeviceValue) and b.dtype not in (Int32, Int64):
        b = DeviceValue(t.cast(b.value, Int64), multiple=b.multiple)  # negated at its own width it could wrap
    offset = unary(t, "-", b) if symbol == "-" else b
    value = as_value(t, offset, offset.dtype if isinstance(offset, DeviceValue) else Int64)
    result = Value(a.value.type, a.value.hint)
    t.emit(Offset(result, a.value, value))
    moved = divisor_of(offset) * a.element.size_bytes
    return PointerValue(
        result, math.gcd(a.align_bytes, moved), a.parameter, walked(t, a.walk, value, a.element.size_bytes)
    )


def _is_integer(value: Any) -> bool:
    if isinstance(value, DeviceValue):
        return value.dtype.is_integer
    return isinstance(value, int) and not isinstance(value, bool)


# -- unary -------------------------------------------------------------------------------------------------------------


def unary(t: Tracer, symbol: str, value: Any) -> Any:
    """Return ``-v``, ``+v`` or ``~v``."""
    value = strong(t, value)
    if not isinstance(value, DeviceValue):
        native: Any = {"-": operator.neg, "+": operator.pos, "~": operator.invert}[symbol]
        if not isinstance(value, (int, float, complex)):
            t.fail(KernelTypeError, f"operator {symbol} takes a number", found=kind_of(value))
        settled(t, value, ARITHMETIC)
        return run_native(t, lambda: native(value), f"{symbol} of {kind_of(value)}")
    dtype = value.dtype
    refuse_float8(t, symbol, dtype)
    if symbol == "+":
        return value
    if symbol == "~" and dtype.is_float:
        t.fail(KernelTypeError, "operator ~ takes integers and Bool", found=kind_of(value))
    if symbol == "-" and dtype is Bool:
        dtype = Int32
    operand = t.cast(value.value, dtype)
    result = Value(dtype)
    t.emit(Unary(result, UnaryOp.NEG if symbol == "-" else UnaryOp.NOT, operand))
    return derived(DeviceValue(result, value.weak, value.multiple if symbol == "-" else 1), value)
