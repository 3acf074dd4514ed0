"""What differs between two keys, in words: what ``explain`` and the log say about a compile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from darter.signature.descriptor import (
    ConstexprFacts,
    Descriptor,
    JitArgumentFacts,
    Layout,
    NoneFacts,
    ObjectFacts,
    PointerFacts,
    ScalarFacts,
    StreamFacts,
    StructFacts,
    TensorFacts,
    TypeFacts,
)
from darter.signature.keyrecord import canonical_value
from darter.signature.view import DEVICE_NAMES

MAX_SHOWN = 60
"""Characters of a value that a line shows."""


def difference(before: Mapping[str, Descriptor], after: Mapping[str, Descriptor]) -> list[str]:
    """Return one line per fact that differs, such as ``argument 'x': dtype float32 -> float16``.

    Both mappings describe calls of the same launcher, in signature order.  Equal descriptions give no line.
    """
    lines: list[str] = []
    for name in after:
        if name in before:
            lines += _between(name, before[name], after[name])
        else:
            lines.append(f"argument '{name}': new")
    lines += [f"argument '{name}': gone" for name in before if name not in after]
    return lines


def _between(name: str, before: Descriptor, after: Descriptor) -> Iterator[str]:
    match before, after:
        case ConstexprFacts(value=old), ConstexprFacts(value=new):
            yield from _value(f"constexpr '{name}'", old, new)
        case TensorFacts(), TensorFacts():
            yield from _tensor(name, before, after)
        case PointerFacts(), PointerFacts():
            yield from _fact(name, "dtype", before.dtype.numpy_name, after.dtype.numpy_name)
            yield from _fact(name, "alignment", f"{before.align_bytes} bytes", f"{after.align_bytes} bytes")
            yield from _fact(name, "device", _device(before.device_type), _device(after.device_type))
        case ScalarFacts(dtype=old), ScalarFacts(dtype=new):
            yield from _fact(name, "type", old.numpy_name, new.numpy_name)
        case TypeFacts(dtype=old), TypeFacts(dtype=new):
            yield from _fact(name, "scalar type", old.numpy_name, new.numpy_name)
        case StructFacts(), StructFacts():
            yield from _fields(name, before, after)
        case JitArgumentFacts(), JitArgumentFacts():
            yield from _fields(name, before, after)
        case ObjectFacts(), ObjectFacts():
            yield from _object(name, before, after)
        case _:
            yield from _fact(name, "kind", kind_of(before), kind_of(after))


def kind_of(descriptor: Descriptor) -> str:
    """Return what an argument is, in a few words."""
    match descriptor:
        case NoneFacts():
            return "None"
        case TensorFacts(dtype=dtype, rank=rank):
            return f"tensor ({dtype.numpy_name}, rank {rank})"
        case PointerFacts(dtype=dtype):
            return f"pointer to {dtype.numpy_name}"
        case ScalarFacts(dtype=dtype):
            return f"scalar ({dtype.numpy_name})"
        case TypeFacts(dtype=dtype):
            return f"scalar type {dtype.numpy_name}"
        case ConstexprFacts(value=value):
            return f"compile-time {shown(value)}"
        case StreamFacts():
            return "stream"
        case StructFacts(cls=cls) | ObjectFacts(cls=cls) | JitArgumentFacts(cls=cls):
            return cls.__qualname__


def shown(value: Any) -> str:
    """Return a compile-time value for a message, shortened; functions and classes by name, never by address."""
    if callable(value) and hasattr(value, "__qualname__"):
        return str(value.__qualname__)
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."


def _tensor(name: str, before: TensorFacts, after: TensorFacts) -> Iterator[str]:
    yield from _fact(name, "dtype", before.dtype.numpy_name, after.dtype.numpy_name)
    yield from _fact(name, "rank", before.rank, after.rank)
    yield from _fact(name, "unit-stride axis", _axis(before.unit_axis), _axis(after.unit_axis))
    yield from _fact(name, "16-byte alignment (vec16)", _yes(before.vec16), _yes(after.vec16))
    yield from _fact(name, "index width", 64 if before.wide else 32, 64 if after.wide else 32)
    yield from _fact(name, "device", _device(before.device_type), _device(after.device_type))
    yield from _layout(name, before.layout, after.layout)


def _layout(name: str, before: Layout | None, after: Layout | None) -> Iterator[str]:
    if before is None or after is None:
        yield from _fact(
            name, "layout", "dynamic" if before is None else "explicit", "dynamic" if after is None else "explicit"
        )
        return
    yield from _fact(name, "static extents", _entries(before.shape), _entries(after.shape))
    yield from _fact(name, "static strides", _entries(before.strides), _entries(after.strides))
    yield from _fact(name, "extent divisors", before.shape_divisors, after.shape_divisors)
    yield from _fact(name, "stride divisors", before.stride_divisors, after.stride_divisors)


def _fields(name: str, before: StructFacts | JitArgumentFacts, after: StructFacts | JitArgumentFacts) -> Iterator[str]:
    if before.cls is not after.cls:
        yield from _fact(name, "class", before.cls.__qualname__, after.cls.__qualname__)
        return
    if isinstance(before, JitArgumentFacts) and isinstance(after, JitArgumentFacts):
        yield from _value(f"argument '{name}': signature", before.signature, after.signature)
    yield from _fact(name, "number of items", len(before.fields), len(after.fields))
    for field, old, new in zip(after.names, before.fields, after.fields, strict=False):
        yield from _between(f"{name}[{field}]" if after.cls is tuple else f"{name}.{field}", old, new)


def _object(name: str, before: ObjectFacts, after: ObjectFacts) -> Iterator[str]:
    if before.cls is not after.cls:
        yield from _fact(name, "class", before.cls.__qualname__, after.cls.__qualname__)
        return
    for field, old, new in zip(after.names, before.values, after.values, strict=False):
        yield from _value(f"constexpr '{name}.{field}'", old, new)


def _value(what: str, before: Any, after: Any) -> Iterator[str]:
    if before is after or canonical_value(before, _by_identity) == canonical_value(after, _by_identity):
        return
    old, new = shown(before), shown(after)
    if type(before) is not type(after):
        old, new = f"{old} ({type(before).__name__})", f"{new} ({type(after).__name__})"
    yield f"{what}: {old} -> {new}"


def _by_identity(function: Any) -> bytes:
    return f"{id(function)}".encode()


def _fact(name: str, what: str, before: object, after: object) -> Iterator[str]:
    if before != after:
        yield f"argument '{name}': {what} {before} -> {after}"


def _axis(axis: int | None) -> str:
    return "none" if axis is None else str(axis)


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"


def _device(device_type: int) -> str:
    return DEVICE_NAMES.get(device_type, "not known")


def _entries(entries: Sequence[int | None]) -> str:
    return "(" + ", ".join("?" if entry is None else str(entry) for entry in entries) + ")"
