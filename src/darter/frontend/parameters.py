"""Parameters: a descriptor becomes the value that the body sees; facts to bake in come from nowhere else."""

from __future__ import annotations

from typing import Any

from darter.dtypes import Int64
from darter.frontend.tensors import POINTER, SCALAR, slot
from darter.frontend.tracer import Tracer
from darter.frontend.values import (
    DeviceValue,
    JitArgumentValue,
    ObjectValue,
    PointerValue,
    StreamValue,
    StructValue,
    TensorValue,
)
from darter.ir.nodes import PointerType, Space, Value
from darter.signature.descriptor import (
    ConstexprFacts,
    Descriptor,
    JitArgumentFacts,
    NoneFacts,
    ObjectFacts,
    PointerFacts,
    ScalarFacts,
    StreamFacts,
    StructFacts,
    TensorFacts,
    TypeFacts,
)

Path = tuple[int, ...]


def parameter_value(t: Tracer, name: str, descriptor: Descriptor, path: Path) -> Any:
    """Return what a parameter is in the body; ``path`` is its index, then those of the fields it stands in."""
    match descriptor:
        case TensorFacts():
            return TensorValue(name, descriptor, path)
        case PointerFacts(dtype=dtype, align_bytes=align):
            return PointerValue(slot(t, path, POINTER, 0, PointerType(dtype, Space.GLOBAL), name), align, path[0])
        case ScalarFacts(dtype=dtype):
            return DeviceValue(slot(t, path, SCALAR, 0, dtype, name))
        case NoneFacts():
            return None
        case ConstexprFacts(value=value):
            return value
        case TypeFacts(dtype=dtype):
            return dtype
        case StreamFacts():
            return StreamValue()
        case ObjectFacts(cls=cls, names=names, values=values):
            return ObjectValue(cls, names, values)
        case StructFacts(cls=cls, names=names, fields=fields):
            values = _fields(t, name, names, fields, path)
            return values if cls is tuple else StructValue(cls, names, values)
        case JitArgumentFacts(cls=cls, signature=signature, names=names, fields=fields):
            return JitArgumentValue(cls, names, _fields(t, name, names, fields, path), signature)
    raise AssertionError(descriptor)


def _fields(
    t: Tracer, name: str, names: tuple[str, ...], fields: tuple[Descriptor, ...], path: Path
) -> tuple[Any, ...]:
    labels = names or tuple(map(str, range(len(fields))))
    return tuple(
        parameter_value(t, f"{name}.{label}", field, (*path, index))
        for index, (label, field) in enumerate(zip(labels, fields, strict=True))
    )


def slot_values(t: Tracer, value: Any) -> list[Value]:
    """Return the IR values of all argument slots of a launcher's parameter, in slot order, used or not."""
    if isinstance(value, TensorValue):
        axes = range(value.facts.rank)
        address = PointerType(value.facts.dtype, Space.GLOBAL)
        return [
            slot(t, value.path, POINTER, 0, address, value.name),
            *(slot(t, value.path, "extent", axis, Int64, f"{value.name}_shape{axis}") for axis in axes),
            *(slot(t, value.path, "stride", axis, Int64, f"{value.name}_stride{axis}") for axis in axes),
        ]
    if isinstance(value, (PointerValue, DeviceValue)):
        return [value.value]
    if isinstance(value, StructValue):
        return [slot for field in value.values for slot in slot_values(t, field)]
    if type(value) is tuple:
        return [slot for field in value for slot in slot_values(t, field)]
    return []
