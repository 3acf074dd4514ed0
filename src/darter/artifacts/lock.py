"""One compile per key on a machine: file locks that the kernel releases, with a bounded wait."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator

_POLL_S = 0.02
ANNOUNCED_AFTER_S = 3.0
"""A wait that takes longer is told about on stderr, so that a start-up that stands still can be read."""


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
    lock = FileLock(path, poll_interval=_POLL_S, fallback_to_soft=False, preserve_lock_file=True)
    held = False
    try:
        for wait_s in _waits(timeout_s):
            with contextlib.suppress(Timeout):
                lock.acquire(timeout=wait_s)
                held = True
                break
    except (OSError, NotImplementedError):
        pass  # a file system without locks: nobody waits
    try:
        yield held
    finally:
        if held:
            with contextlib.suppress(OSError):
                lock.release()


def _waits(timeout_s: float) -> Iterator[float]:
    """Yield the parts of a wait of ``timeout_s`` seconds, and say between them what is waited for."""
    yield min(timeout_s, ANNOUNCED_AFTER_S)
    if timeout_s > ANNOUNCED_AFTER_S:
        rest_s = timeout_s - ANNOUNCED_AFTER_S
        sys.stderr.write(f"darter: another process is compiling the same launcher; waiting up to {rest_s:.0f} s more\n")
        yield rest_s
