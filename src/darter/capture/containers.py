"""How the recorder reads dicts, lists, tuples and frozensets: what each operation depends on, and no more."""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any, Final

from darter.capture.fingerprint import ABSENT, encode, is_by_value
from darter.capture.path import FUNCTION_ROOT, describe, key_step
from darter.capture.reads import Reads
from darter.capture.static import Static
from darter.errors import CaptureRefusedError

MAX_ELEMENTS: Final = 1024
"""Largest captured list, and largest captured dict that is iterated; a dict read by key has no bound."""

_IMPORTABLE: Final = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)
"""What is recorded by its import path where it is read from; see ``Reads``."""


def item(reads: Reads, container: Any, key: Any) -> Any:
    """Return ``container[key]``; raises ``KeyError``, ``IndexError`` or ``TypeError`` as Python does (recorded)."""
    path = reads.path_of(container)
    if path is None:
        return _unwrapped(reads, container, container[key])
    if type(container) is dict:
        _check_key(container, key)
        found = reads.step(container, key_step(key))
        if found is ABSENT:
            raise KeyError(key)
        return found
    if isinstance(container, tuple) and not isinstance(key, slice):
        position = range(len(container))[key]
        return reads.given(container[position], (*path, ("element", position)))
    if type(container) is list and isinstance(key, slice):
        return list(items(reads, container)[key])
    if type(container) is list:
        return _list_item(reads, container, key)
    return _unwrapped(reads, container, container[key])


def contains(reads: Reads, container: Any, key: Any) -> bool:
    """Return ``key in container`` for a dict (by key, no bound) or an immutable container; recorded."""
    if type(container) is dict and reads.path_of(container) is not None:
        _check_key(container, key)
        return bool(reads.step(container, ("has", *key_step(key)[1:])))
    if type(container) is list:
        return key in items(reads, container)
    return key in container


def items(reads: Reads, container: Any) -> tuple[Any, ...]:
    """Return what iteration gives: elements in order, a dict's keys, a frozenset's in an order that no hash seed
    changes.

    Raises ``CaptureRefusedError`` for a captured list or dict of more than 1024 entries.
    """
    path = reads.path_of(container)
    if isinstance(container, frozenset):
        return tuple(sorted(_told_by_value(reads, container, container), key=encode))
    if path is None:
        return tuple(_unwrapped(reads, container, each) for each in container)
    if isinstance(container, tuple):
        return tuple(reads.given(each, (*path, ("element", position))) for position, each in enumerate(container))
    if type(container) is list:
        _check_bound(reads, container)
        return tuple(reads.step(container, ("element", position)) for position in range(length(reads, container)))
    if type(container) is dict:
        _check_bound(reads, container)
        keys = reads.step(container, ("keys",))
        return tuple(_told_by_value(reads, container, keys))
    return tuple(container)


def entries(reads: Reads, container: dict[Any, Any]) -> tuple[tuple[Any, Any], ...]:
    """Return a dict's ``(key, value)`` pairs in order; the same bound as :func:`items`."""
    return tuple((key, item(reads, container, key)) for key in items(reads, container))


def length(reads: Reads, container: Any) -> int:
    """Return ``len(container)``; recorded for a captured list or dict."""
    if type(container) in (list, dict) and reads.path_of(container) is not None:
        return int(reads.step(container, ("length",)))
    return len(container)


def _list_item(reads: Reads, container: list[Any], key: Any) -> Any:
    _check_bound(reads, container)
    found = reads.step(container, ("element", key.__index__()))
    if found is ABSENT:
        raise IndexError("list index out of range")
    return found


def _check_bound(reads: Reads, container: list[Any] | dict[Any, Any]) -> None:
    if len(container) > MAX_ELEMENTS:
        path = reads.path_of(container)
        raise CaptureRefusedError(
            f"the captured {type(container).__name__} at {describe(path or FUNCTION_ROOT)} has {len(container)} "
            f"entries; up to {MAX_ELEMENTS} are guarded; capture a tuple, read a dict by key, or capture "
            "`dt.static(obj)`"
        )


def _unwrapped(reads: Reads, container: object, value: Any) -> Any:
    if isinstance(value, Static):
        return reads.freed(value.value)
    return reads.freed(value) if reads.is_free(container) else value


def _told_by_value(reads: Reads, container: object, found: Iterable[Any]) -> list[Any]:
    """Return the items of a frozenset, or keys of a dict: none has a place of its own to be guarded at."""
    items = list(found)
    for item in items:
        if not (is_by_value(item) or isinstance(item, _IMPORTABLE) or reads.is_free(container)):
            raise CaptureRefusedError(
                f"an item of a captured {type(container).__name__} is a {type(item).__qualname__}, whose content "
                "cannot be guarded there; iterate over a tuple or list"
            )
    return items


def _check_key(container: dict[Any, Any], key: Any) -> None:
    """Refuse a key that is not told from others by its encoding."""
    if is_by_value(key):
        return
    encoded = encode(key)
    alike = [other for other in container if type(other) is not str and encode(other) == encoded]
    if not isinstance(key, _IMPORTABLE) or len(alike) > 1 or any(other is not key for other in alike):
        raise CaptureRefusedError(
            f"a dict is read by a key of type {type(key).__qualname__} that is not told by its value; use a "
            "number, a string, an enum member, or a tuple of them"
        )
