"""A record compared with the live program: every path resolved again, every fingerprint compared."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass

from darter.capture.fingerprint import ABSENT, kind_fingerprint
from darter.capture.path import Path
from darter.capture.record import CaptureRecord
from darter.capture.steps import Codes, Roots, Watch, read, read_root, roots, step_fingerprint, watch
from darter.errors import CaptureRefusedError, SourceUnavailableError

UNAVAILABLE = b"source unavailable"
"""Stands for the code of a function whose source is not to be found (any more)."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A path whose live fingerprint is not the recorded one; ``value`` is what stands there now (or ``ABSENT``)."""

    path: Path
    recorded: bytes
    found: bytes
    value: object


@dataclass(frozen=True, slots=True)
class Resolution:
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
    values: dict[Path, object] = {}
    watches: list[Watch] = []
    mismatches: list[Mismatch] = []
    for path, recorded in record:
        value = _follow(path, known, values, watches)
        found = _live_fingerprint(path, value, codes)
        if found != recorded:
            mismatches.append(Mismatch(path, recorded, found, value))
    return Resolution(tuple(mismatches), values, tuple(watches))


def _follow(path: Path, known: Roots, values: dict[Path, object], watches: list[Watch]) -> object:
    """Return what ``path`` leads to; keep what each of its beginnings leads to, and what has to be watched for it."""
    if path in values:
        return values[path]
    value: object = ABSENT
    if len(path) == 1:
        value = read_root(path[0], known)
    else:
        before = _follow(path[:-1], known, values, watches)
        if before is not ABSENT:
            value = read(before, path[-1])
            watches.extend(_watches(before, path, value))
    values[path] = value
    return value


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
