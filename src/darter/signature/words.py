"""The full key: descriptors written as 64-bit words.  The readable reference of native/key/, equal word for word.

Layout of the words (bit positions from 0; ``a << n`` is field ``a`` at bit ``n``)::

    device      code | ordinal << 8                    cpu 1, cuda 2, hip 3; the first word of every key
    NONE        0x01
    TENSOR      0x02 | dtype << 8 | rank << 16 | unit_axis+1 << 24 | vec16 << 32 | wide << 33 | has_layout << 34
                     | device_type << 40; with a layout: mask, then per axis extent or divisor, then strides likewise
    POINTER     0x03 | dtype << 8 | log2(align) << 16 | device_type << 40
    SCALAR      0x04 | dtype << 8                      only where the annotation does not say it
    TYPE        0x05 | dtype << 8
    STRUCT      0x06 | nfields << 8 | class << 32      then the fields
    SELF        0x07 | nvalues << 8 | class << 32      then the values as below
    JIT_ARG     0x08 | nfields << 8 | class << 32      then its signature as below, then the fields
    CONSTEXPR   0x09                                   then the value as ``constexpr_words`` writes it

Every word sequence says its own length, so that concatenations of them are told apart.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from darter.signature.constexprs import CONTAINERS, ValueKind, check_depth, items_of, value_kind
from darter.signature.describe import describe
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
from darter.signature.plan import ParamKind, ParamPlan, SignaturePlan
from darter.signature.planner import plan_class
from darter.signature.reader import numpy_scalar_type
from darter.target import Device

Intern = Callable[[object], int]
"""Gives an object its small number in this ``JitFunction``, by identity."""

DEVICE_CODES = {"cpu": 1, "cuda": 2, "hip": 3}

_WORD = (1 << 64) - 1


def full_key(plan: SignaturePlan, arguments: Sequence[Any], intern: Intern) -> tuple[int, ...]:
    """Return the full key of bound ``arguments``: what the native lean key must equal, word for word."""
    description = describe(plan, arguments)
    return key_words(plan, description.descriptors, description.device, intern)


def key_words(
    plan: SignaturePlan, descriptors: Mapping[str, Descriptor], device: Device, intern: Intern
) -> tuple[int, ...]:
    """Return the key of one call: the device's word, then the words of each parameter in signature order.

    Raises ``UnkeyableError`` for a compile-time value that cannot be keyed.
    """
    words = [device_word(device)]
    for parameter in plan.parameters:
        words += _parameter_words(parameter.name, parameter, descriptors[parameter.name], intern)
    return tuple(words)


def device_word(device: Device) -> int:
    """Return the first word of a key."""
    return DEVICE_CODES[device.backend] | device.ordinal << 8


def _parameter_words(name: str, plan: ParamPlan | None, descriptor: Descriptor, intern: Intern) -> Iterator[int]:
    match descriptor:
        case NoneFacts():
            yield 0x01
        case TensorFacts():
            yield from _tensor_words(descriptor)
        case PointerFacts(dtype=dtype, align_bytes=align, device_type=device_type):
            yield 0x03 | dtype.code << 8 | (align.bit_length() - 1) << 16 | device_type << 40
        case ScalarFacts(dtype=dtype):
            if plan is None or plan.kind is not ParamKind.SCALAR or plan.optional:
                yield 0x04 | dtype.code << 8
        case TypeFacts(dtype=dtype):
            yield 0x05 | dtype.code << 8
        case StreamFacts():
            return
        case ConstexprFacts(value=value):
            yield 0x09
            yield from constexpr_words(value, intern, name)
        case ObjectFacts(cls=cls, values=values):
            yield 0x07 | len(values) << 8 | intern(cls) << 32
            for field, value in zip(descriptor.names, values, strict=True):
                yield from constexpr_words(value, intern, f"{name}.{field}")
        case StructFacts(cls=cls, fields=fields):
            yield 0x06 | len(fields) << 8 | intern(cls) << 32
            yield from _field_words(name, _field_plans(plan, cls), descriptor, intern)
        case JitArgumentFacts(cls=cls, fields=fields):
            yield 0x08 | len(fields) << 8 | intern(cls) << 32
            yield from constexpr_words(descriptor.signature, intern, name)
            yield from _field_words(name, _field_plans(plan, cls), descriptor, intern)


def _field_plans(plan: ParamPlan | None, cls: type) -> tuple[ParamPlan | None, ...]:
    """Return the plans of a struct's fields; a plain tuple under an unannotated parameter has none."""
    if plan is not None and plan.cls is cls:
        return plan.fields
    return () if cls is tuple else plan_class(cls)


