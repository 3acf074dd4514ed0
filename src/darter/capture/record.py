"""The capture record: what one compile depended on, as plain data with one canonical serialisation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from darter import json_text
from darter.capture.path import Path
from darter.errors import ArtifactError
from darter.frozen import Frozen

RECORD_SCHEMA = 1
"""Version of paths, fingerprints and their serialisation; part of every primary key."""

_PARTS = frozenset({str, int})
"""Exact types of what a step is made of."""


class CaptureRecord(Frozen):
    """The reads of one compile in the order in which the front end first made them: ``(path, fingerprint)``.

    A path stands once.  An alias ``(path, first)`` says that what stands at ``path`` was the same object as what
    stands at ``first``, below which everything read from it is recorded; it all has to be so at ``path`` as well.
    Equal programs give equal records in every process, whatever the hash seed, the working directory, the install path
    or the order of definitions.
    """

    entries: tuple[tuple[Path, bytes], ...]
    aliases: tuple[tuple[Path, Path], ...] = ()

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[tuple[Path, bytes]]:
        return iter(self.entries)

    def to_bytes(self) -> bytes:
        """Return the record as canonical JSON: equal records give equal bytes."""
        entries = [[[list(step) for step in path], found.hex()] for path, found in self.entries]
        return json_text.dumps([RECORD_SCHEMA, entries, self.aliases]).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> CaptureRecord:
        """Return the record that ``to_bytes`` gave; raises ``ArtifactError`` for anything else."""
        try:
            schema, entries, aliases = json_text.loads(data)
            if schema != RECORD_SCHEMA:
                raise ArtifactError(f"a capture record has schema {schema!r}; this darter reads {RECORD_SCHEMA}")
            return cls(
                tuple((_path(steps), bytes.fromhex(found)) for steps, found in entries),
                tuple((_path(steps), _path(first)) for steps, first in aliases),
            )
        except (ValueError, TypeError, RecursionError) as error:
            if isinstance(error, ArtifactError):
                raise
            raise ArtifactError(f"a capture record is damaged: {error}") from error


def entry_start(path: Path) -> bytes:
    """Return how the entry of ``path`` begins in ``CaptureRecord.to_bytes()``, up to its hexadecimal fingerprint.

    Nothing else in a record's bytes is like it: in a string each quote has a backslash before it, and an alias has a
    path where an entry has a fingerprint.
    """
    steps = json_text.dumps([list(step) for step in path])
    return f'[{steps},"'.encode()


def read_aliases(entries: Mapping[Path, bytes], aliases: Mapping[Path, Path]) -> tuple[tuple[Path, Path], ...]:
    """Return the aliases that matter: those of objects from which something is read.

    Whether two equal constants are one object is not to be seen in a record.
    """
    kept = dict(aliases)
    while True:
        read_from = {path[:length] for path in (*entries, *kept) for length in range(1, len(path))}
        useless = [path for path, first in kept.items() if first not in read_from]
        if not useless:
            return tuple(kept.items())
        for path in useless:
            del kept[path]


def _path(steps: object) -> Path:
    if not isinstance(steps, list) or not steps:
        raise ValueError("a path without steps")
    for step in steps:
        if not (isinstance(step, list) and step and _PARTS.issuperset(map(type, step))):
            raise ValueError(f"a step that is none: {step!r}")
    return tuple(map(tuple, steps))
