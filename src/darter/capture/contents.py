"""What Python's own operators and builtins read of captured values: recorded before they run.

An operator on a captured list reads all of it; on an enum member or a dataclass it may run a method of its class.
"""

from __future__ import annotations

import dataclasses
import enum
import types
from collections.abc import Set as AbstractSet
from typing import Any, Final

from darter.capture import attributes, containers
from darter.capture.fingerprint import capture_attributes, is_frozen_dataclass, is_plain_class
from darter.capture.reads import Reads
from darter.errors import CaptureRefusedError

_ATOMS: Final = frozenset({type(None), bool, int, float, complex, str, bytes, range, slice, type(...)})


def content(reads: Reads, value: Any, special: AbstractSet[str], *, is_inside: bool = False) -> Any:
    """Return ``value`` for an operation that reads all of it and may run the special methods ``special``.

    Captured lists and dicts come back as copies of what was recorded.  Raises ``CaptureRefusedError`` where an
    operation would run a special method that a user wrote (native code would not record what that reads), or compare
    what stands inside a container (``is_inside``) by identity.
    """
    kind = type(value)
    if kind in _ATOMS or isinstance(value, type):
        return value
    if isinstance(value, enum.Enum):
        _check_operators(reads, value, special)
        return value
    if isinstance(value, (list, dict)):
        return _of_mutable(reads, value, special)
    if isinstance(value, tuple):
        if kind is not tuple:
            _check_operators(reads, value, special)
        items = [content(reads, item, special, is_inside=True) for item in containers.items(reads, value)]
        same = all(a is b for a, b in zip(items, tuple.__iter__(value), strict=True))
        return value if same else tuple.__new__(kind, items)
    if isinstance(value, frozenset):
        for item in containers.items(reads, value):
            content(reads, item, special, is_inside=True)
        return value
    if is_frozen_dataclass(value):
        _check_operators(reads, value, special)
        for field in dataclasses.fields(value):
            content(reads, attributes.attribute(reads, value, field.name), special, is_inside=True)
        return value
    if is_instance(value):
        _check_operators(reads, value, special)
    if is_inside and "__eq__" in special and is_told_by_identity(value):
        raise CaptureRefusedError(
            f"this would compare a {type(value).__qualname__} inside a container by its identity, which is not "
            "recorded there; compare the items one by one, with `is`"
        )
    return value


def is_instance(value: object) -> bool:
    """True for an instance of a class written in Python that is none of darter's own."""
    cls = type(value)
    return is_plain_class(cls) and capture_attributes(cls) is None and not cls.__module__.startswith("darter.")


def is_told_by_identity(value: object) -> bool:
    """True for what ``==`` tells from others by identity: functions, modules, instances, kernels."""
    kinds = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType)
    return isinstance(value, kinds) or capture_attributes(type(value)) is not None or is_instance(value)


def _of_mutable(reads: Reads, value: Any, special: AbstractSet[str]) -> Any:
    if isinstance(value, dict):
        pairs = {key: content(reads, item, special, is_inside=True) for key, item in containers.entries(reads, value)}
        same = type(value) is not dict and all(pairs[key] is item for key, item in value.items())
        return value if same else pairs
    items = [content(reads, item, special, is_inside=True) for item in containers.items(reads, value)]
    same = type(value) is not list and all(a is b for a, b in zip(items, value, strict=True))
    return value if same else items


def _check_operators(reads: Reads, value: Any, special: AbstractSet[str]) -> None:
    cls = reads.class_of(value)
    own = special & frozenset(reads.structure(cls)[1])
    if own:
        raise CaptureRefusedError(
            f"this would run {sorted(own)[0]} of class '{cls.__qualname__}' outside the compiled code, where what it "
            "reads is not recorded; call a method or a function that you wrote instead, or read the value (`x.value`, "
            "a field)"
        )
