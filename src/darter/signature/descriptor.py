"""Descriptors: the facts about one argument that code generation may bake in, and their only source.

The front end is given descriptors and never the arguments themselves, so a fact that is baked in and not keyed cannot
be written.  ``signature.words`` writes a descriptor as key words; the native module writes the same words without
making a descriptor.
"""

from __future__ import annotations

from typing import Any

from darter.dtypes import ScalarType
from darter.frozen import Frozen


class Layout(Frozen):
    """What ``dt.from_dlpack(t)`` makes static: per axis the extent and the stride (in elements), or None where dynamic.

    ``*_divisors`` hold, for dynamic entries, what the value is promised to be a multiple of (1: nothing; static: 1).
    """

    shape: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    shape_divisors: tuple[int, ...]
    stride_divisors: tuple[int, ...]


class TensorFacts(Frozen):
    """A tensor argument.

    ``unit_axis``: the last axis with stride 1 or extent ≤ 1, or None.  ``vec16``: base 16-byte aligned and every other
    stride of an axis of extent > 1 a multiple of 16 bytes; False without a unit axis.  ``wide``: an extent or a byte
    offset (of either sign) reaches 2³⁰, so indices take 64 bits.  ``device_type`` is DLPack's ``DLDeviceType`` (1
    CPU, 2 CUDA, 10 ROCm). ``layout`` is given for explicit arguments (``dt.from_dlpack``) only.
    """

    dtype: ScalarType
    rank: int
    unit_axis: int | None
    vec16: bool
    wide: bool
    device_type: int
    layout: Layout | None = None


class PointerFacts(Frozen):
    """A pointer argument: ``align_bytes`` is 1, 2, 4, 8 or 16 (the largest of them that divides the address).

    ``device_type`` is that of the tensor it was taken from, 0 for an address given as an int.
    """

    dtype: ScalarType
    align_bytes: int
    device_type: int = 0


class ScalarFacts(Frozen):
    """A runtime scalar: type only, never value."""

    dtype: ScalarType


class NoneFacts(Frozen):
    """An optional argument that is None."""


class ConstexprFacts(Frozen):
    """A compile-time value.

    Equality of these facts is Python's, to which 1, True and 1.0 are one: compare key words or canonical bytes instead.
    """

    value: Any


class TypeFacts(Frozen):
    """A ``type[T]`` argument: a scalar type."""

    dtype: ScalarType


class StreamFacts(Frozen):
    """A stream; no fact about it is ever baked in."""


class StructFacts(Frozen):
    """A tuple, NamedTuple or frozen dataclass of arguments; ``cls`` is its class (``tuple`` for a plain one)."""

    cls: type
    names: tuple[str, ...]
    fields: tuple[Descriptor, ...]


class ObjectFacts(Frozen):
    """``self``, or another object of which only fields declared ``dt.Constexpr`` in its class may be read."""

    cls: type
    names: tuple[str, ...]
    values: tuple[Any, ...]


class JitArgumentFacts(Frozen):
    """A user's argument type: ``signature`` is what ``__cache_signature__()`` gave, ``fields`` its dynamic parts."""

    cls: type
    signature: Any
    names: tuple[str, ...]
    fields: tuple[Descriptor, ...]


Descriptor = (
    TensorFacts
    | PointerFacts
    | ScalarFacts
    | NoneFacts
    | ConstexprFacts
    | TypeFacts
    | StreamFacts
    | StructFacts
    | ObjectFacts
    | JitArgumentFacts
)


def slot_count(descriptor: Descriptor) -> int:
    """Return how many 64-bit argument slots the argument takes.

    A tensor takes 1 + 2·rank (address, extents, strides in elements), a pointer and a scalar one, a struct and a
    ``JitArgument`` those of their fields in order, everything else none.
    """
    match descriptor:
        case TensorFacts(rank=rank):
            return 1 + 2 * rank
        case PointerFacts() | ScalarFacts():
            return 1
        case StructFacts(fields=fields) | JitArgumentFacts(fields=fields):
            return sum(slot_count(field) for field in fields)
        case _:
            return 0
