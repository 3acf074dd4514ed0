"""Operators: types, promotion and weak Python numbers.

Promotion: of one kind, the wider type; an integer with a float, the float; bf16 with f16, f32; integers of different
sign, and float8 with anything, are refused.  A Python number takes the type of the value it meets; a Python float that
meets an integer makes Float32.
"""

from __future__ import annotations

import ast
import enum
import math
import operator
from collections.abc import Callable
from typing import Any

from darter.dtypes import ALL, BFloat16, Bool, Float16, Float32, Float64, Int32, Int64, Kind, ScalarType
from darter.errors import CompileError, DarterError, KernelTypeError, KernelValueError, StaticEvaluationError
from darter.frontend.tracer import Tracer
from darter.frontend.values import DeviceValue, PointerValue, is_runtime, kind_of
from darter.ir.nodes import (
    Binary,
    BinaryOp,
    Cast,
    Compare,
    CompareOp,
    Math,
    MathOp,
    Offset,
    Unary,
    UnaryOp,
    Value,
)

Number = (int, float)
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
COMPARE: dict[type[ast.cmpop], tuple[str, Native]] = {
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
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
_COMPARES = {
    "==": CompareOp.EQ,
    "!=": CompareOp.NE,
    "<": CompareOp.LT,
    "<=": CompareOp.LE,
    ">": CompareOp.GT,
    ">=": CompareOp.GE,
}

# Operators of these types run no code of the user's.
_PURE = (
    int,
    float,
    complex,
    str,
    bytes,
    tuple,
    list,
    dict,
    frozenset,
    range,
    type(None),
    type,
    enum.Enum,
    slice,
    type(...),
)


def is_number(value: Any) -> bool:
    """True for Python numbers (bool too) and device values."""
    return isinstance(value, (DeviceValue, int, float))


def numpy_scalar(value: Any) -> ScalarType | None:
    """Return the scalar type of a static numpy scalar, or None."""
    dtype = getattr(value, "dtype", None)
    if dtype is None or type(value).__module__ not in ("numpy", "ml_dtypes"):
        return None
    return next((scalar for scalar in ALL if scalar.numpy_name == dtype.name), None)


def strong(t: Tracer, value: Any) -> Any:
    """Return a static numpy scalar as a constant of its type, everything else as it is."""
    dtype = None if isinstance(value, (DeviceValue, int, float)) else numpy_scalar(value)
    if dtype is None:
        return value
    return DeviceValue(t.const(dtype, value.item() if dtype.bits > 8 or not dtype.is_float else float(value)))


# -- types ------------------------------------------------------------------------------------------------------------


def promote(t: Tracer, a: ScalarType, b: ScalarType, symbol: str) -> ScalarType:
    """Return the type in which two values of different types meet."""
    if a is b:
        return a
    if a.is_float8 or b.is_float8:
        t.fail(
            KernelTypeError,
            f"operator {symbol} on {a.name} and {b.name}: float8 values must be cast first",
            advice="cast it: dt.Float32(v)",
        )
    if a.kind is b.kind:
        if {a, b} == {Float16, BFloat16}:
            return Float32
        return a if a.bits > b.bits else b
    for one, other in ((a, b), (b, a)):
        if one.kind is Kind.FLOAT or other is Bool:
            return one
    raise t.error(
        KernelTypeError,
        f"operator {symbol} mixes signed and unsigned integers",
        found=f"{a.name} and {b.name}",
        accepted="integers of one signedness",
        advice=f"cast one of them, for example dt.{a.__name__}(v)",
    )


def adopted_type(t: Tracer, number: bool | int | float, dtype: ScalarType, symbol: str) -> ScalarType:
    """Return the type in which a Python number meets a value of ``dtype``."""
    if dtype.is_float8:
        t.fail(
            KernelTypeError,
            f"operator {symbol} on {dtype.name}: float8 values must be cast first",
            advice="dt.Float32(v)",
        )
    if isinstance(number, bool):
        return dtype
    if isinstance(number, int):
        return Int32 if dtype is Bool else dtype
    return dtype if dtype.is_float else Float32


def static_value(t: Tracer, number: bool | int | float, dtype: ScalarType) -> Value:
    """Return a Python number as a constant of ``dtype``; one that does not fit is refused."""
    if dtype is Bool:
        if not isinstance(number, bool):
            t.fail(
                KernelTypeError,
                "a Bool is wanted",
                found=kind_of(number),
                advice="write True or False, or compare: v != 0",
            )
        return t.const(Bool, number)
    if dtype.is_float:
        try:
            return t.const(dtype, float(number))
        except OverflowError:
            t.fail(KernelValueError, f"the integer does not fit {dtype.name}", found=kind_of(number))
    if isinstance(number, float):
        t.fail(
            KernelTypeError,
            f"a Python float does not become {dtype.name} by itself",
            found=kind_of(number),
            advice=f"cast it: dt.{dtype.__name__}({number!r})",
        )
    number = int(number)
    if not dtype.min <= number <= dtype.max:
        t.fail(
            KernelValueError,
            f"the Python int {number} does not fit {dtype.name}",
            found=str(number),
            accepted=f"{dtype.min} … {dtype.max}",
            advice="cast the other operand to a wider type",
        )
    return t.const(dtype, number)


def default_type(number: bool | int | float) -> ScalarType:
    """Return the type that a Python number takes when nothing else gives it one."""
    return Bool if isinstance(number, bool) else Int64 if isinstance(number, int) else Float32


def runtime(t: Tracer, number: Any) -> DeviceValue:
    """Return a number as a device value, a Python number in its default type."""
    if isinstance(number, DeviceValue):
        return number
    dtype = default_type(number)
    return DeviceValue(static_value(t, number, dtype), multiple=divisor_of(number))


def as_value(t: Tracer, number: Any, dtype: ScalarType) -> Value:
    """Return a number as an IR value of ``dtype``, converted as operands are."""
    if isinstance(number, DeviceValue):
        if number.weak and number.value.type is not dtype:
            t.adoptions += 1
        return t.cast(number.value, dtype)
    return static_value(t, number, dtype)


def common_type(t: Tracer, a: Any, b: Any, symbol: str) -> ScalarType:
    """Return the type in which two numbers, at least one of them a device value, meet."""
    if isinstance(a, DeviceValue) and isinstance(b, DeviceValue):
        if a.weak != b.weak:
            t.adoptions += 1
            weak, other = (a, b) if a.weak else (b, a)
            return adopted_type(t, 0.0 if weak.dtype.is_float else 0, other.dtype, symbol)
        return promote(t, a.dtype, b.dtype, symbol)
    device, number = (a, b) if isinstance(a, DeviceValue) else (b, a)
    if device.weak:
        return promote(t, device.dtype, Int64 if isinstance(number, bool) else default_type(number), symbol)
    return adopted_type(t, number, device.dtype, symbol)


def is_weak(a: Any, b: Any) -> bool:
    """True if the result of an operation on ``a`` and ``b`` is weak again."""
    return not (isinstance(a, DeviceValue) and not a.weak) and not (isinstance(b, DeviceValue) and not b.weak)


def divisor_of(number: Any) -> int:
    """Return an integer that is known to divide ``number`` (0 for zero itself)."""
    if isinstance(number, DeviceValue):
        return number.multiple
    return abs(number) if isinstance(number, int) else 1


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
    if dtype.is_float8:
        t.fail(
            KernelTypeError,
            f"operator {symbol} on {dtype.name}: float8 values must be cast first",
            advice="dt.Float32(v)",
        )
    same = _identity(symbol, a, b, dtype)
    if same is not None:
        return same
    result = Value(dtype)
    left, right = as_value(t, a, dtype), as_value(t, b, dtype)
    t.emit(Binary(result, _ARITHMETIC[symbol], left, right))
    multiple = _multiple(symbol, a, b) if dtype.is_integer else 1
    return DeviceValue(result, is_weak(a, b), multiple)


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
    if not dtype.is_float:
        weak = is_weak(a, b)
        dtype = Float64 if dtype.bits == 64 and not weak else Float32
    result = Value(dtype)
    t.emit(Binary(result, BinaryOp.DIV, as_value(t, a, dtype), as_value(t, b, dtype)))
    return DeviceValue(result, is_weak(a, b))


def _bitwise(t: Tracer, symbol: str, a: Any, b: Any) -> DeviceValue:
    dtype = common_type(t, a, b, symbol)
    if dtype.is_float:
        t.fail(KernelTypeError, f"operator {symbol} takes integers and Bool", found=f"{kind_of(a)} and {kind_of(b)}")
    result = Value(dtype)
    t.emit(Binary(result, _BITWISE[symbol], as_value(t, a, dtype), as_value(t, b, dtype)))
    multiple = math.gcd(divisor_of(a), divisor_of(b)) if symbol != "&" or dtype is Bool else 1
    # A power of two that divides both divides what bitwise operators make of them.
    return DeviceValue(result, is_weak(a, b), multiple & -multiple or 1)


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
    return DeviceValue(result, is_weak(a, b), multiple)


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
    wide = dtype if dtype.bits >= 32 else Float32
    result = Value(wide)
    t.emit(Math(result, op, tuple(as_value(t, operand, wide) for operand in operands)))
    return DeviceValue(t.cast(result, dtype))


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
    offset = unary(t, "-", b) if symbol == "-" else b
    value = as_value(
        t, offset, offset.dtype if isinstance(offset, DeviceValue) and offset.dtype in (Int32, Int64) else Int64
    )
    result = Value(a.value.type, a.value.hint)
    t.emit(Offset(result, a.value, value))
    moved = divisor_of(offset) * a.element.size_bytes
    return PointerValue(result, math.gcd(a.align_bytes, moved), a.parameter)


def _is_integer(value: Any) -> bool:
    if isinstance(value, DeviceValue):
        return value.dtype.is_integer
    return isinstance(value, int) and not isinstance(value, bool)


# -- static -----------------------------------------------------------------------------------------------------------


def static_binary(t: Tracer, symbol: str, native: Native, a: Any, b: Any) -> Any:
    """Return an operator's value on Python objects; only those run whose operators are not the user's code."""
    for operand in (a, b):
        if not isinstance(operand, _PURE) and numpy_scalar(operand) is None:
            t.fail(
                KernelTypeError,
                f"operator {symbol} does not take these operands",
                found=f"{kind_of(a)} and {kind_of(b)}",
                accepted="numbers, strings, tuples and lists",
            )
    return run_native(t, lambda: native(a, b), f"{symbol} of {kind_of(a)} and {kind_of(b)}")


def run_native(t: Tracer, thunk: Callable[[], Any], what: str) -> Any:
    """Run pure Python at compile time; what it raises becomes an error at the line."""
    try:
        return thunk()
    except DarterError as error:
        if not isinstance(error, CompileError) or "\n" in str(error):
            raise
        raise t.error(type(error), str(error)) from error
    except Exception as error:
        raise t.error(
            StaticEvaluationError, f"{what} raised {type(error).__name__} at compile time: {error}"
        ) from error


# -- comparisons, unary, casts ----------------------------------------------------------------------------------------


def compare(t: Tracer, symbol: str, native: Native, a: Any, b: Any) -> Any:
    """Return ``a symbol b``: a Python bool, or a Bool value."""
    if not isinstance(a, DeviceValue) and not isinstance(b, DeviceValue):
        if is_runtime(a) or is_runtime(b):
            t.fail(
                KernelTypeError,
                f"operator {symbol} does not compare these",
                found=f"{kind_of(a)} and {kind_of(b)}",
                accepted="numbers",
            )
        if symbol in ("==", "!=") and _compares_identity(a) and _compares_identity(b):
            return (a is b) == (symbol == "==")
        return static_compare(t, symbol, native, a, b)
    a, b = strong(t, a), strong(t, b)
    if not (is_number(a) and is_number(b)):
        if (a is None or b is None) and symbol in ("==", "!="):
            return symbol == "!="
        t.fail(KernelTypeError, f"operator {symbol} does not compare these", found=f"{kind_of(a)} and {kind_of(b)}")
    dtype = common_type(t, a, b, symbol)
    result = Value(Bool)
    t.emit(Compare(result, _COMPARES[symbol], as_value(t, a, dtype), as_value(t, b, dtype)))
    return DeviceValue(result)


def _compares_identity(value: Any) -> bool:
    equality: Any = type(value).__eq__
    return equality is object.__eq__


def static_compare(t: Tracer, symbol: str, native: Native, a: Any, b: Any) -> Any:
    """Compare Python objects whose comparison is not the user's code; frozen dataclasses compare by their fields."""
    for operand in (a, b):
        generated = hasattr(type(operand), "__dataclass_params__")
        if not isinstance(operand, _PURE) and not generated and numpy_scalar(operand) is None:
            if symbol in ("==", "!=") and _compares_identity(operand):
                continue
            t.fail(
                KernelTypeError,
                f"operator {symbol} would run code of class {type(operand).__name__}",
                found=f"{kind_of(a)} and {kind_of(b)}",
                accepted="numbers, strings, tuples, types, enum members",
            )
    return run_native(t, lambda: native(a, b), f"{symbol} of {kind_of(a)} and {kind_of(b)}")


def unary(t: Tracer, symbol: str, value: Any) -> Any:
    """Return ``-v``, ``+v`` or ``~v``."""
    value = strong(t, value)
    if not isinstance(value, DeviceValue):
        native: Any = {"-": operator.neg, "+": operator.pos, "~": operator.invert}[symbol]
        if not isinstance(value, (int, float, complex)):
            t.fail(KernelTypeError, f"operator {symbol} takes a number", found=kind_of(value))
        return run_native(t, lambda: native(value), f"{symbol} of {kind_of(value)}")
    dtype = value.dtype
    if dtype.is_float8:
        t.fail(
            KernelTypeError,
            f"operator {symbol} on {dtype.name}: float8 values must be cast first",
            advice="dt.Float32(v)",
        )
    if symbol == "+":
        return value
    if symbol == "~" and dtype.is_float:
        t.fail(KernelTypeError, "operator ~ takes integers and Bool", found=kind_of(value))
    if symbol == "-" and dtype is Bool:
        dtype = Int32
    operand = t.cast(value.value, dtype)
    result = Value(dtype)
    t.emit(Unary(result, UnaryOp.NEG if symbol == "-" else UnaryOp.NOT, operand))
    return DeviceValue(result, value.weak, value.multiple if symbol == "-" else 1)


def truth(t: Tracer, value: Any) -> bool | Value:
    """Return the truth of a value: a Python bool, or a Bool value (a number is true unless zero)."""
    value = strong(t, value)
    if isinstance(value, DeviceValue):
        if value.dtype is Bool:
            return value.value
        return t.cast(value.value, Bool)
    if isinstance(value, (int, float, complex, str, bytes, tuple, list, dict, frozenset, range, type(None), enum.Enum)):
        return bool(value)
    if is_runtime(value):
        t.fail(KernelTypeError, "this has no truth value", found=kind_of(value), accepted="Bool values and numbers")
    if hasattr(type(value), "__bool__") or hasattr(type(value), "__len__"):
        t.fail(KernelTypeError, f"the truth of a {type(value).__name__} would run its class's code", accepted="numbers")
    return True


def negate(t: Tracer, condition: Value) -> Value:
    """Return ``not condition``."""
    result = Value(Bool)
    t.emit(Unary(result, UnaryOp.NOT, condition))
    return result


def convert(t: Tracer, value: Any, dtype: ScalarType) -> DeviceValue:
    """Return ``dtype(value)``: an explicit cast."""
    value = strong(t, value)
    if isinstance(value, DeviceValue):
        if value.dtype is dtype and not value.weak:
            return value
        if value.weak and value.dtype is not dtype:
            t.adoptions += 1
        result = Value(dtype, value.value.hint)
        t.emit(Cast(result, value.value))
        keeps = dtype.is_integer and value.dtype.is_integer
        return DeviceValue(result, multiple=_power_of_two(value.multiple) if keeps else 1)
    if not isinstance(value, (int, float)):
        t.fail(KernelTypeError, f"dt.{dtype.__name__}(...) casts a number", found=kind_of(value))
    return DeviceValue(t.const(dtype, static_cast(value, dtype)), multiple=divisor_of(value))


def _power_of_two(multiple: int) -> int:
    """Return the power of two in ``multiple``: what survives wrapping to another width."""
    return multiple & -multiple or (1 << 16 if multiple == 0 else 1)


def static_cast(value: int | float, dtype: ScalarType) -> bool | int | float:
    """Return a Python number as casts convert it: integers wrap, floats truncate and saturate, NaN becomes 0."""
    if dtype is Bool:
        return value != 0
    if dtype.is_float:
        return float(value)
    if isinstance(value, float):
        if math.isnan(value):
            return 0
        if math.isinf(value):
            return dtype.max if value > 0 else dtype.min
        return max(dtype.min, min(dtype.max, int(value)))
    wrapped = int(value) & ((1 << dtype.bits) - 1)
    return wrapped - (1 << dtype.bits) if wrapped > dtype.max else wrapped
