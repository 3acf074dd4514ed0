"""Which compile-time values can be keyed by value, and what each is; words and canonical bytes build on it."""

from __future__ import annotations

import enum
import types
from typing import Any, NoReturn

import numpy as np

from darter.errors import ArgumentTypeError, UnkeyableError
from darter.signature.annotations import is_scalar_type
from darter.signature.reader import is_tensor_like, numpy_scalar_type
from darter.signature.structures import field_names, is_frozen_dataclass, is_named_tuple

MAX_DEPTH = 64
"""How deep tuples, dataclasses and frozensets may nest."""


class ValueKind:
    """What a keyable value is; decided by its exact type, never by comparing it.

    Texts and no ``Enum``, which takes longer to make than most modules of a launch from disk.
    """

    NONE = "None"
    BOOL = "bool"
    INT = "int"
    FLOAT = "float"
    COMPLEX = "complex"
    STR = "str"
    BYTES = "bytes"
    TUPLE = "tuple"
    SCALAR_TYPE = "scalar type"
    ENUM = "enum member"
    DATACLASS = "frozen dataclass"
    NAMED_TUPLE = "NamedTuple"
    NUMPY_SCALAR = "NumPy scalar"
    FUNCTION = "function"
    CLASS = "class"
    FROZENSET = "frozenset"


_BY_EXACT_TYPE: dict[type, str] = {
    type(None): ValueKind.NONE,
    bool: ValueKind.BOOL,
    int: ValueKind.INT,
    float: ValueKind.FLOAT,
    complex: ValueKind.COMPLEX,
    str: ValueKind.STR,
    bytes: ValueKind.BYTES,
    tuple: ValueKind.TUPLE,
    frozenset: ValueKind.FROZENSET,
    types.FunctionType: ValueKind.FUNCTION,
    types.BuiltinFunctionType: ValueKind.FUNCTION,
}

_WAYS_OUT = {
    list: "pass a tuple.",
    dict: "pass a NamedTuple or frozen dataclass, or a tuple of pairs.",
    set: "pass a frozenset.",
    bytearray: "pass bytes.",
    types.MethodType: "pass the function and what it is bound to as two arguments.",
    types.ModuleType: "read what you need from the module and pass that.",
}


def value_kind(value: object, name: str) -> str:
    """Return what kind of keyable value ``value`` is; nested values are not looked at.

    Raises ``UnkeyableError`` naming the argument for everything that cannot be keyed by value.
    """
    cls = type(value)
    kind = _BY_EXACT_TYPE.get(cls)
    if kind is not None:
        if cls is types.BuiltinFunctionType and not isinstance(value.__self__, types.ModuleType):  # type: ignore[attr-defined]
            _refuse(value, name)
        return kind
    if is_scalar_type(value):
        return ValueKind.SCALAR_TYPE
    if isinstance(value, enum.Enum):
        if value._name_ is None:
            _refuse(value, name)
        return ValueKind.ENUM
    if isinstance(value, np.generic):
        return ValueKind.NUMPY_SCALAR if numpy_scalar_type(value.dtype) is not None else _refuse(value, name)
    if isinstance(value, type):
        return ValueKind.CLASS
    if hasattr(cls, "__darter_capture__"):  # kernels, and what else of darter's stands for a function
        return ValueKind.FUNCTION
    if is_named_tuple(cls):
        return ValueKind.NAMED_TUPLE
    if is_frozen_dataclass(cls):
        return ValueKind.DATACLASS
    return _refuse(value, name)


def _refuse(value: object, name: str) -> NoReturn:
    cls = type(value)
    if is_tensor_like(value):
        way_out = (
            "a tensor's value is no compile-time constant; pass x.item(), or annotate the parameter as a runtime one."
        )
    elif hasattr(value, "__dataclass_fields__"):
        way_out = "make its own class a dataclass with frozen=True."
    elif (cls.__module__ == "torch" and cls.__name__ == "dtype") or isinstance(value, np.dtype):
        way_out = "pass darter's scalar type, such as dt.f32."
    elif isinstance(value, (bool, int, float, str, bytes, tuple)):
        base = next(known for known in _BY_EXACT_TYPE if isinstance(value, known) and known is not type(None))
        way_out = f"pass a plain {base.__name__}: {base.__name__}(value)."
    else:
        way_out = _WAYS_OUT.get(cls, "pass what the code needs of it, as numbers, strings or tuples of them.")
    raise UnkeyableError(
        f"argument '{name}': found a {cls.__module__}.{cls.__qualname__}, which cannot be keyed by value. Accepted at "
        "compile time: None, bool, int, float, complex, str, bytes, scalar types, NumPy scalars, enum members, "
        f"functions, classes, and tuples, frozensets, NamedTuples and frozen dataclasses of these. Way out: {way_out}"
    )


CONTAINERS = frozenset({ValueKind.TUPLE, ValueKind.NAMED_TUPLE, ValueKind.DATACLASS, ValueKind.FROZENSET})
"""Kinds of values that hold others."""


def items_of(kind: str, value: Any) -> list[Any]:
    """Return what a value of one of the kinds ``CONTAINERS`` holds, in its order."""
    if kind == ValueKind.DATACLASS:
        return [getattr(value, field) for field in field_names(type(value))]
    return list(tuple.__iter__(value) if isinstance(value, tuple) else value)


def check_keyable(value: object, name: str, depth: int = 0) -> None:
    """Raise ``UnkeyableError`` naming the argument where ``value``, or what it holds, cannot be keyed by value."""
    check_depth(depth, name)
    kind = value_kind(value, name)
    if kind in CONTAINERS:
        for item in items_of(kind, value):
            check_keyable(item, name, depth + 1)


def check_depth(depth: int, name: str) -> None:
    """Raise ``UnkeyableError`` where a value nests deeper than ``MAX_DEPTH``."""
    if depth > MAX_DEPTH:
        raise UnkeyableError(f"argument '{name}': found a value nested deeper than {MAX_DEPTH} levels; flatten it.")


def check_exact_type(value: object, exact: type | None, optional: bool, name: str) -> None:
    """Raise ``ArgumentTypeError`` unless ``type(value) is exact`` (None: any), or ``value`` is None where it may be."""
    if exact is None or type(value) is exact or (value is None and optional):
        return
    none = " or None" if optional else ""
    raise ArgumentTypeError(
        f"argument '{name}': found {_shown(value)} of type {type(value).__name__}; accepted: "
        f"dt.Constexpr[{exact.__name__}] takes exactly {exact.__name__}{none}, and no subclass. Way out: convert it, "
        "or annotate dt.Constexpr for any type."
    )


def _shown(value: Any) -> str:
    text = repr(value) if isinstance(value, (bool, int, float, str, bytes, type(None))) else "a value"
    return text if len(text) <= 60 else text[:57] + "..."
