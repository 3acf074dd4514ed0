"""Manifests of one primary key: which of them holds, and how few of them have to be resolved to find out."""

from __future__ import annotations

from typing import Any

import pytest

from darter.capture import acceptance
from darter.capture.acceptance import Acceptance
from darter.capture.record import CaptureRecord, entry_start
from darter.capture.recorder import Recorder
from darter.errors import ArtifactError

SCALE = 1


def make(number: Any, text: str = "") -> Any:
    def function() -> Any:
        return number, text, SCALE

    return function


def manifest(function: Any) -> bytes:
    recorder = Recorder(function, None)
    for name in ("text", "number", "SCALE"):
        recorder.name(function, name)
    return recorder.finish().to_bytes()


@pytest.fixture
def resolved(monkeypatch: pytest.MonkeyPatch) -> list[CaptureRecord]:
    """The records that are resolved, in order."""
    seen: list[CaptureRecord] = []
    guards_of = acceptance.guards_of

    def counted(record: CaptureRecord, *arguments: Any) -> Any:
        seen.append(record)
        return guards_of(record, *arguments)

    monkeypatch.setattr(acceptance, "guards_of", counted)
    return seen


def test_of_many_that_differ_in_one_value_two_are_resolved(resolved: list[CaptureRecord]) -> None:
    manifests = [manifest(make(number)) for number in range(50)]
    accept = Acceptance(make(37), None, None)
    assert [number for number, found in enumerate(manifests) if accept(found)] == [37]
    assert len(resolved) == 2


def test_what_differs_in_several_values_is_told_by_any_of_them(resolved: list[CaptureRecord]) -> None:
    manifests = [manifest(make(number, text)) for number in range(4) for text in ("a", "b", '["cell","number"],"')]
    accept = Acceptance(make(3, '["cell","number"],"'), None, None)
    assert [accept(found) for found in manifests] == [False] * 11 + [True]
    assert len(resolved) == 2  # the first differs in both


def test_the_manifest_that_would_hold_is_told_from_one_that_does_not() -> None:
    manifests = [manifest(make(number)) for number in range(5)]
    accept = Acceptance(make(3), None, None)
    assert accept.expected == []
    assert not accept(manifests[0])
    assert accept.expected == [manifests[3]]


def test_an_acceptance_is_of_its_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    function = make(1)
    before = manifest(function)
    monkeypatch.setattr(f"{__name__}.SCALE", 2)
    assert not Acceptance(function, None, None)(before)
    monkeypatch.undo()
    assert Acceptance(function, None, None)(before)


def test_a_damaged_manifest_is_told_of() -> None:
    with pytest.raises(ArtifactError):
        Acceptance(make(1), None, None)(b"{}")


def test_an_entry_begins_like_no_other() -> None:
    record = CaptureRecord.from_bytes(manifest(make(1)))
    data = record.to_bytes()
    for path, found in record:
        assert data.count(entry_start(path)) == 1
        assert data.startswith(found.hex().encode(), data.index(entry_start(path)) + len(entry_start(path)))
