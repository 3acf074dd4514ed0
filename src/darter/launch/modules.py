"""What this process keeps of builds beyond one launcher: builds by key record, and loaded modules by artifact.

A kernel that a factory makes again finds its module again.  Content is the key, never an object's address.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from darter.artifacts.artifact import Artifact
from darter.artifacts.store import Build
from darter.backends import Loaded
from darter.process_lock import ProcessLock
from darter.sha256 import sha256


class Builds:
    """Builds of this process by key record: what the store is between processes."""

    __slots__ = ("_builds", "_lock")

    def __init__(self) -> None:
        self._builds: dict[bytes, list[Build]] = {}
        self._lock = ProcessLock()

    def find(self, key: bytes, resolve: Callable[[bytes], bool]) -> Build | None:
        """Return the newest build with this key whose manifest ``resolve`` accepts."""
        with self._lock:
            candidates = tuple(self._builds.get(key, ()))
        return next((build for build in candidates if resolve(build.manifest)), None)

    def add(self, key: bytes, build: Build) -> None:
        """Keep a build, in place of one with the same manifest."""
        with self._lock:
            others = [b for b in self._builds.get(key, ()) if b.manifest != build.manifest]
            self._builds[key] = [build, *others]

    def forget(self, keys: set[bytes]) -> list[Build]:
        """Drop the builds of ``keys``, and return them."""
        with self._lock:
            return [build for key in keys for build in self._builds.pop(key, ())]


class Modules:
    """Loaded modules by (content of the artifact, context); none leaves it but by :meth:`take`."""

    __slots__ = ("_loaded", "_lock")

    def __init__(self) -> None:
        self._loaded: dict[tuple[bytes, str], Loaded] = {}
        self._lock = ProcessLock()

    def obtain(self, artifact: Artifact, context: str, load: Callable[[], Loaded]) -> Loaded:
        """Return the module of an artifact in a context, loaded once."""
        key = (digest(artifact), context)
        with self._lock:
            if key not in self._loaded:
                self._loaded[key] = load()
            return self._loaded[key]

    def take(self, artifacts: Iterable[Artifact] | None) -> list[Loaded]:
        """Remove and return the modules of some artifacts in every context, or all modules."""
        wanted = None if artifacts is None else {digest(artifact) for artifact in artifacts}
        with self._lock:
            keys = [key for key in self._loaded if wanted is None or key[0] in wanted]
            return [self._loaded.pop(key) for key in keys]


def digest(artifact: Artifact) -> bytes:
    """Return the SHA-256 of everything that loading an artifact reads."""
    found = sha256(artifact.code)
    for kernel in artifact.kernels:
        found.update(repr(kernel).encode())
    return found.digest()
