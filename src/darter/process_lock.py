"""A lock for what a process keeps, which a fork, a signal handler and a destructor cannot turn into a standstill."""

from __future__ import annotations

import os
from _thread import RLock  # what threading calls RLock, which takes 0.5 ms to import


class ProcessLock:
    """A reentrant lock that a forked child finds open, since the thread that held it is not there.

    The child sees what it protects as the fork found it: each statement has to leave that whole.  Reentrant, since
    Python runs signal handlers and destructors, which may launch, at any moment.
    """

    __slots__ = ("_by_process",)

    def __init__(self) -> None:
        self._by_process = {os.getpid(): RLock()}

    def __enter__(self) -> None:
        process = os.getpid()
        # One step: two threads of a child may be here at once.
        (self._by_process.get(process) or self._by_process.setdefault(process, RLock())).acquire()

    def __exit__(self, *exception: object) -> None:
        lock = self._by_process.get(os.getpid())
        if lock is not None:  # the fork was made inside of the `with`
            lock.release()
