"""What the store asks of a place that keeps entries; the local directory is one, a remote one can stand behind it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Protocol


class Tier(Protocol):
    """Named blobs in groups.

    A group is a primary key's digest, a name a manifest's; both are hexadecimal and of fixed length.  Every method may
    raise ``OSError``, which the store turns into a miss or a skipped publication.
    """

    def open_newest_first(self, group: str) -> Iterator[tuple[str, BinaryIO]]:
        """Yield (name, open stream) of each blob of the group, most recently used first; skips what is gone."""

    def put(self, group: str, name: str, data: bytes) -> None:
        """Make ``data`` the blob of that name, atomically: a reader sees the old blob or the new one."""

    def touch(self, group: str, name: str) -> None:
        """Note that the blob was used."""

    def discard(self, group: str, name: str) -> None:
        """Forget the blob, which is damaged."""
