"""The store: artifacts between processes, found in two steps, and never a reason for a launch to fail.

Only the front end knows what a function captures, so the primary key finds candidates: entries whose manifests say what
one compile read.  The one whose manifest still resolves is the hit.  Every failure of the disk is a miss or a skipped
publication, and is warned about once.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

from darter.artifacts import format as entry_format
from darter.artifacts.artifact import Artifact
from darter.artifacts.directory import NOTES, Directory
from darter.artifacts.key import KeyRecord
from darter.artifacts.settings import StoreSettings, settings_from
from darter.errors import ArtifactError, StoreWarning
from darter.frozen import Frozen
from darter.later import later
from darter.sha256 import sha256

if TYPE_CHECKING:
    from darter.artifacts import lock, single_flight

    _Turns = tuple[single_flight.SingleFlight["Build"], lock.CompileLocks]
else:
    # What only a compile needs.
    lock = later("darter.artifacts.lock")
    single_flight = later("darter.artifacts.single_flight")


_MOST_LOOKED_INTO = 64
"""Entries of one key that a lookup opens, besides those that it expects to hold: 6 ms."""


class Build(Frozen):
    """What a compile leaves, or a hit finds: the manifest (the capture record's bytes) and the artifact."""

    manifest: bytes
    artifact: Artifact
    from_disk: bool = False


class Store:
    """The entries that ``settings`` point at.  No method raises for the disk's sake."""

    def __init__(self, settings: StoreSettings) -> None:
        self._settings = settings
        self._made_turns: dict[str, _Turns] = {}
        self._warned: set[str] = set()
        self._directory: Directory | None = None
        self._prepared = False

    def lookup(self, key: KeyRecord, resolve: Callable[[bytes], bool], expected: Sequence[bytes] = ()) -> Build | None:
        """Return an entry with exactly this key whose manifest ``resolve`` accepts, the newest one first, or None.

        ``resolve`` is given a manifest and says whether every path of it, resolved live, still has its fingerprint;
        ``expected`` are manifests that would hold, as far as those tell that it has refused so far.  An entry that is
        damaged is dropped, so that the next publication replaces it.
        """
        directory = self._ready()
        if directory is None:
            return None
        try:
            names = directory.newest_first(key.digest)
        except OSError as error:
            self._warn("read", f"it could not be read ({error})")
            return None
        # What is wrong with one entry keeps nobody from the next.
        found = (self._read(directory, key, name, resolve) for name in _promising(names, expected))
        return next((build for build in found if build is not None), None)

    def _read(self, directory: Directory, key: KeyRecord, name: str, resolve: Callable[[bytes], bool]) -> Build | None:
        try:
            with directory.open(key.digest, name) as stream:
                head = entry_format.read_head(stream)
                # The name is a cut hash and decides nothing: the whole record does.
                if head.key != key.data or not resolve(head.manifest):
                    return None
                build = Build(head.manifest, entry_format.read_artifact(stream, head), from_disk=True)
        except FileNotFoundError:  # evicted since it was listed
            return None
        except ArtifactError as error:
            self._drop(directory, key, name, error)
            return None
        except OSError as error:
            self._warn("read", f"an entry could not be read ({error})")
            return None
        self._touch(directory, key, name)
        return build

    def publish(self, key: KeyRecord, build: Build) -> None:
        """Keep ``build`` for other processes, as one atomic unit; a failure is warned about once."""
        directory = self._ready()
        if directory is None:
            return
        try:
            data = entry_format.encode(key, build.manifest, build.artifact)
            directory.put(key.digest, _entry_name(build.manifest), data)
        except OSError as error:
            self._warn("write", f"it could not be written ({error})")

    def remembered(self, topic: str, question: str) -> str | None:
        """Return what :meth:`remember` was last told of a topic, by whatever process, if the question is the same.

        ``question`` is compared as a whole.
        """
        directory = self._ready()
        if directory is None:
            return None
        try:
            with directory.open(NOTES, _note_name(topic)) as stream:
                answer, _, found = stream.read().decode("utf-8", "surrogateescape").partition("\n")
        except OSError:
            return None
        return answer if found == question else None

    def remember(self, topic: str, question: str, answer: str) -> None:
        """Keep an answer, one line, for other processes, in place of the topic's last one, if the disk allows it."""
        directory = self._ready()
        if directory is None:
            return
        try:
            data = f"{answer}\n{question}".encode("utf-8", "surrogateescape")
            directory.put(NOTES, _note_name(topic), data)
        except OSError:
            return  # asked again, and found out again

    def obtain(
        self,
        key: KeyRecord,
        resolve: Callable[[bytes], bool],
        compile: Callable[[], Build],
        expected: Sequence[bytes] = (),
    ) -> Build:
        """Return the build for ``key``: from the store, another thread's or process's compile, or ``compile()``.

        One compile per key runs at a time in this process, and on this machine as far as file locks reach; the wait for
        another process is bounded, and the loser of a race uses its own build.  Raises what ``compile`` raises, in
        every thread that waited for it.
        """

        def look() -> Build | None:
            return self.lookup(key, resolve, expected)

        found = look()
        if found is not None:
            return found
        mine = False

        def make() -> Build:
            nonlocal mine
            mine = True
            return self._compile_once(key, look, compile)

        flights, _ = self._turns()
        while found is None:
            made = flights.run(key.data, make)
            # Another thread's build may have captured values that have changed since.
            found = made if mine or resolve(made.manifest) else look()
        return found

    def _compile_once(self, key: KeyRecord, look: Callable[[], Build | None], compile: Callable[[], Build]) -> Build:
        with self._machine_lock(key):
            found = look()
            if found is not None:
                return found
            build = compile()
            self.publish(key, build)
            return build

    @contextmanager
    def _machine_lock(self, key: KeyRecord) -> Iterator[None]:
        directory = self._ready()
        path = None
        if directory is not None:
            try:
                path = directory.lock_path(key.digest)
            except OSError as error:
                self._warn("write", f"it could not be written ({error})")
        if path is None:
            yield
            return
        _, locks = self._turns()
        with locks.hold(path):
            yield

    def _turns(self) -> _Turns:
        """Return what gives compiles their turns, in this process and on this machine; made at the first compile."""
        found = self._made_turns.get("turns")
        if found is None:
            made: _Turns = single_flight.SingleFlight(), lock.CompileLocks(self._settings.lock_timeout_s)
            # Atomic, where a lock could be held in the moment of a fork: all threads get the same.
            found = self._made_turns.setdefault("turns", made)
        return found

    def _ready(self) -> Directory | None:
        """Return the directory, made and checked at the first use, or None where there is none to trust."""
        if not self._prepared:
            self._directory = self._prepare()
            self._prepared = True
        return self._directory

    def _prepare(self) -> Directory | None:
        if self._settings.limit_bytes == 0:
            return None
        if self._settings.directory is None:
            self._warn("place", "no directory for it is to be found; set DARTER_CACHE_DIR to an absolute path")
            return None
        directory = Directory(self._settings.directory, self._settings)
        try:
            directory.prepare()
        except OSError as error:
            self._warn("place", f"it is not used: {error}")
            return None
        return directory

    def _drop(self, directory: Directory, key: KeyRecord, name: str, why: ArtifactError) -> None:
        self._warn("damaged", f"a damaged entry of {key.function} is replaced: {why}")
        try:
            directory.discard(key.digest, name)
        except OSError as error:
            self._warn("write", f"it could not be written ({error})")

    def _touch(self, directory: Directory, key: KeyRecord, name: str) -> None:
        try:
            directory.touch(key.digest, name)
        except OSError:
            # A store that may be read and not written serves hits; its owner keeps it in order.
            return

    def _warn(self, kind: str, what: str) -> None:
        if kind in self._warned:
            return
        self._warned.add(kind)
        where = f" at {self._settings.directory}" if self._settings.directory else ""
        warnings.warn(f"darter's artifact store{where}: {what}; launches go on from memory", StoreWarning, stacklevel=3)


def _entry_name(manifest: bytes) -> str:
    return sha256(manifest).hexdigest()[:32]


def _promising(names: Sequence[str], expected: Sequence[bytes]) -> Iterator[str]:
    """Yield the names to look into: the first ones, and before each those of manifests that are expected by then."""
    left = set(names)
    for name in names[:_MOST_LOOKED_INTO]:
        for likely in (*map(_entry_name, expected), name):
            if likely in left:
                left.remove(likely)
                yield likely
    yield from left.intersection(map(_entry_name, expected))


def _note_name(topic: str) -> str:
    return sha256(topic.encode("utf-8", "surrogateescape")).hexdigest()[:32]


@lru_cache(maxsize=16)
def _store(settings: StoreSettings) -> Store:
    return Store(settings)


def local_store() -> Store:
    """Return the process's store for the environment as it is now; touches no disk yet."""
    return _store(settings_from(os.environ))
