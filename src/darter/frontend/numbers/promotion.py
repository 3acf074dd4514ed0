"""Types of numbers that meet: promotion, and Python numbers, which take the type of what they meet.

Promotion: of one kind, the wider type; an integer with a float, the float; bf16 with f16, f32; integers of different
sign, and float8 with anything, are refused.  A Python number takes the type of the value it meets; a Python float that
meets an integer makes Float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from darter.dtypes import ALL, BFloat16, Bool, Float16, Float32, Int32, Int64, Kind, ScalarType
from darter.errors import KernelTypeError, KernelValueError
from darter.frontend.tracer import Tracer
from darter.frontend.values import DeviceValue, kind_of
from darter.ir.nodes import Select, Value


def is_number(value: Any) -> bool:
    """True for Python numbers (bool too) and device values."""
    return isinstance(value, (DeviceValue, int, float))


def numpy_scalar(value: Any) -> ScalarType | None:
    """Return the scalar type of a static numpy scalar, or None."""
    dtype = getattr(value, "dtype", None)
    if dtype is None or type(value).__module__ not in ("numpy", "ml_dtypes"):
        return None
    return next((scalar for scalar in ALL if scalar.numpy_name == dtype.name), None)


def plain_integer(value: Any) -> Any:
    """Return a static integer, an enum's or numpy's too, as a Python int; everything else as it is."""
    if isinstance(value, (bool, DeviceValue)) or type(value) is int:
        return value
    dtype = numpy_scalar(value)
    return int(value) if isinstance(value, int) or (dtype is not None and dtype.is_integer) else value


def strong(t: Tracer, value: Any) -> Any:
    """Return a static numpy scalar as a constant of its type, everything else as it is."""
    dtype = None if isinstance(value, (DeviceValue, int, float)) else numpy_scalar(value)
    if dtype is None:
        return value
    return DeviceValue(t.const(dtype, value.item() if dtype.bits > 8 or not dtype.is_float else float(value)))


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
    if not isinstance(number, DeviceValue):
        return static_value(t, number, dtype)
    if number.value.type is dtype:
        return number.value
    if number.weak:
        t.adoptions += 1
    return t.cast(number.value, dtype) if number.choice is None else chosen(t, number, static_value, dtype)


def chosen(t: Tracer, number: DeviceValue, constant: Callable[..., Value], dtype: ScalarType) -> Value:
    """Return the Python number that a condition chose, as ``constant`` makes one of ``dtype``: no digit is lost."""
    assert number.choice is not None
    condition, a, b = number.choice
    result = Value(dtype, number.value.hint)
    t.emit(Select(result, condition, constant(t, a, dtype), constant(t, b, dtype)))
    return result


def common_type(t: Tracer, a: Any, b: Any, symbol: str) -> ScalarType:
    """Return the type in which two numbers, at least one of them a device value, meet."""
    for one, other in ((a, b), (b, a)):
        if isinstance(one, DeviceValue) and one.origins and isinstance(other, DeviceValue) and not other.origins:
            meet(t, one, other.dtype)
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


def meet(t: Tracer, number: DeviceValue, dtype: ScalarType) -> None:
    """Note that what Python numbers made meets a value, or memory, of ``dtype``."""
    if number.choice is None:  # a choice of two is made anew in any type
        t.literals.meet(number.origins, dtype)


def derived(result: DeviceValue, *operands: Any) -> DeviceValue:
    """Return ``result``, with the origins of its operands where all of them come of Python numbers."""
    origins: frozenset[Any] = frozenset()
    for operand in operands:
        if isinstance(operand, DeviceValue):
            if not operand.origins:
                return result
            origins |= operand.origins
    result.origins = origins
    return result


def is_weak(a: Any, b: Any) -> bool:
    """True if the result of an operation on ``a`` and ``b`` is weak again."""
    return not (isinstance(a, DeviceValue) and not a.weak) and not (isinstance(b, DeviceValue) and not b.weak)


def divisor_of(number: Any) -> int:
    """Return an integer that is known to divide ``number`` (0 for zero itself)."""
    if isinstance(number, DeviceValue):
        return number.multiple
    return abs(number) if isinstance(number, int) else 1
