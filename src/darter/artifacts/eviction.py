"""Keeping the local directory under its limit: the least recently used entries go first.

Removing a file is safe at any moment: a process that reads it keeps its open file, a process that comes later misses
and compiles.  Loaded code lives in memory and never maps an entry.
"""

from __future__ import annotations

import contextlib
import os
import time

_STAGING_AGE_S = 3600.0
"""A file in writing that is this old was left by a process that died."""

_LOW_WATER = 0.9
"""An eviction makes a tenth of the limit free, so that the next one is far away."""


class Eviction:
    """Looks at the sizes at the first publication of a process, then each time 1/16 of the limit is new."""

    def __init__(self, root: str, limit_bytes: int) -> None:
        self._root = root
        self._limit_bytes = limit_bytes
        self._new_bytes = limit_bytes

    def published(self, size_bytes: int) -> None:
        """Count a publication, and evict when it is time; raises ``OSError``."""
        self._new_bytes += size_bytes
        if self._new_bytes * 16 >= self._limit_bytes:
            self._new_bytes = 0
            self._evict()

    def _evict(self) -> None:
        entries: list[tuple[float, int, str]] = []
        now = time.time()
        for folder, _, names in os.walk(self._root):
            for name in names:
                path = os.path.join(folder, name)
                with contextlib.suppress(FileNotFoundError):
                    found = os.stat(path)
                    if not name.startswith("."):
                        entries.append((found.st_mtime, found.st_size, path))
                    elif now - found.st_mtime > _STAGING_AGE_S:
                        os.unlink(path)
        total = sum(size for _, size, _ in entries)
        if total <= self._limit_bytes:
            return
        for _, size, path in sorted(entries):
            if total <= self._limit_bytes * _LOW_WATER:
                return
            if size:  # lock files are empty and stay
                _remove(path)
                total -= size


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    with contextlib.suppress(OSError):  # other entries are left in the folder
        os.rmdir(os.path.dirname(path))
