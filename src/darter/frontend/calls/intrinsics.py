"""What the intrinsics of ``darter.lang`` mean: each emits its node; memory and warps have files of their own."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

from darter.dtypes import BFloat16, Bool, Float16, Float32, Int32, ScalarType
from darter.errors import KernelTypeError
from darter.frontend.calls.intrinsic_arguments import Handler, as_number, bound_names, kernel_only
from darter.frontend.calls.memory_intrinsics import MEMORY
from darter.frontend.calls.warp_intrinsics import WARPS
from darter.frontend.numbers.casts import convert
from darter.frontend.numbers.comparisons import truth
from darter.frontend.numbers.literals import site_of
from darter.frontend.numbers.operators import arithmetic, binary, math_function
from darter.frontend.numbers.promotion import as_value, common_type, default_type, derived, is_number, strong
from darter.frontend.numbers.static_operators import run_native, static_binary
from darter.frontend.structs import in_structures
from darter.frontend.structure import join, leaf_type
from darter.frontend.tracer import Tracer
from darter.frontend.values import (
    DeviceValue,
    FormattedText,
    is_runtime,
    kind_of,
)
from darter.ir.nodes import (
    BIT_COUNTS,
    Assert,
    Binary,
    BinaryOp,
    Bitcast,
    Fma,
    MathOp,
    Print,
    Select,
    Unary,
    UnaryOp,
    Value,
)
from darter.lang import host


def cast_call(t: Tracer, dtype: ScalarType, arguments: list[Any], keywords: dict[str, Any]) -> DeviceValue:
    """``dt.Float32(v)``: a cast."""
    if keywords or len(arguments) != 1:
        t.fail(KernelTypeError, f"dt.{dtype.__name__}(v) casts one value", found=f"{len(arguments)} arguments")
    if dtype.code == 0:
        t.fail(KernelTypeError, "dt.Scalar is no type of a value", accepted="dt.Float32, dt.Int32, …")
    return convert(t, arguments[0], dtype)


# -- mathematics ------------------------------------------------------------------------------------------------------

_STATIC_MATH: dict[str, Callable[..., Any]] = {
    "exp": math.exp,
    "exp2": lambda x: 2.0**x,
    "log": math.log,
    "log2": math.log2,
    "sqrt": math.sqrt,
    "rsqrt": lambda x: 1.0 / math.sqrt(x),
    "tanh": math.tanh,
    "erf": math.erf,
    "sin": math.sin,
    "cos": math.cos,
    "pow": math.pow,
    "log10": math.log10,
    "expm1": math.expm1,
    "log1p": math.log1p,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "atan2": math.atan2,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "asinh": math.asinh,
    "acosh": math.acosh,
    "atanh": math.atanh,
    "erfc": math.erfc,
    "tgamma": math.gamma,
    "lgamma": math.lgamma,
    "cbrt": math.cbrt,
    "hypot": math.hypot,
    "fmod": math.fmod,
    "floor": lambda x: float(math.floor(x)),
    "ceil": lambda x: float(math.ceil(x)),
    "trunc": lambda x: float(math.trunc(x)),
    "rint": lambda x: float(round(x)),
}


_TWO_OPERANDS = {"pow": ("x", "y"), "atan2": ("y", "x"), "hypot": ("x", "y"), "fmod": ("x", "y")}


def _math(name: str, t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    names = _TWO_OPERANDS.get(name, ("x",))
    values = [as_number(t, value, name) for value in bound_names(t, name, arguments, keywords, *names)]
    if not any(isinstance(value, DeviceValue) for value in values):
        return run_native(t, lambda: _STATIC_MATH[name](*values), f"dt.{name}")
    return math_function(t, MathOp(name), tuple(values), f"dt.{name}")


def _fma(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    kernel_only(t, "fma")
    a, b, c = (as_number(t, value, "fma") for value in bound_names(t, "fma", arguments, keywords, "a", "b", "c"))
    dtype: Any = None
    for value in (a, b, c):
        if isinstance(value, DeviceValue):
            dtype = value.dtype if dtype is None else common_type(t, DeviceValue(Value(dtype)), value, "dt.fma")
    if dtype is None:
        return a * b + c
    if not dtype.is_float or dtype.is_float8:
        t.fail(KernelTypeError, "dt.fma takes floats", found=f"{kind_of(a)}, {kind_of(b)}, {kind_of(c)}")
    wide = Float32 if dtype in (Float16, BFloat16) else dtype
    result = Value(wide)
    t.emit(Fma(result, as_value(t, a, wide), as_value(t, b, wide), as_value(t, c, wide)))
    return DeviceValue(t.cast(result, dtype))


def absolute(t: Tracer, value: Any) -> Any:
    """``abs(v)``."""
    value = as_number(t, value, "abs")
    if not isinstance(value, DeviceValue):
        return abs(value)
    if value.dtype.is_float8:
        t.fail(KernelTypeError, f"abs of {value.dtype.name}: float8 values must be cast first", advice="dt.Float32(v)")
    if value.dtype is Bool or not value.dtype.is_signed:
        return value
    result = Value(value.dtype)
    t.emit(Unary(result, UnaryOp.ABS, value.value))
    return derived(DeviceValue(result, value.weak, value.multiple), value)


def _abs(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    return absolute(t, *bound_names(t, "abs", arguments, keywords, "x"))


def extremum(t: Tracer, name: str, values: list[Any]) -> Any:
    """``min`` or ``max`` of two or more numbers; NaN propagates."""
    result = as_number(t, values[0], name)
    for value in values[1:]:
        result = _extremum_of_two(t, name, result, as_number(t, value, name))
    return result


def _extremum_of_two(t: Tracer, name: str, a: Any, b: Any) -> Any:
    if not isinstance(a, DeviceValue) and not isinstance(b, DeviceValue):
        return (min if name == "min" else max)(a, b)
    dtype = common_type(t, a, b, f"dt.{name}")
    if dtype.is_float8:
        t.fail(KernelTypeError, f"{name} of {dtype.name}: float8 values must be cast first", advice="dt.Float32(v)")
    op = BinaryOp.MIN if name == "min" else BinaryOp.MAX
    if dtype is Bool:
        op = BinaryOp.AND if name == "min" else BinaryOp.OR
    result = Value(dtype)
    t.emit(Binary(result, op, as_value(t, a, dtype), as_value(t, b, dtype)))
    weak = all(not isinstance(v, DeviceValue) or v.weak for v in (a, b))
    return derived(DeviceValue(result, weak), a, b)


def _extremum(name: str, t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    if keywords or not arguments:
        t.fail(KernelTypeError, f"dt.{name} takes one or more numbers")
    return extremum(t, name, arguments)


def _where(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    condition, a, b = bound_names(t, "where", arguments, keywords, "condition", "a", "b")
    known = truth(t, condition)
    if not isinstance(known, Value):
        return a if known else b
    return in_structures(t, "where", lambda x, y: _where_number(t, known, x, y), a, b)


def _where_number(t: Tracer, known: Value, a: Any, b: Any) -> Any:
    a, b = as_number(t, a, "where"), as_number(t, b, "where")
    joined = join(leaf_type(a), leaf_type(b))
    if isinstance(a, DeviceValue) or isinstance(b, DeviceValue):
        dtype = common_type(t, a, b, "dt.where")
    elif joined is not None:
        dtype = default_type(a if joined.type is default_type(a) else b)
    else:
        t.fail(KernelTypeError, "dt.where takes two numbers of one kind", found=f"{kind_of(a)} and {kind_of(b)}")
    if not isinstance(a, DeviceValue) and not isinstance(b, DeviceValue):
        dtype = t.literals.known.get(site_of(t.frame, t.at, "where"), dtype)
    result = Value(dtype)
    t.emit(Select(result, known, as_value(t, a, dtype), as_value(t, b, dtype)))
    if dtype is Bool or isinstance(a, DeviceValue) or isinstance(b, DeviceValue):
        return derived(DeviceValue(result), a, b)
    chosen = DeviceValue(result, weak=True, choice=(known, a, b))
    chosen.origins = frozenset((site_of(t.frame, t.at, "where"),))
    t.literals.settle(chosen.origins, dtype)
    return chosen


def _bitcast(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    value, dtype = bound_names(t, "bitcast", arguments, keywords, "value", "dtype")
    value = as_number(t, value, "bitcast")
    if not isinstance(dtype, ScalarType):
        t.fail(KernelTypeError, "dt.bitcast takes a scalar type second", found=kind_of(dtype))
    if not isinstance(value, DeviceValue):
        t.fail(KernelTypeError, "dt.bitcast takes a value of known type", found=kind_of(value), advice="dt.Float32(v)")
    if value.dtype.bits != dtype.bits or Bool in (value.dtype, dtype):
        t.fail(KernelTypeError, "dt.bitcast keeps the width", found=f"{value.dtype.name} to {dtype.name}")
    result = Value(dtype)
    t.emit(Bitcast(result, value.value))
    return DeviceValue(result)


def _count_bits(op: UnaryOp, t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """``dt.popcount``, ``dt.clz``, ``dt.ctz``: an Int32."""
    (value,) = bound_names(t, op.value, arguments, keywords, "v")
    value = as_number(t, value, op.value)
    if type(value) is int and value >= 0 and op is UnaryOp.POPCOUNT:
        return value.bit_count()
    kernel_only(t, op.value)
    if not isinstance(value, DeviceValue) or not value.dtype.is_integer:
        t.fail(
            KernelTypeError,
            f"dt.{op.value} counts bits of an integer of known width",
            found=kind_of(value),
            advice="cast it: dt.UInt32(v)",
        )
    result = Value(value.dtype)
    t.emit(Unary(result, op, value.value))
    return DeviceValue(t.cast(result, Int32))


# -- host and device --------------------------------------------------------------------------------------------------


def _cdiv(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    a, b = (strong(t, v) for v in bound_names(t, "cdiv", arguments, keywords, "a", "b"))
    for value in (a, b):
        if (
            isinstance(value, float)
            or not is_number(value)
            or (isinstance(value, DeviceValue) and not value.dtype.is_integer)
        ):
            t.fail(KernelTypeError, "dt.cdiv takes integers", found=f"{kind_of(a)} and {kind_of(b)}")
    if not isinstance(a, DeviceValue) and not isinstance(b, DeviceValue):
        return static_binary(t, "//", lambda x, y: (x + y - 1) // y, a, b)
    total = arithmetic(t, "+", a, b - 1) if isinstance(b, int) else arithmetic(t, "-", arithmetic(t, "+", a, b), 1)
    return binary(t, "//", operator.floordiv, total, b)


def _static_range(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    start, stop, step = bound_names(t, "static_range", arguments, keywords, "start", "stop=", "step=")
    if any(map(is_runtime, (start, stop, step))):
        t.fail(
            KernelTypeError,
            "dt.static_range takes numbers known at compile time",
            found=", ".join(map(kind_of, arguments)),
            advice="use range for a run-time loop",
        )
    return run_native(t, lambda: host.static_range(start, stop, 1 if step is None else step), "dt.static_range")


def _text(t: Tracer, values: list[Any]) -> tuple[tuple[str, ...], tuple[DeviceValue, ...]]:
    """Return the pieces and operands of values printed one after the other, with spaces between them."""
    pieces, operands = [""], []
    for position, value in enumerate(values):
        value = strong(t, value)
        pieces[-1] += " " if position else ""
        if isinstance(value, DeviceValue):
            operands.append(value)
            pieces.append("")
        elif isinstance(value, FormattedText):
            pieces[-1] += value.pieces[0]
            pieces.extend(value.pieces[1:])
            operands.extend(value.operands)
        elif is_runtime(value):
            t.fail(KernelTypeError, "this cannot be printed", found=kind_of(value), accepted="numbers and strings")
        else:
            pieces[-1] += str(value)
    return tuple(pieces), tuple(operands)


def print_values(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> None:
    """``dt.print(...)``."""
    kernel_only(t, "print")
    if keywords:
        t.fail(KernelTypeError, "dt.print takes no keywords", found=next(iter(keywords)))
    pieces, operands = _text(t, arguments)
    t.emit(Print(pieces, tuple(operand.value for operand in operands)))


def _assert(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> None:
    kernel_only(t, "assert_")
    condition, message = bound_names(t, "assert_", arguments, keywords, "condition", "message=")
    known = truth(t, condition)
    pieces, operands = _text(t, [message if message is not None else "dt.assert_ failed"])
    text = "{}".join(piece.replace("{}", "{ }") for piece in pieces)
    if not isinstance(known, Value):
        if known:
            return
        known = t.const(Bool, False)
    t.emit(Assert(known, text, tuple(operand.value for operand in operands)))


INTRINSICS: dict[str, Handler] = {
    **{name: functools.partial(_math, name) for name in _STATIC_MATH},
    "fma": _fma,
    "abs": _abs,
    "min": functools.partial(_extremum, "min"),
    "max": functools.partial(_extremum, "max"),
    "where": _where,
    "bitcast": _bitcast,
    **{op.value: functools.partial(_count_bits, op) for op in BIT_COUNTS},
    **MEMORY,
    **WARPS,
    "print": print_values,
    "assert_": _assert,
}

SPECIAL: dict[Any, Handler] = {
    host.cdiv: _cdiv,
    host.static_range: _static_range,
}
"""Plain functions of ``darter.lang`` that mean more in kernel code than their Python says."""
