"""The native half of darter: the warm call."""

from collections.abc import Callable
from typing import Any

class Guards:
    """Whether what a compile captured is still what it was.

    ``cold()`` returns ``(holds, watches)``, a full comparison by value and the live entries that it rests on (see
    ``darter.capture.steps``); ``absent`` stands for "not there" in watches.
    """

    cold: Any
    accepted: bool
    """Whether there is drift, and ``accept()`` was called for it."""
    entry_count: int
    """How many entries are compared."""

    def __init__(self, cold: Callable[[], tuple[bool, Any]], absent: object) -> None: ...
    def holds(self) -> bool:
        """Return whether everything that was captured is unchanged, by value."""
    def differences(self) -> list[Any]:
        """Return what has changed, as a list of ``darter.capture.drift.Drift``."""
    def accept(self) -> None:
        """Take the present state as intended, until it changes again."""

def bump_epoch() -> None:
    """Make every guard compare what it guards at its next check."""

def watched_dict_count() -> int:
    """Return how many dicts are watched (0 on 3.11)."""
