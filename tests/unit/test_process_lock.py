from __future__ import annotations

import os
import threading
import warnings

from darter.process_lock import ProcessLock


def test_one_thread_at_a_time_holds_it() -> None:
    lock, inside, order = ProcessLock(), threading.Event(), []

    def other() -> None:
        inside.set()
        with lock:
            order.append("other")

    with lock:
        thread = threading.Thread(target=other)
        thread.start()
        assert inside.wait(30)
        thread.join(0.05)
        order.append("first")
    thread.join(30)
    assert order == ["first", "other"]


def test_the_thread_that_holds_it_may_come_back() -> None:
    lock = ProcessLock()
    with lock, lock:
        pass


def test_a_forked_child_finds_it_open_and_leaves_what_the_fork_was_made_in() -> None:
    lock, held, release = ProcessLock(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            release.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(30)
    assert _exit_status_of_child(lambda: _enter(lock)) == 0
    release.set()
    thread.join(30)
    with lock:
        child = _fork()
    if child == 0:
        _enter(lock)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _enter(lock: ProcessLock) -> None:
    with lock:
        pass


def _exit_status_of_child(work: object) -> int:
    child = _fork()
    if child == 0:
        work()  # type: ignore[operator]
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _fork() -> int:
    with warnings.catch_warnings():  # CPython 3.12 warns about the threads that a child loses: what this is about
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()
