"""Explicit casts, of device values and of Python numbers."""

from __future__ import annotations

import math
from typing import Any

from darter.dtypes import Bool, ScalarType
from darter.errors import KernelTypeError
from darter.frontend.numbers.promotion import chosen, divisor_of, strong
from darter.frontend.tracer import Tracer
from darter.frontend.values import DeviceValue, kind_of
from darter.ir.nodes import (
    Cast,
    Value,
)


def convert(t: Tracer, value: Any, dtype: ScalarType) -> DeviceValue:
    """Return ``dtype(value)``: an explicit cast."""
    value = strong(t, value)
    if isinstance(value, DeviceValue):
        if value.dtype is dtype and not value.weak:
            return value
        if value.weak and value.dtype is not dtype:
            t.adoptions += 1
        if value.choice is not None:
            return DeviceValue(chosen(t, value, _cast_constant, dtype))
        result = Value(dtype, value.value.hint)
        t.emit(Cast(result, value.value))
        keeps = dtype.is_integer and value.dtype.is_integer
        return DeviceValue(result, multiple=_power_of_two(value.multiple) if keeps else 1)
    if not isinstance(value, (int, float)):
        t.fail(KernelTypeError, f"dt.{dtype.__name__}(...) casts a number", found=kind_of(value))
    return DeviceValue(t.const(dtype, static_cast(value, dtype)), multiple=divisor_of(value))


def _cast_constant(t: Tracer, value: int | float, dtype: ScalarType) -> Value:
    return t.const(dtype, static_cast(value, dtype))


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
