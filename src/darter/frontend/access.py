"""Reading and writing memory and containers: ``x[i]``, ``x.load``, ``x.store``."""

from __future__ import annotations

from typing import Any

from darter.dtypes import Bool, ScalarType
from darter.errors import KernelTypeError, KernelValueError
from darter.frontend.bounds import is_inside, where_inside
from darter.frontend.flow.branches import branch
from darter.frontend.numbers.promotion import as_value, meet, static_value, strong
from darter.frontend.static_python import check_mutable, item, key_of
from darter.frontend.tensors import Address, address, moved, pointer
from darter.frontend.tracer import Tracer
from darter.frontend.values import (
    DeviceValue,
    KernelDict,
    KernelList,
    PointerValue,
    RegisterArray,
    SharedArray,
    TensorValue,
    kind_of,
)
from darter.frontend.walks import walk_from
from darter.ir.nodes import Load, PointerCast, PointerType, Store, Value

_WIDTHS = (1, 2, 4, 8, 16)
MEMORY = (TensorValue, PointerValue, SharedArray)


def read_item(t: Tracer, container: Any, index: Any) -> Any:
    """Return ``container[index]``."""
    if isinstance(container, MEMORY):
        return load(t, container, index, 1)[0]
    if isinstance(container, RegisterArray):
        return container.items[array_index(t, container, index)]
    if isinstance(container, DeviceValue):
        t.fail(KernelTypeError, "a scalar cannot be indexed", found=kind_of(container))
    return item(t, container, index)


def write_item(t: Tracer, container: Any, index: Any, value: Any) -> None:
    """Assign ``container[index] = value``."""
    if isinstance(container, MEMORY):
        store(t, container, index, [value])
    elif isinstance(container, RegisterArray):
        position = array_index(t, container, index)
        items = list(container.items)
        items[position] = DeviceValue(stored_value(t, value, container.dtype))
        t.write_array(container, items)
    else:
        check_mutable(t, container)
        _write_container(t, container, key_of(t, index), value)


def _write_container(t: Tracer, container: KernelList | KernelDict, key: Any, value: Any) -> None:
    try:
        container[key] = value
    except (IndexError, TypeError, ValueError) as error:
        raise t.error(KernelValueError, f"assigning an item: {error}", found=kind_of(container)) from error


def array_index(t: Tracer, array: RegisterArray, index: Any) -> int:
    """Return a static index into a register array."""
    if isinstance(index, DeviceValue):
        t.fail(
            KernelTypeError,
            "a register array is indexed by static numbers",
            found=kind_of(index),
            accepted="numbers known at compile time, such as the index of dt.static_range",
            advice="use dt.shared for an array that is indexed at run time",
        )
    if isinstance(index, bool) or not isinstance(index, int):
        t.fail(KernelTypeError, "a register array is indexed by one integer", found=kind_of(index))
    if not -len(array.items) <= index < len(array.items):
        t.fail(KernelValueError, f"index {index} is outside a register array of {len(array.items)}")
    return index % len(array.items)


# -- memory -----------------------------------------------------------------------------------------------------------


def load(t: Tracer, target: Any, index: Any, width: int) -> list[DeviceValue]:
    """Return ``width`` elements that begin at ``target[index]`` and run along its last axis."""
    _check_kernel(t, target)
    place = address(t, target, index)
    return list(where_inside(t, place, width, lambda: tuple(_load(t, place, width))))


def store(t: Tracer, target: Any, index: Any, values: list[Any]) -> None:
    """Store values that begin at ``target[index]`` and run along its last axis."""
    _check_kernel(t, target)
    place = address(t, target, index)
    mark_written(t, target)
    converted = tuple(stored_value(t, value, place.element) for value in values)
    inside = is_inside(t, place, len(values))
    if inside is None:
        _store(t, place, converted)
        return

    def stores() -> tuple[None, None]:
        _store(t, place, converted)
        return None, None

    branch(t, inside, stores, lambda: (None, None))


def mark_written(t: Tracer, target: Any) -> None:
    """Note that the argument that ``target`` came from is stored to."""
    if isinstance(target, (TensorValue, PointerValue)) and target.parameter >= 0:
        t.written.add(target.parameter)


def _check_kernel(t: Tracer, target: Any) -> None:
    if t.host:
        t.fail(
            KernelTypeError,
            "a launcher does not read or write elements",
            found=kind_of(target),
            accepted="shapes, strides and scalars",
            advice="read it in the kernel",
        )


