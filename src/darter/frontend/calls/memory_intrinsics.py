"""Memory: shared memory, register arrays, the barrier, atomics."""

from __future__ import annotations

import functools
import math
from typing import Any

from darter.dtypes import Bool, ScalarType
from darter.errors import KernelTypeError, KernelValueError
from darter.frontend.access import mark_written, stored_value
from darter.frontend.bounds import where_inside
from darter.frontend.calls.intrinsic_arguments import Handler, bound_names, kernel_only
from darter.frontend.numbers.promotion import plain_integer
from darter.frontend.tensors import address
from darter.frontend.tracer import Tracer
from darter.frontend.values import (
    DeviceValue,
    PointerValue,
    RegisterArray,
    SharedArray,
    TensorValue,
    kind_of,
)
from darter.ir.nodes import (
    Atomic,
    AtomicOp,
    Barrier,
    DynamicShared,
    Order,
    PointerType,
    Scope,
    SharedAlloc,
    Space,
    Value,
)


def _scalar_type(t: Tracer, dtype: Any, name: str) -> ScalarType:
    if not isinstance(dtype, ScalarType) or dtype.code == 0:
        t.fail(
            KernelTypeError, f"dt.{name} takes a scalar type first", found=kind_of(dtype), accepted="dt.f32, dt.i32, …"
        )
    return dtype


def _static_count(t: Tracer, value: Any, name: str) -> int:
    value = plain_integer(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        t.fail(
            KernelValueError, f"the size in dt.{name} is a positive number known at compile time", found=kind_of(value)
        )
    return value


def _shared(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    kernel_only(t, "shared")
    dtype, shape = bound_names(t, "shared", arguments, keywords, "dtype", "shape")
    dtype = _scalar_type(t, dtype, "shared")
    extents = shape if isinstance(shape, tuple) else (shape,)
    extents = tuple(_static_count(t, extent, "shared") for extent in extents)
    pointer = Value(PointerType(dtype, Space.SHARED), "shared")
    node = SharedAlloc(pointer, math.prod(extents), 16)
    node.loc = t.loc()
    t.prologue.append(node)
    return SharedArray(pointer, extents)


def _dynamic_shared(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    kernel_only(t, "dynamic_shared")
    (dtype,) = bound_names(t, "dynamic_shared", arguments, keywords, "dtype")
    pointer = Value(PointerType(_scalar_type(t, dtype, "dynamic_shared"), Space.SHARED), "dynamic_shared")
    node = DynamicShared(pointer)
    node.loc = t.loc()
    t.prologue.append(node)
    return SharedArray(pointer, None)


def _array(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    kernel_only(t, "array")
    dtype, n, init = bound_names(t, "array", arguments, keywords, "dtype", "n", "init=")
    dtype = _scalar_type(t, dtype, "array")
    count = _static_count(t, n, "array")
    if isinstance(init, (tuple, list, RegisterArray)):
        values = list(init.items) if isinstance(init, RegisterArray) else list(init)
        if len(values) != count:
            t.fail(KernelValueError, f"dt.array of {count} is initialised with {len(values)} values")
    else:
        values = [(False if dtype is Bool else 0) if init is None else init] * count
    items = [DeviceValue(stored_value(t, value, dtype)) for value in values]
    return RegisterArray(dtype, items, t.next_serial())


def _barrier(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> None:
    kernel_only(t, "barrier")
    bound_names(t, "barrier", arguments, keywords)
    t.emit(Barrier())


_INTEGERS_ONLY = (AtomicOp.AND, AtomicOp.OR, AtomicOp.XOR)


def _atomic(op: AtomicOp, t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    name = f"atomic_{op.value}"
    kernel_only(t, name)
    names = ("target", "index", "expected", "value") if op is AtomicOp.CAS else ("target", "index", "value")
    values = bound_names(t, name, arguments, keywords, *names, "order=", "scope=")
    target, index, *operands, order, scope = values
    if not isinstance(target, (TensorValue, PointerValue, SharedArray)):
        t.fail(KernelTypeError, f"dt.{name} takes a tensor, pointer or shared memory first", found=kind_of(target))
    place = address(t, target, index)
    dtype = place.element
    accepted = (dtype.is_integer and dtype.bits >= 32) or (dtype.is_float and dtype.bits >= 32)
    if not accepted or (op in _INTEGERS_ONLY and not dtype.is_integer):
        kinds = "i32, u32, i64, u64" + ("" if op in _INTEGERS_ONLY else ", f32, f64")
        t.fail(KernelTypeError, f"dt.{name} on memory of {dtype.name}", accepted=kinds)
    mark_written(t, target)
    expected = stored_value(t, operands[0], dtype) if op is AtomicOp.CAS else None
    value = stored_value(t, operands[-1], dtype)
    chosen = _member(t, Order, order or "relaxed", "order"), _member(t, Scope, scope or "device", "scope")

    def update() -> tuple[DeviceValue]:
        result = Value(dtype)
        t.emit(Atomic(result, op, place.pointer, place.offset, value, expected, *chosen))
        return (DeviceValue(result),)

    return where_inside(t, place, 1, update)[0]


def _member(t: Tracer, kind: Any, value: Any, name: str) -> Any:
    try:
        return kind(value)
    except ValueError:
        accepted = ", ".join(repr(member.value) for member in kind)
        raise t.error(KernelValueError, f"{name} is unknown", found=repr(value), accepted=accepted) from None


MEMORY: dict[str, Handler] = {
    "shared": _shared,
    "dynamic_shared": _dynamic_shared,
    "array": _array,
    "barrier": _barrier,
    **{f"atomic_{op.value}": functools.partial(_atomic, op) for op in AtomicOp},
}
