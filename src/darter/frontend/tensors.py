"""Tensors as parameters: extents, strides, and the address of an element.

In a kernel the pointer, the extents and the strides become parameters when they are first used; narrow ones (every
offset under 2³⁰ bytes) travel as i32 and addresses are computed in i32.  What code sees is Int64 either way.
"""

from __future__ import annotations

import math
from typing import Any

from darter.dtypes import Bool, Int32, Int64, ScalarType
from darter.errors import KernelTypeError, KernelValueError
from darter.frontend.numbers.promotion import divisor_of, plain_integer
from darter.frontend.tracer import Tracer
from darter.frontend.values import DeviceValue, PointerValue, SharedArray, TensorValue, kind_of
from darter.ir.nodes import Binary, BinaryOp, Cast, PointerType, Space, Value

POINTER, EXTENT, STRIDE, SCALAR = "pointer", "extent", "stride", "scalar"


def slot(
    t: Tracer, path: tuple[int, ...], component: str, axis: int, type: ScalarType | PointerType, hint: str
) -> Value:
    """Return the parameter that holds one component of an argument, making it at its first use."""
    key = (path, component, axis)
    value = t.slots.get(key)
    if value is None:
        value = t.slots[key] = Value(type, hint)
    return value


def index_dtype(t: Tracer, tensor: TensorValue) -> ScalarType:
    """Return the type that the tensor's extents and strides travel in."""
    return Int64 if tensor.facts.wide or t.host else Int32


def pointer(t: Tracer, tensor: TensorValue) -> Value:
    """Return the tensor's base address."""
    if tensor.pointer is None:
        type = PointerType(tensor.facts.dtype, Space.GLOBAL)
        tensor.pointer = slot(t, tensor.path, POINTER, 0, type, tensor.name)
    return tensor.pointer


def raw_extent(t: Tracer, tensor: TensorValue, axis: int) -> int | Value:
    """Return an extent: a static number, or a value of :func:`index_dtype`."""
    known = tensor.extents[axis]
    if known is None:
        layout = tensor.facts.layout
        if layout is not None and layout.shape[axis] is not None:
            known = layout.shape[axis]
        else:
            known = slot(t, tensor.path, EXTENT, axis, index_dtype(t, tensor), f"{tensor.name}_shape{axis}")
        tensor.extents[axis] = known
    assert known is not None
    return known


def raw_stride(t: Tracer, tensor: TensorValue, axis: int) -> int | Value:
    """Return a stride in elements: a static number (1 on the unit axis), or a value of :func:`index_dtype`."""
    known = tensor.strides[axis]
    if known is None:
        layout = tensor.facts.layout
        if tensor.facts.unit_axis == axis:
            known = 1
        elif layout is not None and layout.strides[axis] is not None:
            known = layout.strides[axis]
        else:
            known = slot(t, tensor.path, STRIDE, axis, index_dtype(t, tensor), f"{tensor.name}_stride{axis}")
        tensor.strides[axis] = known
    assert known is not None
    return known


def _widened(t: Tracer, raw: int | Value, divisor: int) -> int | DeviceValue:
    if isinstance(raw, int):
        return raw
    if raw.type is Int64:
        return DeviceValue(raw, multiple=divisor)
    wide = t.cached.get(raw)
    if wide is None:
        wide = t.cached[raw] = Value(Int64, raw.hint)
        t.prologue.append(Cast(wide, raw))
    return DeviceValue(wide, multiple=divisor)


def extents(t: Tracer, tensor: TensorValue) -> tuple[int | DeviceValue, ...]:
    """Return ``tensor.shape``: static numbers and Int64 values."""
    layout = tensor.facts.layout
    divisors = layout.shape_divisors if layout is not None else (1,) * tensor.facts.rank
    return tuple(_widened(t, raw_extent(t, tensor, axis), divisors[axis]) for axis in range(tensor.facts.rank))


def strides(t: Tracer, tensor: TensorValue) -> tuple[int | DeviceValue, ...]:
    """Return ``tensor.strides`` in elements: static numbers and Int64 values."""
    layout = tensor.facts.layout
    divisors = layout.stride_divisors if layout is not None else (1,) * tensor.facts.rank
    return tuple(_widened(t, raw_stride(t, tensor, axis), divisors[axis]) for axis in range(tensor.facts.rank))


# -- addresses --------------------------------------------------------------------------------------------------------


class Address:
    """Elements in memory: ``pointer[offset + k·step]``; ``indices`` are kept for bounds checks."""

    __slots__ = ("align_bytes", "element", "indices", "offset", "pointer", "step", "tensor")

    def __init__(
        self, pointer: Value, offset: Value, align_bytes: int, step: int | Value, tensor: Any, indices: tuple[Any, ...]
    ) -> None:
        self.pointer = pointer
        self.offset = offset
        self.align_bytes = align_bytes
        self.step = step
        self.tensor = tensor
        self.indices = indices
        self.element: ScalarType = pointer.type.element  # type: ignore[union-attr]


def address(t: Tracer, target: Any, index: Any) -> Address:
    """Return where ``target[index]`` stands; vectors run along the last axis."""
    indices = tuple(map(plain_integer, index if type(index) is tuple else (index,)))
    for part in indices:
        _check_index(t, target, part)
    if isinstance(target, TensorValue):
        return _tensor_address(t, target, indices)
    if isinstance(target, SharedArray):
        return _shared_address(t, target, indices)
    if len(indices) != 1:
        t.fail(KernelTypeError, "a pointer takes one index", found=f"{len(indices)}")
    return _pointer_address(t, target, indices[0])