def stored_value(t: Tracer, value: Any, dtype: ScalarType) -> Value:
    """Return a value as it is stored: of exactly ``dtype``; only Python numbers convert by themselves."""
    value = strong(t, value)
    if isinstance(value, DeviceValue):
        if value.value.type is dtype:
            return value.value
        if value.origins:
            meet(t, value, dtype)
        if value.weak and (dtype.is_float or not value.dtype.is_float):
            return as_value(t, value, dtype)
        t.fail(
            KernelTypeError,
            f"{kind_of(value)} is stored to memory of {dtype.name}",
            found=value.dtype.name,
            accepted=dtype.name,
            advice=f"cast it: dt.{dtype.__name__}(v)",
        )
    if isinstance(value, (int, float)):
        if dtype is Bool and not isinstance(value, bool):
            t.fail(KernelTypeError, "a Bool is stored", found=kind_of(value), accepted="True, False or a comparison")
        return static_value(t, value, dtype)
    raise t.error(
        KernelTypeError, f"this cannot be stored to memory of {dtype.name}", found=kind_of(value), accepted="a number"
    )


def _load(t: Tracer, place: Address, width: int) -> list[DeviceValue]:
    if isinstance(place.step, int) and place.step == 1:
        results = tuple(Value(place.element) for _ in range(width))
        t.emit(Load(results, place.pointer, place.offset, place.align_bytes))
        return [DeviceValue(result) for result in results]
    singles = []
    for count in range(width):
        result = Value(place.element)
        t.emit(Load((result,), place.pointer, moved(t, place, count), place.element.size_bytes))
        singles.append(DeviceValue(result))
    return singles


def _store(t: Tracer, place: Address, values: tuple[Value, ...]) -> None:
    if isinstance(place.step, int) and place.step == 1:
        t.emit(Store(values, place.pointer, place.offset, place.align_bytes))
        return
    for count, value in enumerate(values):
        t.emit(Store((value,), place.pointer, moved(t, place, count), place.element.size_bytes))


def vector_width(t: Tracer, width: Any) -> int:
    """Return a static vector width."""
    if isinstance(width, bool) or not isinstance(width, int) or width not in _WIDTHS:
        t.fail(
            KernelValueError,
            "the width of a vector access is static",
            found=kind_of(width),
            accepted=", ".join(map(str, _WIDTHS)),
        )
    return width


# -- methods ----------------------------------------------------------------------------------------------------------


def load_method(t: Tracer, target: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """``x.load(i, j, width=1)``: one value, or a register array of ``width`` values."""
    options = dict(keywords)
    width = vector_width(t, options.pop("width", 1))
    _no_more(t, options, "load", "width")
    index = tuple(arguments) if len(arguments) != 1 else arguments[0]
    values = load(t, target, index if arguments else 0, width)
    if width == 1 and "width" not in keywords:
        return values[0]
    return RegisterArray(values[0].dtype, values, t.next_serial())


def store_method(t: Tracer, target: Any, arguments: list[Any], keywords: dict[str, Any]) -> None:
    """``x.store(i, j, values)``: values is one value or a sequence of 2, 4, 8 or 16."""
    _no_more(t, keywords, "store", "")
    if len(arguments) < 2:
        t.fail(KernelTypeError, "store takes the indices, then the values", found=f"{len(arguments)} arguments")
    *indices, values = arguments
    if isinstance(values, RegisterArray):
        items: list[Any] = list(values.items)
    elif isinstance(values, (tuple, list)):
        items = list(values)
    else:
        items = [values]
    vector_width(t, len(items))
    store(t, target, tuple(indices) if len(indices) != 1 else indices[0], items)


def cast_method(t: Tracer, target: PointerValue, arguments: list[Any], keywords: dict[str, Any]) -> PointerValue:
    """``p.cast(dtype)``: the same address as elements of another type."""
    _no_more(t, keywords, "cast", "")
    if len(arguments) != 1 or not isinstance(arguments[0], ScalarType):
        t.fail(KernelTypeError, "cast takes one scalar type", advice="p.cast(dt.UInt8)")
    result = Value(PointerType(arguments[0], target.type.space), target.value.hint)
    t.emit(PointerCast(result, target.value))
    return PointerValue(result, target.align_bytes, target.parameter, target.walk)


def data_pointer(t: Tracer, target: Any) -> PointerValue:
    """``x.data_ptr()``: the base address as a pointer value."""
    if isinstance(target, SharedArray):
        return PointerValue(target.pointer, 16, walk=walk_from(t, target))
    align = 16 if target.facts.vec16 else target.facts.dtype.size_bytes
    return PointerValue(pointer(t, target), align, target.parameter, walk_from(t, target))


def _no_more(t: Tracer, keywords: dict[str, Any], name: str, accepted: str) -> None:
    if keywords:
        t.fail(
            KernelTypeError,
            f"{name} got an unexpected keyword '{next(iter(keywords))}'",
            accepted=accepted or "no keywords",
        )
