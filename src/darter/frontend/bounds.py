"""Bounds checks, where they are asked for: of indices, and of how far a pointer has walked from the tensor it is of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from darter.dtypes import Bool, Int64
from darter.frontend.flow.branches import branch
from darter.frontend.tensors import Address, raw_extent
from darter.frontend.tracer import Tracer, zero
from darter.frontend.values import DeviceValue, PointerValue, SharedArray, TensorValue
from darter.frontend.walks import binary, plus_elements, span, wide
from darter.ir.nodes import Assert, BinaryOp, Compare, CompareOp, Value


def where_inside(t: Tracer, place: Address, width: int, access: Callable[[], tuple[DeviceValue, ...]]) -> Any:
    """Return the ``width`` values that ``access`` reads; where bounds are checked and it is outside, zeros."""
    inside = is_inside(t, place, width)
    if inside is None:
        return access()
    zeros = tuple(DeviceValue(zero(t, place.element)) for _ in range(width))
    outcome, _ = branch(t, inside, lambda: (access(), None), lambda: (zeros, None))
    return outcome


def is_inside(t: Tracer, place: Address, width: int) -> Value | None:
    """Emit the bounds checks of an access and return whether it is inside, or None where nothing is checked."""
    if not t.bounds_check:
        return None
    if isinstance(place.tensor, PointerValue):
        return _check_walk(t, place, width)
    inside: Value | None = None
    last = len(place.indices) - 1
    for axis, index in enumerate(place.indices):
        extent = _extent(t, place.tensor, axis)
        if extent is None:
            continue
        inside = _both(t, inside, _check_axis(t, place.tensor, axis, index, extent, width if axis == last else 1))
    return inside


def _extent(t: Tracer, target: Any, axis: int) -> Any:
    if isinstance(target, TensorValue):
        return raw_extent(t, target, axis)
    return None if target.shape is None else target.shape[axis]


def _check_axis(t: Tracer, target: Any, axis: int, index: Any, extent: Any, width: int) -> Value:
    value, limit = wide(t, index), wide(t, extent)
    end = value if width == 1 else binary(t, BinaryOp.ADD, value, t.const(Int64, width - 1))
    condition = _both(t, _compare(t, CompareOp.GE, value, t.const(Int64, 0)), _compare(t, CompareOp.LT, end, limit))
    message = f"index out of bounds: {_name(target)}, axis {axis}, at {_place(t)}: index {{}}, extent {{}}"
    t.emit(Assert(condition, message, (value, limit)))
    return condition


def _name(target: TensorValue | SharedArray) -> str:
    return f"'{target.name}'" if isinstance(target, TensorValue) else target.name


def _place(t: Tracer) -> str:
    # The line in the message is relative to def, as in every Loc: an artifact does not change when a function moves.
    line = getattr(t.at, "lineno", 0) - t.frame.source.first_line
    return f"line {line} of {t.frame.function.__qualname__}"


def _check_walk(t: Tracer, place: Address, width: int) -> Value | None:
    """Check an access by pointer against the bytes between the first and the last element of its tensor."""
    walk = place.tensor.walk
    if walk is None:
        return None
    begin = plus_elements(t, walk.bytes, place.offset, place.element.size_bytes)
    end = binary(t, BinaryOp.ADD, begin, t.const(Int64, width * place.element.size_bytes))
    low, high = span(t, walk.start)
    condition = _both(t, _compare(t, CompareOp.GE, begin, low), _compare(t, CompareOp.LE, end, high))
    message = f"pointer out of bounds: {_name(walk.start)}, at {_place(t)}: byte {{}}, of {{}} to {{}}"
    t.emit(Assert(condition, message, (begin, low, high)))
    return condition


def _compare(t: Tracer, op: CompareOp, lhs: Value, rhs: Value) -> Value:
    result = Value(Bool)
    t.emit(Compare(result, op, lhs, rhs))
    return result


def _both(t: Tracer, lhs: Value | None, rhs: Value) -> Value:
    return rhs if lhs is None else binary(t, BinaryOp.AND, lhs, rhs)