def _field_words(
    name: str, plans: tuple[ParamPlan | None, ...], facts: StructFacts | JitArgumentFacts, intern: Intern
) -> Iterator[int]:
    for index, (field, descriptor) in enumerate(zip(facts.names, facts.fields, strict=True)):
        path = f"{name}[{field}]" if facts.cls is tuple else f"{name}.{field}"
        yield from _parameter_words(path, plans[index] if plans else None, descriptor, intern)


def _tensor_words(facts: TensorFacts) -> Iterator[int]:
    unit = 0 if facts.unit_axis is None else facts.unit_axis + 1
    yield (
        0x02
        | facts.dtype.code << 8
        | facts.rank << 16
        | unit << 24
        | int(facts.vec16) << 32
        | int(facts.wide) << 33
        | int(facts.layout is not None) << 34
        | facts.device_type << 40
    )
    if facts.layout is not None:
        yield from _layout_words(facts.layout)


def _layout_words(layout: Layout) -> Iterator[int]:
    mask = 0
    for axis, (extent, stride) in enumerate(zip(layout.shape, layout.strides, strict=True)):
        mask |= int(extent is not None) << axis | int(stride is not None) << (32 + axis)
    yield mask
    for extent, divisor in zip(layout.shape, layout.shape_divisors, strict=True):
        yield divisor if extent is None else extent
    for stride, divisor in zip(layout.strides, layout.stride_divisors, strict=True):
        yield divisor if stride is None else stride & _WORD


def constexpr_words(value: Any, intern: Intern, name: str = "value", depth: int = 0) -> tuple[int, ...]:
    """Return the words of a compile-time value: type-tagged, recursive, floats by their bits.

    Raises ``UnkeyableError`` naming the argument ``name``.
    """
    check_depth(depth, name)
    kind = value_kind(value, name)
    if kind in CONTAINERS:
        return _container_words(kind, value, intern, name, depth)
    match kind:
        case ValueKind.NONE:
            return (0x10,)
        case ValueKind.BOOL:
            return (0x12 if value else 0x11,)
        case ValueKind.INT:
            return _int_words(value)
        case ValueKind.FLOAT:
            return (0x15, _float_bits(value))
        case ValueKind.COMPLEX:
            return (0x16, _float_bits(value.real), _float_bits(value.imag))
        case ValueKind.STR:
            return _text_words(value)
        case ValueKind.BYTES:
            return (0x18 | len(value) << 8, *_byte_words(value))
        case ValueKind.SCALAR_TYPE:
            return (0x1A | value.code << 8,)
        case ValueKind.ENUM:
            return (0x1B | intern(type(value)) << 8, *_text_words(value._name_))
        case ValueKind.NUMPY_SCALAR:
            scalar = numpy_scalar_type(value.dtype)
            assert scalar is not None  # value_kind has seen to it
            return (0x1E | scalar.code << 8, *_byte_words(value.tobytes()))
        case ValueKind.FUNCTION:
            return (0x1F | intern(value) << 8,)
        case _:
            return (0x20 | intern(value) << 8,)


def _container_words(kind: str, value: Any, intern: Intern, name: str, depth: int) -> tuple[int, ...]:
    items = items_of(kind, value)
    encoded = [constexpr_words(item, intern, name, depth + 1) for item in items]
    if kind == ValueKind.FROZENSET:
        encoded.sort()
    head = {
        ValueKind.TUPLE: 0x19 | len(items) << 8,
        ValueKind.FROZENSET: 0x21 | len(items) << 8,
    }.get(kind)
    if head is None:
        tag = 0x1C if kind == ValueKind.DATACLASS else 0x1D
        head = tag | len(items) << 8 | intern(type(value)) << 32
    return (head, *(word for words in encoded for word in words))


def _int_words(value: int) -> tuple[int, ...]:
    if -(1 << 63) <= value < 1 << 63:
        return (0x13, value & _WORD)
    magnitude = abs(value)
    count = (magnitude.bit_length() + 63) // 64
    return (0x14 | int(value < 0) << 8 | count << 16, *(magnitude >> 64 * index & _WORD for index in range(count)))


def _float_bits(value: float) -> int:
    bits: int = struct.unpack("<Q", struct.pack("<d", value))[0]
    return bits


def _text_words(text: str) -> tuple[int, ...]:
    encoded = text.encode("utf-8", "surrogatepass")
    return (0x17 | len(encoded) << 8, *_byte_words(encoded))


def _byte_words(data: bytes) -> tuple[int, ...]:
    return tuple(int.from_bytes(data[start : start + 8], "little") for start in range(0, len(data), 8))
