"""A record compared with the live program: every path resolved again, every fingerprint compared."""

from __future__ import annotations

import types
from collections.abc import Mapping

from darter.capture.fingerprint import ABSENT, fingerprint, kind_fingerprint
from darter.capture.path import Path, Step, identity_path
from darter.capture.record import CaptureRecord
from darter.capture.steps import Codes, Roots, Watch, read, read_root, roots, step_fingerprint, watch
from darter.errors import CaptureRefusedError, SourceUnavailableError
from darter.frozen import Frozen

UNAVAILABLE = b"source unavailable"
"""Stands for the code of a function whose source is not to be found (any more)."""


class Mismatch(Frozen):
    """A path whose live fingerprint is not the recorded one; ``value`` is what stands there now (or ``ABSENT``)."""

    path: Path
    recorded: bytes
    found: bytes
    value: object


class Resolution(Frozen):
    """A record as the live program stands: what differs, what each path leads to, what the guards have to watch."""

    mismatches: tuple[Mismatch, ...]
    values: Mapping[Path, object]
    watches: tuple[Watch, ...]

    @property
    def causes(self) -> tuple[Mismatch, ...]:
        """The mismatches that follow from no other: a changed helper stands for all that is read through it."""
        paths = {mismatch.path for mismatch in self.mismatches}
        return tuple(
            mismatch
            for mismatch in self.mismatches
            if not any(mismatch.path[:length] in paths for length in range(1, len(mismatch.path)))
        )


def resolve(
    record: CaptureRecord,
    function: types.FunctionType,
    owner_class: type | None = None,
    arguments: Mapping[str, object] | None = None,
) -> tuple[Mismatch, ...]:
    """Return where ``record`` differs from the live program; empty if all of it holds (a manifest's hit).

    ``arguments`` are the classes of object arguments by parameter name, as they were given to the recorder.
    """
    return resolve_live(record, roots(function, owner_class, arguments)).causes


def resolve_live(record: CaptureRecord, known: Roots, codes: Codes | None = None) -> Resolution:
    """Return ``record`` resolved from the roots ``known``; raises nothing for what has changed or is gone."""
    return _Walk(codes).run(read_tree(record), known)


class ReadNode:
    """What a record knows of one object: the reads made of it, each with its fingerprint (None: a step on the way)."""

    __slots__ = ("fingerprint", "reads", "same_as")

    def __init__(self) -> None:
        self.reads: dict[Step, ReadNode] = {}
        self.fingerprint: bytes | None = None
        self.same_as: ReadNode | None = None

    @property
    def target(self) -> ReadNode:
        """The node that has the reads of the object here."""
        return self if self.same_as is None else self.same_as


def read_tree(record: CaptureRecord) -> ReadNode:
    """Return a record as a graph: an object that stood in several places is one node, however often it is reached."""
    top = ReadNode()

    def node(path: Path) -> ReadNode:
        found = top
        for step in path:
            below = found.reads.get(step)
            if below is None:
                below = found.reads[step] = ReadNode()
            found = below
        return found

    for path, found in record:
        node(path).fingerprint = found
    for path, first in record.aliases:
        node(path).same_as = node(first)
    return top


class _Walk:
    """One comparison of a graph of reads with live objects.

    Each node is compared once with each live object that stands for it, so aliases cost nothing twice, cycles end, and
    two equal objects may stand where one object stood when it was recorded.
    """

    def __init__(self, codes: Codes | None) -> None:
        self._codes = codes
        self._mismatches: list[Mismatch] = []
        self._values: dict[Path, object] = {}
        self._watches: list[Watch] = []
        self._compared: set[tuple[int, int]] = set()
        self._identities: list[tuple[Path, object, bytes]] = []

    def run(self, top: ReadNode, known: Roots) -> Resolution:
        for step, node in top.reads.items():
            self._compare((step,), read_root(step, known), node)
        for path, value, recorded in self._identities:
            same = value is not ABSENT and self._value_at(identity_path(path[-1]), known) is value
            if fingerprint(same) != recorded:
                self._mismatches.append(Mismatch(path, recorded, fingerprint(same), same))
        return Resolution(tuple(self._mismatches), self._values, tuple(self._watches))

    def _value_at(self, path: Path, known: Roots) -> object:
        """Return what stands at a path; inside an immutable value, no entry of its own has led there."""
        if path not in self._values:
            outer = ABSENT if len(path) == 1 else self._value_at(path[:-1], known)
            if len(path) == 1:
                self._values[path] = read_root(path[0], known)
            else:
                self._values[path] = ABSENT if outer is ABSENT else read(outer, path[-1])
        return self._values[path]

    def _compare(self, path: Path, value: object, node: ReadNode) -> None:
        self._values[path] = value  # also keeps it alive, so that its id stays its own
        if node.fingerprint is not None:
            found = _live_fingerprint(path, value, self._codes)
            if found != node.fingerprint:
                self._mismatches.append(Mismatch(path, node.fingerprint, found, value))
        for step, child in node.reads.items():
            if step[0] == "is":
                self._identities.append(((*path, step), value, child.fingerprint or b""))
        reads = node.target.reads
        pair = (id(node.target), id(value))
        if not reads or pair in self._compared:
            return
        self._compared.add(pair)
        for step, child in reads.items():
            below = (*path, step)
            if step[0] == "is":
                continue
            result = ABSENT if value is ABSENT else read(value, step)
            if value is not ABSENT:
                self._watches.extend(_watches(value, below, result))
            self._compare(below, result, child)


def _live_fingerprint(path: Path, value: object, codes: Codes | None) -> bytes:
    try:
        return step_fingerprint(path[-1], value, codes)
    except CaptureRefusedError:
        return kind_fingerprint(value)
    except SourceUnavailableError:
        return UNAVAILABLE


def _watches(container: object, path: Path, value: object) -> tuple[Watch, ...]:
    try:
        return watch(container, path[-1], value)
    except (AttributeError, TypeError, ValueError):
        # The container is of another kind than was recorded; the step that leads to it is watched and has drifted.
        return ()
