"""One compile per key in a process: the first caller makes it, the others wait for its result or its exception."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from darter.process_lock import ProcessLock

Result = TypeVar("Result")

_LOOK_AFTER_S = 0.5
"""How often a waiter looks whether the maker is still at work."""


@dataclass(slots=True, eq=False)
class _Flight(Generic[Result]):
    owner: int
    landed: threading.Event = field(default_factory=threading.Event)
    results: list[Result] = field(default_factory=list)
    error: Exception | None = None


class SingleFlight(Generic[Result]):
    """Calls that are under way, by key.  Nothing is kept after a flight has landed: this is no cache."""

    def __init__(self) -> None:
        self._lock = ProcessLock()
        self._reset()

    def run(self, key: Hashable, make: Callable[[], Result]) -> Result:
        """Return what ``make()`` returns, called by one thread per key at a time; raises what it raises.

        A thread that comes back for the key that it is making (a helper that runs at compile time calls the launcher)
        makes it itself, since waiting would never end.  When the maker is interrupted (``KeyboardInterrupt``), a waiter
        takes over.
        """
        if self._process != os.getpid():
            self._reset()  # forked: the flights' threads are not here
        while True:
            with self._lock:
                flight = self._flights.get(key)
                mine = flight is None
                if flight is None:
                    flight = self._flights[key] = _Flight(threading.get_ident())
            if mine:
                return self._fly(key, flight, make)
            if flight.owner == threading.get_ident():
                return make()
            while not flight.landed.wait(_LOOK_AFTER_S):
                if not _is_flying(flight.owner):
                    self._land(key, flight)
            if flight.error is not None:
                raise flight.error
            if flight.results:
                return flight.results[0]

    def _fly(self, key: Hashable, flight: _Flight[Result], make: Callable[[], Result]) -> Result:
        try:
            result = make()
            flight.results.append(result)
            return result
        except Exception as error:
            flight.error = error
            raise
        finally:
            self._land(key, flight)

    def _land(self, key: Hashable, flight: _Flight[Result]) -> None:
        with self._lock:
            if self._flights.get(key) is flight:
                del self._flights[key]
        flight.landed.set()

    def _reset(self) -> None:
        self._process = os.getpid()
        self._flights: dict[Hashable, _Flight[Result]] = {}


def _is_flying(thread: int) -> bool:
    """Tell whether a thread is inside :meth:`SingleFlight.run`.

    A signal handler's exception can strike between any two instructions, so also before a flight's ``try`` and inside
    its ``finally``: then nobody lands it.
    """
    frame = sys._current_frames().get(thread)
    while frame is not None and frame.f_code is not SingleFlight.run.__code__:
        frame = frame.f_back
    return frame is not None
