"""Canonical bytes of descriptors and compile-time values: what the primary key on disk is made of.

The same in every process: classes by module and qualified name, functions by a fingerprint that the caller brings,
floats by their bits, frozensets sorted by their items' bytes; no ``repr``, ``id`` or ``hash``.  Injective: every node
is ``(tag length:part length:part ...)`` with the length of each part written before it.
"""

from __future__ import annotations

import struct
import types
from collections.abc import Callable, Sequence
from typing import Any

from darter.errors import UnkeyableError
from darter.signature.constexprs import ValueKind, check_depth, value_kind
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
from darter.signature.structures import field_names

Fingerprint = Callable[[types.FunctionType], bytes]
"""Gives a Python function its fingerprint, the same in every process."""


def canonical(descriptor: Descriptor, fingerprint: Fingerprint) -> bytes:
    """Return the canonical bytes of a descriptor; equal exactly for descriptors that key the same on disk.

    Raises ``UnkeyableError`` for a compile-time value that cannot be keyed.
    """
    match descriptor:
        case NoneFacts():
            return _node("none")
        case TensorFacts():
            return _tensor(descriptor)
        case PointerFacts(dtype=dtype, align_bytes=align, device_type=device_type):
            return _node("pointer", dtype.name, align, device_type)
        case ScalarFacts(dtype=dtype):
            return _node("scalar", dtype.name)
        case TypeFacts(dtype=dtype):
            return _node("type", dtype.name)
        case StreamFacts():
            return _node("stream")
        case ConstexprFacts(value=value):
            return _node("constexpr", canonical_value(value, fingerprint))
        case ObjectFacts(cls=cls, names=names, values=values):
            parts = [canonical_value(value, fingerprint) for value in values]
            return _node("object", class_name(cls), *_interleave(names, parts))
        case StructFacts(cls=cls, names=names, fields=fields):
            return _node("struct", class_name(cls), *_interleave(names, [canonical(f, fingerprint) for f in fields]))
        case JitArgumentFacts(cls=cls, signature=signature, names=names, fields=fields):
            parts = [canonical(field, fingerprint) for field in fields]
            signature_bytes = canonical_value(signature, fingerprint)
            return _node("jit_argument", class_name(cls), signature_bytes, *_interleave(names, parts))


def canonical_value(value: Any, fingerprint: Fingerprint, name: str = "value", depth: int = 0) -> bytes:
    """Return the canonical bytes of a compile-time value.  Raises ``UnkeyableError`` naming the argument ``name``."""
    check_depth(depth, name)
    kind = value_kind(value, name)
    match kind:
        case ValueKind.NONE:
            return _node("None")
        case ValueKind.BOOL:
            return _node("bool", int(value))
        case ValueKind.INT:
            return _node("int", hex(value))  # hex, since decimal conversion of long ints is limited
        case ValueKind.FLOAT:
            return _node("float", struct.pack("<d", value))
        case ValueKind.COMPLEX:
            return _node("complex", struct.pack("<dd", value.real, value.imag))
        case ValueKind.STR:
            return _node("str", value)
        case ValueKind.BYTES:
            return _node("bytes", value)
        case ValueKind.SCALAR_TYPE:
            return _node("dtype", value.name)
        case ValueKind.NUMPY_SCALAR:
            return _node("numpy", value.dtype.name, value.astype(value.dtype.newbyteorder("<")).tobytes())
        case ValueKind.ENUM:
            return _node("enum", class_name(type(value)), value._name_, _enum_value(value, fingerprint, name, depth))
        case ValueKind.CLASS:
            return _node("class", class_name(value))
        case ValueKind.FUNCTION:
            return _function(value, fingerprint, name, depth + 1)
        case _:
            return _container(kind, value, fingerprint, name, depth + 1)


def _enum_value(member: Any, fingerprint: Fingerprint, name: str, depth: int) -> bytes:
    """Write a member's value, which an operator may read; of any other value, each read is captured."""
    try:
        return canonical_value(member._value_, fingerprint, name, depth + 1)
    except UnkeyableError:
        return b"captured"


def _function(value: Any, fingerprint: Fingerprint, name: str, depth: int) -> bytes:
    """Write a function: builtins by name, darter's own kinds (kernels) by what they declare, others by fingerprint."""
    if isinstance(value, types.BuiltinFunctionType):
        return _node("builtin", f"{value.__module__}:{value.__qualname__}")
    if isinstance(value, types.FunctionType):
        return _node("function", fingerprint(value))
    cls = type(value)
    parts = [canonical_value(getattr(value, part), fingerprint, name, depth) for part in cls.__darter_capture__]
    return _node("kernel", class_name(cls), *_interleave(cls.__darter_capture__, parts))


def _container(kind: str, value: Any, fingerprint: Fingerprint, name: str, depth: int) -> bytes:
    if kind == ValueKind.DATACLASS:
        names = field_names(type(value))
        parts = [canonical_value(getattr(value, field), fingerprint, name, depth) for field in names]
        return _node("dataclass", class_name(type(value)), *_interleave(names, parts))
    items = tuple.__iter__(value) if isinstance(value, tuple) else iter(value)
    parts = [canonical_value(item, fingerprint, name, depth) for item in items]
    if kind == ValueKind.NAMED_TUPLE:
        return _node("namedtuple", class_name(type(value)), *_interleave(field_names(type(value)), parts))
    if kind == ValueKind.FROZENSET:
        return _node("frozenset", *sorted(parts))
    return _node("tuple", *parts)


def class_name(cls: type) -> str:
    """Return module and qualified name of a class, which stand for it in every process."""
    return f"{cls.__module__}:{cls.__qualname__}"


def _tensor(facts: TensorFacts) -> bytes:
    unit = -1 if facts.unit_axis is None else facts.unit_axis
    layout = b"" if facts.layout is None else _layout(facts.layout)
    return _node(
        "tensor", facts.dtype.name, facts.rank, unit, int(facts.vec16), int(facts.wide), facts.device_type, layout
    )


def _layout(layout: Layout) -> bytes:
    entries = [layout.shape, layout.strides, layout.shape_divisors, layout.stride_divisors]
    return _node("layout", *(_node("axes", *("?" if entry is None else entry for entry in axes)) for axes in entries))


def _interleave(names: Sequence[str], parts: Sequence[bytes]) -> list[str | bytes]:
    return [entry for pair in zip(names, parts, strict=True) for entry in pair]


def _node(tag: str, *parts: str | bytes | int) -> bytes:
    """Write one node; ints are written in decimal, so parts of one position must be of one type."""
    written = bytearray(tag.encode())
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
        written += b" %d:" % len(data)
        written += data
    return b"(" + bytes(written) + b")"
