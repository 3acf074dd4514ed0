"""Where the store is and how it behaves: the environment, read when the store is first needed."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from functools import lru_cache

from darter.errors import StoreWarning
from darter.frozen import Frozen

DEFAULT_LIMIT_BYTES = 1 << 30
LOCK_TIMEOUT_LIMIT_S = 60.0


class StoreSettings(Frozen):
    """``directory`` is absolute, or None where no place for a store is to be found.

    ``shared`` admits a directory that others own or may write; ``limit_bytes`` is what the entries may take together (0
    keeps nothing on disk); ``lock_timeout_s`` bounds the wait for another process's compile.
    """

    directory: str | None
    shared: bool = False
    limit_bytes: int = DEFAULT_LIMIT_BYTES
    lock_timeout_s: float = LOCK_TIMEOUT_LIMIT_S


def settings_from(environment: Mapping[str, str]) -> StoreSettings:
    """Return what ``DARTER_CACHE_DIR``, ``_CACHE_SHARED``, ``_CACHE_LIMIT`` and ``DARTER_LOCK_TIMEOUT`` ask for.

    A value that cannot be read is warned about and replaced by its default: the store never fails a launch.
    """
    limit = _number(environment, "DARTER_CACHE_LIMIT", DEFAULT_LIMIT_BYTES, "a number of bytes")
    timeout = _number(environment, "DARTER_LOCK_TIMEOUT", LOCK_TIMEOUT_LIMIT_S, "a number of seconds")
    return StoreSettings(
        directory=_directory(environment.get("DARTER_CACHE_DIR", "")),
        shared=environment.get("DARTER_CACHE_SHARED", "") == "1",
        limit_bytes=int(limit),
        lock_timeout_s=min(timeout, LOCK_TIMEOUT_LIMIT_S),
    )


def _directory(named: str) -> str | None:
    if named:
        try:
            return _absolute(named)
        except OSError:  # a relative path, and the directory that the process stands in was removed
            return None
    import platformdirs  # 10 ms that a process with DARTER_CACHE_DIR set does not pay

    try:
        found = platformdirs.user_cache_dir("darter", appauthor=False)
    except RuntimeError:  # no HOME, and no row in the user database
        return None
    # Older versions leave "~" as it is then; a store in "./~" would surprise everybody.
    return found if os.path.isabs(found) else None


@lru_cache(maxsize=16)
def _absolute(named: str) -> str:
    """Return the path from where the process stood at its first use: a later ``chdir`` does not move the store."""
    return os.path.abspath(os.path.expanduser(named))


def _number(environment: Mapping[str, str], name: str, default: float, accepted: str) -> float:
    text = environment.get(name, "")
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if 0 <= value < float("inf"):
        return value
    warnings.warn(f"{name} is {text!r}; accepted is {accepted}; {default:g} is used", StoreWarning, stacklevel=2)
    return default
