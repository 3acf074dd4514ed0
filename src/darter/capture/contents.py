"""What Python's own operators and builtins read of captured values: recorded before they run.

An operator on a captured list reads all of it; on an enum member or a dataclass it may run a method of its class.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Final

from darter.capture.fingerprint import is_frozen_dataclass
from darter.errors import CaptureRefusedError

if TYPE_CHECKING:
    from darter.capture.recorder import Recorder

_ATOMS: Final = frozenset({type(None), bool, int, float, complex, str, bytes, range, slice, type(...)})


def content(recorder: Recorder, value: Any, special: AbstractSet[str]) -> Any:
    """Return ``value`` for an operation that reads all of it and may run the special methods ``special``.

    Captured lists and dicts come back as copies of what was recorded.  Raises ``CaptureRefusedError`` where an
    operation would run a special method that a user wrote: native code would not record what that reads.
    """
    kind = type(value)
    if kind in _ATOMS or isinstance(value, type):
        return value
    if isinstance(value, enum.Enum):
        _check_operators(recorder, value, special)
        return value
    if isinstance(value, (list, dict)):
        return _of_mutable(recorder, value, special)
    if isinstance(value, tuple):
        if kind is not tuple:
            _check_operators(recorder, value, special)
        items = [content(recorder, item, special) for item in recorder.items(value)]
        same = all(a is b for a, b in zip(items, tuple.__iter__(value), strict=True))
        return value if same else tuple.__new__(kind, items)
    if isinstance(value, frozenset):
        for item in recorder.items(value):
            content(recorder, item, special)
        return value
    if is_frozen_dataclass(value):
        _check_operators(recorder, value, special)
        for field in dataclasses.fields(value):
            content(recorder, recorder.attribute(value, field.name), special)
    return value


def _of_mutable(recorder: Recorder, value: Any, special: AbstractSet[str]) -> Any:
    if isinstance(value, dict):
        pairs = {key: content(recorder, item, special) for key, item in recorder.entries(value)}
        same = type(value) is not dict and all(pairs[key] is item for key, item in value.items())
        return value if same else pairs
    items = [content(recorder, item, special) for item in recorder.items(value)]
    same = type(value) is not list and all(a is b for a, b in zip(items, value, strict=True))
    return value if same else items


def _check_operators(recorder: Recorder, value: Any, special: AbstractSet[str]) -> None:
    cls = recorder.class_of(value)
    own = special & frozenset(recorder.structure(cls)[1])
    if own:
        raise CaptureRefusedError(
            f"this would run {sorted(own)[0]} of class '{cls.__qualname__}' outside the compiled code, where what it "
            "reads is not recorded; call a method or a function that you wrote instead, or read the value (`x.value`, "
            "a field)"
        )
