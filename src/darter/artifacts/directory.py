"""The local tier: a private directory with one file per entry.

    ROOT/<schema>/<2 hex>/<30 hex>/<32 hex>      entries of one primary key, named by their manifest's digest
    ROOT/<schema>/<2 hex>/<30 hex>/.<random>     being written; never looked at as content
    ROOT/<schema>/locks/<2 hex>                  empty files to lock
    ROOT/<schema>/notes/<32 hex>                 what was found out about this machine, named by the topic's digest

Names have a fixed length, 72 characters below ROOT at most; what a person wants to read stands inside the entries.

Nothing is fsynced: a flush costs a launch milliseconds, and what a power cut leaves behind (a cut file, or zeros)
fails its checksums and is replaced.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from typing import TYPE_CHECKING, BinaryIO

from darter.artifacts.key import SCHEMA
from darter.artifacts.settings import StoreSettings
from darter.later import later

if TYPE_CHECKING:
    from darter.artifacts import eviction
else:
    eviction = later("darter.artifacts.eviction")  # what only a publication needs

MANIFESTS_LIMIT = 1024
"""Entries kept under one primary key; the least recently used goes first."""

_NAME_CHARACTERS, _NAME_LENGTH = frozenset("0123456789abcdef"), 32
NOTES = "notes"
"""The group of what was found out, beside the groups of primary keys."""

_TOUCH_AFTER_S = 3600.0
"""A use is noted once an hour: enough to order by, and no write per hit."""


class Directory:
    """Entries as files below ``settings.directory``, which is made and checked when first used."""

    def __init__(self, root: str, settings: StoreSettings) -> None:
        self._settings = settings
        self._root = root
        self._schema_root = os.path.join(root, str(SCHEMA))
        self._eviction: eviction.Eviction | None = None

    def prepare(self) -> None:
        """Make the directory, mode 0700, and check that nobody else can put code into it.

        Raises:
            PermissionError: another user owns it or can write to it, and ``DARTER_CACHE_SHARED`` is not 1.
            OSError: it cannot be made.
        """
        self._make_root()
        found = os.stat(self._root)
        if not stat.S_ISDIR(found.st_mode):
            raise NotADirectoryError(f"{self._root} is no directory")
        if self._settings.shared:
            return
        if found.st_uid != os.geteuid():
            raise PermissionError(
                f"{self._root} belongs to user {found.st_uid} and this process runs as {os.geteuid()}; "
                "DARTER_CACHE_SHARED=1 trusts it all the same"
            )
        if found.st_mode & 0o022:
            raise PermissionError(
                f"{self._root} can be written by others (mode {stat.S_IMODE(found.st_mode):04o}); chmod 700 it, "
                "or DARTER_CACHE_SHARED=1 trusts it all the same"
            )

    def _make_root(self) -> None:
        if not os.path.exists(self._root):
            os.makedirs(os.path.dirname(self._root), exist_ok=True)
            with contextlib.suppress(FileExistsError):
                os.mkdir(self._root, 0o777 if self._settings.shared else 0o700)

    def _make_folder(self, folder: str) -> None:
        # Somebody may have removed the whole store meanwhile: the new one is as private as the old one was.
        self._make_root()
        os.makedirs(folder, exist_ok=True)

    def lock_path(self, group: str) -> str:
        """Return the path of the lock file for ``group``, its folder made.

        There are 256 for all keys, so that they never need to be removed: removing a lock file while another process
        waits for it lets two in.
        """
        folder = os.path.join(self._schema_root, "locks")
        self._make_folder(folder)
        return os.path.join(folder, group[:2])

    def newest_first(self, group: str) -> list[str]:
        """Return the names of the group's entries, most recently used first."""
        folder = self._folder(group)
        try:
            with os.scandir(folder) as entries:
                found = [(_modified_ns(entry), entry.name) for entry in entries if _is_name(entry.name)]
        except FileNotFoundError:
            return []
        return [name for _, name in sorted(found, reverse=True)]

    def open(self, group: str, name: str) -> BinaryIO:
        """Return the entry's open file; raises ``FileNotFoundError`` when it was evicted since it was listed."""
        return _open_again_if_stale(os.path.join(self._folder(group), name))

    def put(self, group: str, name: str, data: bytes) -> None:
        """Write ``data`` beside its place and rename it into it; raises ``OSError``, leaving nothing behind."""
        if len(data) > self._settings.limit_bytes:
            return
        folder = self._folder(group)
        final = os.path.join(folder, name)
        try:
            self._write(folder, final, data)
        except FileNotFoundError:
            # An eviction removed the folder, empty at that moment, between making it and writing into it.
            self._write(folder, final, data)
        self._forget_oldest(folder)
        if self._eviction is None:
            self._eviction = eviction.Eviction(self._schema_root, self._settings.limit_bytes)
        self._eviction.published(len(data))

    def touch(self, group: str, name: str) -> None:
        """Note the use of an entry in its modification time, once an hour."""
        path = os.path.join(self._folder(group), name)
        if time.time() - os.stat(path).st_mtime > _TOUCH_AFTER_S:
            os.utime(path)

    def discard(self, group: str, name: str) -> None:
        """Remove a damaged entry."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self._folder(group), name))

    def _folder(self, group: str) -> str:
        if group == NOTES:
            return os.path.join(self._schema_root, NOTES)
        return os.path.join(self._schema_root, group[:2], group[2:32])

    def _write(self, folder: str, final: str, data: bytes) -> None:
        self._make_folder(folder)
        staging = os.path.join(folder, f".{os.urandom(8).hex()}")
        mode = 0o666 if self._settings.shared else 0o600
        descriptor = os.open(staging, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        try:
            with open(descriptor, "wb", buffering=0) as stream:
                rest = memoryview(data)
                while rest:
                    rest = rest[stream.write(rest) :]
            os.replace(staging, final)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(staging)
            raise

    def _forget_oldest(self, folder: str) -> None:
        with os.scandir(folder) as entries:
            held = [entry for entry in entries if _is_name(entry.name)]
        surplus = len(held) - MANIFESTS_LIMIT
        if surplus <= 0:
            return
        for _, path in sorted((_modified_ns(entry), entry.path) for entry in held)[:surplus]:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)


def _is_name(name: str) -> bool:
    """True for the name of an entry, not for what is being written."""
    return len(name) == _NAME_LENGTH and _NAME_CHARACTERS.issuperset(name)


def _modified_ns(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat().st_mtime_ns
    except OSError:  # gone since it was listed
        return 0


def _open_again_if_stale(path: str) -> BinaryIO:
    """Open a file; over NFS another node may have replaced it, which the first attempt reports as ESTALE."""
    try:
        return open(path, "rb")
    except FileNotFoundError:
        raise
    except OSError:
        return open(path, "rb")
