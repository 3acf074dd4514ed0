"""Whether the manifests under one primary key hold: the second step of a lookup."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import TYPE_CHECKING

from darter._native import Guards
from darter.capture.baseline import guards_of, install
from darter.capture.record import CaptureRecord, entry_start
from darter.capture.resolve import Mismatch

if TYPE_CHECKING:
    from darter.source.digests import SourceDigests


class Acceptance:
    """Tells of manifests whether each path of theirs, resolved live, has its fingerprint; what told so guards the call
    state.  Made for one lookup; the arguments are those of :func:`darter.capture.baseline.guards_of`.

    What one manifest was refused for is remembered: the thousand kernels of a factory differ in a captured value, and
    all but one of them are told by it without resolving anything.  A value that changes meanwhile costs a hit, no more:
    the guards are asked once more before a call state is published.
    """

    def __init__(
        self,
        function: types.FunctionType,
        owner_class: type | None,
        arguments: Mapping[str, object] | None,
        environment: Mapping[str, str | None] | None = None,
        digests: SourceDigests | None = None,
    ) -> None:
        self._program = (function, owner_class, arguments)
        self._beside = (environment, digests)
        self._accepted: dict[bytes, Guards] = {}
        self._live: dict[bytes, bytes] = {}
        self.expected: list[bytes] = []
        """Manifests that would hold, should the front end have read again what it read for those that do not."""

    def __call__(self, manifest: bytes) -> bool:
        """Return whether a manifest (a record's bytes) holds; raises ``ArtifactError`` for a damaged one."""
        if any(_differs(manifest, start, live) for start, live in self._live.items()):
            return False
        record = CaptureRecord.from_bytes(manifest)
        guards = guards_of(record, *self._program, *self._beside)
        if guards.holds():
            self._accepted[manifest] = guards
            return True
        mismatches: tuple[Mismatch, ...] = guards.cold.mismatches
        for mismatch in mismatches:
            if mismatch.path[-1][0] != "is":  # whether two places hold one object is no property of either
                self._live[entry_start(mismatch.path)] = mismatch.found.hex().encode()
        found = {mismatch.path: mismatch.found for mismatch in mismatches}
        entries = tuple((path, found.get(path, recorded)) for path, recorded in record)
        self.expected.append(CaptureRecord(entries, record.aliases).to_bytes())
        return False

    def guards(self, manifest: bytes) -> Guards:
        """Return the guards of a manifest, which hold; raises ``CaptureRaceError`` where a captured value changed."""
        guards = self._accepted.get(manifest)
        if guards is not None and guards.holds():
            return guards
        return install(CaptureRecord.from_bytes(manifest), *self._program, *self._beside)


def _differs(manifest: bytes, start: bytes, live: bytes) -> bool:
    found = manifest.find(start)
    return found >= 0 and not manifest.startswith(live + b'"', found + len(start))
