"""How far pointers have walked from the tensors that they are of, in code whose bounds are checked."""

from __future__ import annotations

import math
from typing import Any

from darter.dtypes import Int64
from darter.frontend.tensors import raw_extent, raw_stride
from darter.frontend.tracer import Tracer
from darter.frontend.values import DeviceValue, SharedArray, TensorValue, Walk
from darter.ir.nodes import Binary, BinaryOp, Value


def walk_from(t: Tracer, target: TensorValue | SharedArray) -> Walk | None:
    """Return the walk of a pointer to the base of ``target``, or None where nothing is checked."""
    if not t.bounds_check or (isinstance(target, SharedArray) and target.shape is None):
        return None
    return Walk(target, t.const(Int64, 0))


def walked(t: Tracer, walk: Walk | None, elements: Value, size_bytes: int) -> Walk | None:
    """Return a walk that goes on by ``elements`` of ``size_bytes``."""
    return None if walk is None else Walk(walk.start, plus_elements(t, walk.bytes, elements, size_bytes))


def plus_elements(t: Tracer, bytes: Value, elements: Value, size_bytes: int) -> Value:
    """Return ``bytes`` and those of ``elements`` together."""
    moved = binary(t, BinaryOp.MUL, wide(t, elements), t.const(Int64, size_bytes))
    return binary(t, BinaryOp.ADD, bytes, moved)


def span(t: Tracer, start: TensorValue | SharedArray) -> tuple[Value, Value]:
    """Return the first byte of a tensor's elements and the one behind the last, from its base on."""
    nothing = t.const(Int64, 0)
    item = (start.facts.dtype if isinstance(start, TensorValue) else start.element).size_bytes
    if isinstance(start, SharedArray):
        return nothing, t.const(Int64, math.prod(start.shape or ()) * item)
    low, high, one = nothing, t.const(Int64, item), t.const(Int64, 1)
    any_elements = one
    for axis in range(start.facts.rank):
        stride_bytes = binary(t, BinaryOp.MUL, wide(t, raw_stride(t, start, axis)), t.const(Int64, item))
        extent = wide(t, raw_extent(t, start, axis))
        any_elements = binary(t, BinaryOp.MUL, any_elements, binary(t, BinaryOp.MIN, extent, one))
        reach = binary(t, BinaryOp.MUL, binary(t, BinaryOp.SUB, extent, one), stride_bytes)
        low = binary(t, BinaryOp.ADD, low, binary(t, BinaryOp.MIN, reach, nothing))
        high = binary(t, BinaryOp.ADD, high, binary(t, BinaryOp.MAX, reach, nothing))
    return low, binary(t, BinaryOp.MUL, high, any_elements)


def wide(t: Tracer, number: Any) -> Value:
    """Return an index, extent or stride as an Int64."""
    if isinstance(number, int):
        return t.const(Int64, number)
    value = number.value if isinstance(number, DeviceValue) else number
    return t.cast(value, Int64)


def binary(t: Tracer, op: BinaryOp, lhs: Value, rhs: Value) -> Value:
    """Emit an operation and return its result."""
    result = Value(lhs.type)
    t.emit(Binary(result, op, lhs, rhs))
    return result
