"""The bounds of a run-time ``range``: the type of its index, and whether it goes on."""

from __future__ import annotations

from typing import Any

from darter.dtypes import Bool, Int64, ScalarType
from darter.errors import KernelTypeError
from darter.frontend.numbers.promotion import common_type
from darter.frontend.tracer import Tracer, zero
from darter.frontend.values import DeviceValue, kind_of
from darter.ir.nodes import Binary, BinaryOp, Compare, CompareOp, Value


def index_type(t: Tracer, bounds: tuple[Any, Any, Any]) -> ScalarType:
    """Return the type of the index: that of the bounds; Int64 where all are Python integers."""
    dtype: ScalarType | None = None
    for bound in bounds:
        if isinstance(bound, DeviceValue):
            if not bound.dtype.is_integer:
                t.fail(KernelTypeError, "range takes integers", found=kind_of(bound))
            dtype = bound.dtype if dtype is None else common_type(t, DeviceValue(Value(dtype)), bound, "range")
        elif isinstance(bound, bool) or not isinstance(bound, int):
            t.fail(KernelTypeError, "range takes integers", found=kind_of(bound))
    return dtype or Int64


def in_range(t: Tracer, index: Value, upper: Value, step: Any, step_value: Value) -> Value:
    """Return whether ``index`` is before ``upper``, in the direction of ``step`` (of ``step_value`` at run time)."""
    if isinstance(step, int):
        return _compare(t, CompareOp.LT if step > 0 else CompareOp.GT, index, upper)
    zero_value = zero(t, step_value.dtype)
    up = _both(t, _compare(t, CompareOp.GT, step_value, zero_value), _compare(t, CompareOp.LT, index, upper))
    down = _both(t, _compare(t, CompareOp.LT, step_value, zero_value), _compare(t, CompareOp.GT, index, upper))
    result = Value(Bool)
    t.emit(Binary(result, BinaryOp.OR, up, down))
    return result


def _compare(t: Tracer, op: CompareOp, lhs: Value, rhs: Value) -> Value:
    result = Value(Bool)
    t.emit(Compare(result, op, lhs, rhs))
    return result


def _both(t: Tracer, lhs: Value, rhs: Value) -> Value:
    result = Value(Bool)
    t.emit(Binary(result, BinaryOp.AND, lhs, rhs))
    return result