def _check_index(t: Tracer, target: Any, index: Any) -> None:
    if isinstance(index, DeviceValue):
        if index.dtype.is_integer:
            return
        advice = "cast it: dt.Int32(i)"
    else:
        if isinstance(index, int) and not isinstance(index, bool):
            return
        advice = "slices are not in the language: compute with elements" if isinstance(index, slice) else ""
    t.fail(
        KernelTypeError,
        f"{kind_of(target)} is indexed by integers",
        found="a slice" if isinstance(index, slice) else kind_of(index),
        advice=advice,
    )


def _check_static(t: Tracer, target: Any, index: Any, extent: Any, axis: int) -> None:
    """Refuse an index that is known to be outside."""
    if not isinstance(index, int):
        return
    if index < 0:
        t.fail(
            KernelValueError,
            f"index {index} of axis {axis} is negative",
            found=f"{kind_of(target)} indexed by {index}",
            advice="count from the end yourself: x[x.shape[0] - 1]",
        )
    if isinstance(extent, int) and index >= extent:
        t.fail(
            KernelValueError, f"index {index} is outside axis {axis}, whose extent is {extent}", found=kind_of(target)
        )


def _check_rank(t: Tracer, target: Any, indices: tuple[Any, ...], rank: int) -> None:
    if len(indices) != rank:
        t.fail(
            KernelTypeError,
            f"{kind_of(target)} takes {rank} {'index' if rank == 1 else 'indices'}",
            found=f"{len(indices)}",
            accepted=f"x[{', '.join('ijklmn'[:rank]) or '()'}]",
        )


def _tensor_address(t: Tracer, tensor: TensorValue, indices: tuple[Any, ...]) -> Address:
    facts = tensor.facts
    _check_rank(t, tensor, indices, facts.rank)
    dtype = index_dtype(t, tensor)
    terms: list[tuple[Any, int | Value]] = []
    for axis, index in enumerate(indices):
        if isinstance(index, int):
            _check_static(t, tensor, index, None if facts.layout is None else facts.layout.shape[axis], axis)
        terms.append((index, raw_stride(t, tensor, axis)))
    last = facts.rank - 1
    item = facts.dtype.size_bytes
    align = item
    if facts.vec16 and facts.unit_axis == last:
        # Every other axis moves by multiples of 16 bytes.
        align = max(item, math.gcd(16, divisor_of(indices[last]) * item))
    step = raw_stride(t, tensor, last) if facts.rank else 1
    return Address(pointer(t, tensor), _sum(t, terms, dtype), align, step, tensor, indices)


def _shared_address(t: Tracer, array: SharedArray, indices: tuple[Any, ...]) -> Address:
    shape = array.shape
    _check_rank(t, array, indices, 1 if shape is None else len(shape))
    terms: list[tuple[Any, int | Value]] = []
    stride, multiple = 1, 0
    for axis in reversed(range(len(indices))):
        _check_static(t, array, indices[axis], None if shape is None else shape[axis], axis)
        terms.append((indices[axis], stride))
        multiple = math.gcd(multiple, divisor_of(indices[axis]) * stride)
        stride *= 1 if shape is None else shape[axis]
    item = array.element.size_bytes
    align = max(item, math.gcd(16, multiple * item))
    return Address(array.pointer, _sum(t, terms[::-1], Int32), align, 1, array, indices)


def _pointer_address(t: Tracer, target: PointerValue, index: Any) -> Address:
    dtype = Int32 if isinstance(index, DeviceValue) and index.dtype is Int32 else Int64
    align = math.gcd(target.align_bytes, divisor_of(index) * target.element.size_bytes)
    return Address(target.value, _index(t, index, dtype), align, 1, target, (index,))


def _index(t: Tracer, index: Any, dtype: ScalarType) -> Value:
    if isinstance(index, int):
        return t.const(dtype, index)
    if index.dtype is Bool:
        t.fail(KernelTypeError, "a Bool is no index", advice="dt.Int32(flag)")
    return t.cast(index.value, dtype)


def _sum(t: Tracer, terms: list[tuple[Any, int | Value]], dtype: ScalarType) -> Value:
    """Return Σ index·stride in ``dtype``, its constants folded."""
    constant = 0
    total: Value | None = None
    for index, stride in terms:
        if isinstance(index, int) and isinstance(stride, int):
            constant += index * stride
            continue
        if index == 0 or stride == 0:
            continue
        total = _plus(t, total, _product(t, index, stride, dtype), dtype)
    if total is None:
        return t.const(dtype, constant)
    return total if constant == 0 else _plus(t, total, t.const(dtype, constant), dtype)


def _product(t: Tracer, index: Any, stride: int | Value, dtype: ScalarType) -> Value:
    value = _index(t, index, dtype)
    if isinstance(stride, int) and stride == 1:
        return value
    factor = t.const(dtype, stride) if isinstance(stride, int) else stride
    result = Value(dtype)
    t.emit(Binary(result, BinaryOp.MUL, value, factor))
    return result


def _plus(t: Tracer, total: Value | None, term: Value, dtype: ScalarType) -> Value:
    if total is None:
        return term
    result = Value(dtype)
    t.emit(Binary(result, BinaryOp.ADD, total, term))
    return result


def moved(t: Tracer, place: Address, count: int) -> Value:
    """Return the offset of element ``count`` of a vector at ``place``."""
    if count == 0:
        return place.offset
    dtype = place.offset.dtype
    if isinstance(place.step, int):
        return _plus(t, place.offset, t.const(dtype, count * place.step), dtype)
    scaled = Value(dtype)
    t.emit(Binary(scaled, BinaryOp.MUL, place.step, t.const(dtype, count)))
    return _plus(t, place.offset, scaled, dtype)
