"""What a ``dt.static`` snapshot holds: a deep copy, and the canonical encoding of its content."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable
from typing import Any, Final

from darter.capture import fingerprint as canonical
from darter.capture.fingerprint import join
from darter.errors import CaptureRefusedError


def snapshot(value: Any) -> tuple[Any, bytes]:
    """Return a deep copy of ``value`` and the SHA-256 of its content, the same in every process.

    Raises ``CaptureRefusedError`` for a value without a content that can be keyed.
    """
    copied = copy.deepcopy(value)
    return copied, hashlib.sha256(_content(copied, 0)).digest()


def _content(value: object, depth: int) -> bytes:
    if depth > canonical.MAX_DEPTH:
        raise CaptureRefusedError("dt.static was given a value that contains itself or is nested too deep")

    def inner(item: object) -> bytes:
        return _content(item, depth + 1)

    for kinds, encode in _CONTAINERS:
        if type(value) in kinds:
            return encode(value, inner)
    array = _array(value)
    if array is not None:
        return array
    encoded = canonical.encode(value)
    attributes = _attributes(value) if encoded.startswith(b"instance(") else None
    if attributes is not None:
        return join(b"static-instance", (encoded, *(inner(item) for pair in attributes for item in pair)))
    if encoded.startswith((b"module(", b"function(", b"method(", b"partial")):
        raise CaptureRefusedError(
            f"dt.static was given a {type(value).__name__}, which has no content to keep; capture it directly: it is "
            f"guarded"
        )
    return encoded


def _attributes(value: object) -> list[tuple[str, object]]:
    names = set(getattr(value, "__dict__", ()))
    for base in type(value).__mro__:
        slots = base.__dict__.get("__slots__", ())
        names.update((slots,) if isinstance(slots, str) else slots)
    return sorted((name, getattr(value, name)) for name in names if hasattr(value, name))


def _array(value: object) -> bytes | None:
    import array
    import sys

    if isinstance(value, (bytearray, array.array)):
        return join(
            b"static-bytes", (type(value).__name__.encode(), getattr(value, "typecode", "").encode(), bytes(value))
        )
    numpy = sys.modules.get("numpy")
    if numpy is None or type(value) is not numpy.ndarray or value.dtype.hasobject:  # type: ignore[attr-defined]
        return None
    found: Any = value
    shape = b",".join(b"%d" % extent for extent in found.shape)
    return join(b"static-array", (repr(found.dtype.descr).encode(), found.dtype.name.encode(), shape, found.tobytes()))


_Inner = Callable[[object], bytes]


def _dict(value: Any, inner: _Inner) -> bytes:
    return join(b"static-dict", (part for key, item in value.items() for part in (inner(key), inner(item))))


_CONTAINERS: Final[tuple[tuple[frozenset[type], Callable[[Any, _Inner], bytes]], ...]] = (
    (frozenset({list}), lambda value, inner: join(b"static-list", map(inner, value))),
    (frozenset({tuple}), lambda value, inner: join(b"static-tuple", map(inner, value))),
    (frozenset({set}), lambda value, inner: join(b"static-set", sorted(map(inner, value)))),
    (frozenset({frozenset}), lambda value, inner: join(b"static-frozenset", sorted(map(inner, value)))),
    (frozenset({dict}), _dict),
)
