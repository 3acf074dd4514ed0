"""Baselines: what a call state was compiled with, and the guards that tell in nanoseconds whether it still stands."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from darter._native import Guards
from darter.capture.fingerprint import ABSENT, fingerprint
from darter.capture.path import Path
from darter.capture.record import CaptureRecord
from darter.capture.resolve import Mismatch, Resolution, resolve_live
from darter.capture.steps import Codes, Roots, Watch, environment_path, environment_value, roots
from darter.errors import CaptureRaceError
from darter.frozen import replaced
from darter.later import later

if TYPE_CHECKING:
    from darter.capture import drift
    from darter.source.digests import SourceDigests
else:
    # Where captured values hold, no words are needed for them.
    drift = later("darter.capture.drift")


class Baseline:
    """The cold side of a guard: called when something that is watched is no longer identical.

    A call resolves the whole record again and returns ``(holds, watches)``: whether every fingerprint is the recorded
    one, and the live entries that this answer rests on.  Equal values under new identities (a reload that changed
    nothing) hold.  ``mismatches`` are those of the last comparison.
    """

    def __init__(self, record: CaptureRecord, known: Roots, digests: SourceDigests | None = None) -> None:
        self.record: Final = record
        self._roots: Final = known
        self._codes: Final = Codes(digests)
        self._before: Mapping[Path, object] = {}
        self.mismatches: tuple[Mismatch, ...] = ()

    def __call__(self) -> tuple[bool, tuple[Watch, ...]]:
        found = self._resolve()
        return not found.mismatches, found.watches

    def differences(self) -> list[drift.Drift]:
        """Return what differs at this moment, causes only; empty if nothing does."""
        found = self._resolve()
        return [drift.drift(mismatch, found.values, self._before) for mismatch in found.causes]

    def _resolve(self) -> Resolution:
        found = resolve_live(self.record, self._roots, self._codes)
        self.mismatches = found.mismatches
        if not found.mismatches:
            self._before = found.values
        return found


def guards_of(
    record: CaptureRecord,
    function: types.FunctionType,
    owner_class: type | None = None,
    arguments: Mapping[str, object] | None = None,
    environment: Mapping[str, str | None] | None = None,
    digests: SourceDigests | None = None,
) -> Guards:
    """Return the guards of ``record``: armed first, then compared with the live program when they are first asked.

    ``arguments`` are the classes of object arguments by parameter name, as they were given to the recorder.
    ``environment`` are variables that the build used beyond the record, with the values that it saw
    (``darter.config.steering_variables()``): guarded here, but resolved in the primary key and so in no manifest.
    ``digests`` are those of sources that are known.
    """
    guarded = replaced(record, entries=(*record.entries, *_environment_entries(environment or {})))
    return Guards(Baseline(guarded, roots(function, owner_class, arguments), digests), ABSENT)


def install(
    record: CaptureRecord,
    function: types.FunctionType,
    owner_class: type | None = None,
    arguments: Mapping[str, object] | None = None,
    environment: Mapping[str, str | None] | None = None,
    digests: SourceDigests | None = None,
) -> Guards:
    """Return the guards of ``record``, as :func:`guards_of` does, which hold: the last step before a call state is
    published.

    Raises:
        CaptureRaceError: the record does not hold, because a captured value changed since it was recorded; nothing is
            to be published.
    """
    guards = guards_of(record, function, owner_class, arguments, environment, digests)
    if not guards.holds():
        changes = "; ".join(map(str, guards.differences()))
        raise CaptureRaceError(f"captured state changed while '{function.__qualname__}' was being compiled: {changes}")
    return guards


def _environment_entries(environment: Mapping[str, str | None]) -> list[tuple[Path, bytes]]:
    return [
        (environment_path(name), fingerprint(ABSENT if value is None else environment_value(value)))
        for name, value in environment.items()
    ]
