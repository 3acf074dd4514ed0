"""One compile per key on a machine: file locks that the kernel releases, with a bounded wait."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

_POLL_S = 0.02


class CompileLocks:
    """The file locks of one store; ``timeout_s`` bounds each wait, in seconds."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._held = threading.local()

    @contextlib.contextmanager
    def hold(self, path: str) -> Iterator[bool]:
        """Hold the lock at ``path`` inside the ``with``; its value is whether it was got.

        Without it the caller compiles all the same, and loses nothing but time: publishing is atomic.  A process that
        dies gives the lock back; on a file system without locks nobody waits.  A thread that holds the lock already,
        for a compile that started this one, does not wait for itself.
        """
        mine: set[str] = self._held.__dict__.setdefault("paths", set())
        if path in mine:
            yield False
            return
        with _locked(path, self._timeout_s) as held:
            mine.add(path)
            try:
                yield held
            finally:
                mine.discard(path)


@contextlib.contextmanager
def _locked(path: str, timeout_s: float) -> Iterator[bool]:
    # 30 ms of imports that only a compile pays.
    from filelock import FileLock, Timeout

    # No soft fallback: a marker file outlives the process that made it, and everybody would wait for the dead.
    lock = FileLock(path, timeout=timeout_s, poll_interval=_POLL_S, fallback_to_soft=False, preserve_lock_file=True)
    try:
        lock.acquire()
        held = True
    except (Timeout, OSError, NotImplementedError):
        held = False
    try:
        yield held
    finally:
        if held:
            with contextlib.suppress(OSError):
                lock.release()
