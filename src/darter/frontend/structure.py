"""Values taken apart into leaves, so that conditions merge them and loops carry them.

A leaf is a number or a pointer; around leaves stand tuples, lists and structs.  Everything else is static and must be
the same on all paths.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from typing import Any

from darter.dtypes import Bool, Float32, Int64, ScalarType
from darter.frontend.numbers.literals import site_of
from darter.frontend.numbers.promotion import as_value
from darter.frontend.tracer import Tracer, zero
from darter.frontend.values import DeviceValue, KernelList, PointerValue, StructValue, kind_of
from darter.ir.nodes import PointerType, Value

_SIMPLE = (int, float, str, bytes, type(None), enum.Enum)


@dataclass(frozen=True, slots=True, eq=False)
class Static:
    """A static object in a skeleton: equal to the same object, or to an equal one of the same simple type."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and same_static(self.value, other.value)

    def __hash__(self) -> int:
        return 0


def same_static(a: Any, b: Any) -> bool:
    """Tell whether two static objects are one for all that code can see."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same_static, a, b))
    return isinstance(a, _SIMPLE) and (repr(a) == repr(b) if isinstance(a, float) else a == b)


LEAF = "leaf"
Skeleton = Any


def flatten(value: Any, leaves: list[Any]) -> Skeleton:
    """Append the leaves of ``value`` to ``leaves`` and return what stands around them."""
    if isinstance(value, (DeviceValue, int, float)) and not isinstance(value, enum.Enum):
        leaves.append(value)
        return LEAF
    if isinstance(value, PointerValue):
        leaves.append(value)
        return ("pointer", value.type)
    if isinstance(value, KernelList):
        return ("list", tuple(flatten(item, leaves) for item in value))
    if type(value) is tuple:
        return ("tuple", tuple(flatten(item, leaves) for item in value))
    if isinstance(value, StructValue):
        return ("struct", value.cls, value.names, tuple(flatten(item, leaves) for item in value.values))
    return Static(value)


def rebuild(skeleton: Skeleton, leaves: list[Any]) -> Any:
    """Undo :func:`flatten`; takes the leaves from the front of ``leaves``.

    A list comes back as one that no region may mutate: other names may hold the list that it came from.
    """
    if skeleton == LEAF:
        return leaves.pop(0)
    if isinstance(skeleton, Static):
        return skeleton.value
    kind = skeleton[0]
    if kind == "pointer":
        return leaves.pop(0)
    if kind == "list":
        result = KernelList(rebuild(item, leaves) for item in skeleton[1])
        result.serial = -1
        return result
    if kind == "tuple":
        return tuple(rebuild(item, leaves) for item in skeleton[1])
    return StructValue(skeleton[1], skeleton[2], tuple(rebuild(item, leaves) for item in skeleton[3]))


@dataclass(slots=True)
class LeafType:
    """Type of a carried or merged leaf; ``weak`` while only Python numbers were seen."""

    type: ScalarType | PointerType
    weak: bool
    align_bytes: int = 1
    parameter: int = -1
    origins: frozenset[Any] = frozenset()


def leaf_type(leaf: Any) -> LeafType:
    """Return the type of one leaf."""
    if isinstance(leaf, DeviceValue):
        return LeafType(leaf.dtype, leaf.weak, origins=leaf.origins)
    if isinstance(leaf, PointerValue):
        return LeafType(leaf.type, False, leaf.align_bytes, leaf.parameter)
    if isinstance(leaf, bool):
        return LeafType(Bool, False)
    return LeafType(Int64 if isinstance(leaf, int) else Float32, True)


def join(a: LeafType, b: LeafType) -> LeafType | None:
    """Return the type that holds both, or None: one kind widens, a weak number takes the other's type."""
    if isinstance(a.type, PointerType) or isinstance(b.type, PointerType):
        if a.type != b.type:
            return None
        parameter = a.parameter if a.parameter == b.parameter else -1
        return LeafType(a.type, False, min(a.align_bytes, b.align_bytes), parameter)
    origins = a.origins | b.origins if (a.weak or a.origins) and (b.weak or b.origins) else frozenset()
    if a.weak and b.weak:
        return LeafType(Float32 if Float32 in (a.type, b.type) else a.type, True, origins=origins)
    if a.weak or b.weak:
        weak, strong = (a, b) if a.weak else (b, a)
        fits = strong.type.is_float or (strong.type.is_integer and weak.type.is_integer)  # type: ignore[union-attr]
        return LeafType(strong.type, False, origins=origins) if fits else None
    if a.type is b.type:
        return LeafType(a.type, False, origins=origins)
    if a.type.kind is b.type.kind and a.type.bits != b.type.bits and 8 not in (a.type.bits, b.type.bits):
        return LeafType(a.type if a.type.bits > b.type.bits else b.type, False, origins=origins)
    return None


def with_site(t: Tracer, type: LeafType, node: Any, name: Any) -> LeafType:
    """Return the type of a leaf that Python numbers may make, and that gets a site here; a known one is taken."""
    if not type.weak and not type.origins:
        return type
    site = site_of(t.frame, node, name)
    known = t.literals.known.get(site)
    if known is not None and (known.is_float or type.type.is_integer):  # type: ignore[union-attr]
        return LeafType(known, False)
    return replace(type, origins=type.origins | {site})


def leaf_value(t: Tracer, leaf: Any, type: ScalarType | PointerType) -> Value:
    """Return a leaf as a value of the joined type, converting it where code is appended."""
    if isinstance(leaf, PointerValue):
        return leaf.value
    return as_value(t, leaf, type)  # type: ignore[arg-type]


def placeholder(t: Tracer, type: ScalarType | PointerType) -> Value | None:
    """Return a value for a path on which nobody reads it, or None for a pointer."""
    return None if isinstance(type, PointerType) else zero(t, type)


def make_leaf(value: Value, type: LeafType) -> DeviceValue | PointerValue:
    """Return the leaf that an IR value of a joined type is."""
    if isinstance(type.type, PointerType):
        return PointerValue(value, type.align_bytes, type.parameter)
    leaf = DeviceValue(value, type.weak)
    leaf.origins = type.origins
    return leaf


def describe(value: Any) -> str:
    """Return what ``value`` is, for messages about two paths that differ."""
    return kind_of(value)
