"""``dt.static``: an explicit snapshot of a value, compiled in as it stands and guarded no further."""

from __future__ import annotations

from typing import Any, Final


class Static:
    """A snapshot of ``value``; kernel code sees the value itself.

    The content is copied deeply when the snapshot is made and keyed by value then, so that artifacts on disk are told
    apart; later changes of the original are neither seen nor drift.  Binding the captured name to another snapshot is
    drift, if the contents differ.
    """

    __slots__ = ("_fingerprint", "_value")

    def __init__(self, value: Any) -> None:
        # Here and not above: `import darter` needs none of the encodings.
        from darter.capture.static_content import snapshot

        copied, fingerprint = snapshot(value)
        self._value: Final = copied
        self._fingerprint: Final = fingerprint

    @property
    def value(self) -> Any:
        """The snapshot; not to be mutated."""
        return self._value

    @property
    def fingerprint(self) -> bytes:
        """SHA-256 of the content, the same in every process."""
        return self._fingerprint

    def __darter_identity__(self) -> bytes:
        return self._fingerprint

    def __repr__(self) -> str:
        return f"dt.static({self._value!r})"


def static(value: Any) -> Any:
    """Return a snapshot of ``value`` that kernel and launcher code may capture, whatever its type, without guards.

    For what cannot be guarded: sets, bytearrays, arrays, large lists.  Raises ``CaptureRefusedError`` for a value
    without a content that can be keyed (an open file, a lock).
    """
    return Static(value)
