from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from darter.artifacts.single_flight import SingleFlight


def test_waiters_get_the_result_of_the_one_that_flies() -> None:
    flights: SingleFlight[str] = SingleFlight()
    flying, release = threading.Event(), threading.Event()
    waiter_called = []

    def make() -> str:
        flying.set()
        assert release.wait(30)
        return "first"

    def late() -> str:
        waiter_called.append(True)
        return "second"

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(flights.run, "key", make)
        assert flying.wait(30)
        second = pool.submit(flights.run, "key", late)
        other_key = flights.run("another key", lambda: "not blocked")
        threading.Timer(0.1, release.set).start()
        assert (first.result(30), second.result(30), other_key) == ("first", "first", "not blocked")
    assert waiter_called == []


def test_waiters_get_the_exception_and_the_next_call_tries_again() -> None:
    flights: SingleFlight[str] = SingleFlight()
    flying, release = threading.Event(), threading.Event()

    def fail() -> str:
        flying.set()
        assert release.wait(30)
        raise ValueError("does not compile")

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(flights.run, "key", fail)
        assert flying.wait(30)
        second = pool.submit(flights.run, "key", lambda: "unused")
        threading.Timer(0.1, release.set).start()
        for result in (first, second):
            with pytest.raises(ValueError, match="does not compile"):
                result.result(30)
    assert flights.run("key", lambda: "again") == "again"


def test_an_interrupted_maker_is_replaced_by_a_waiter() -> None:
    flights: SingleFlight[str] = SingleFlight()
    flying, release = threading.Event(), threading.Event()

    def interrupted() -> str:
        flying.set()
        assert release.wait(30)
        raise KeyboardInterrupt

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(flights.run, "key", interrupted)
        assert flying.wait(30)
        second = pool.submit(flights.run, "key", lambda: "taken over")
        threading.Timer(0.1, release.set).start()
        with pytest.raises(KeyboardInterrupt):
            first.result(30)
        assert second.result(30) == "taken over"


def test_a_maker_that_is_struck_before_it_takes_off_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal's exception may strike where no ``try`` is: after the flight is entered, before it flies."""
    flights: SingleFlight[str] = SingleFlight()

    def struck(*arguments: object) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(SingleFlight, "_fly", struck)
        with pytest.raises(KeyboardInterrupt):
            flights.run("key", lambda: "unused")
    with ThreadPoolExecutor(2) as pool:
        waiters = [pool.submit(flights.run, "key", lambda: "taken over") for _ in range(2)]
        assert [waiter.result(30) for waiter in waiters] == ["taken over"] * 2


def test_a_thread_that_comes_back_for_its_own_key_does_not_wait_for_itself() -> None:
    flights: SingleFlight[str] = SingleFlight()
    assert flights.run("key", lambda: "outer " + flights.run("key", lambda: "inner")) == "outer inner"


def test_a_forked_child_does_not_wait_for_the_parents_threads() -> None:
    flights: SingleFlight[str] = SingleFlight()
    flying, release = threading.Event(), threading.Event()

    def make() -> str:
        flying.set()
        assert release.wait(30)
        return "parent"

    with ThreadPoolExecutor(1) as pool:
        pending = pool.submit(flights.run, "key", make)
        assert flying.wait(30)
        child = _fork_quietly()
        if child == 0:
            os._exit(0 if flights.run("key", lambda: "child") == "child" else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        release.set()
        assert pending.result(30) == "parent"


def _fork_quietly() -> int:
    """Fork; CPython 3.12 warns about the threads that a child loses, which is what the test is about."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()
