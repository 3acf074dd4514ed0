from __future__ import annotations

import io

import pytest
from hypothesis import given, strategies as st

from darter.artifacts import format as entry_format
from darter.errors import ArtifactError
from tests.artifact_samples import sample_artifact, sample_key

ENTRY = entry_format.encode(sample_key(), b"manifest \x00\xff", sample_artifact())


def test_an_entry_reads_back_as_what_was_written() -> None:
    entry = entry_format.read(io.BytesIO(ENTRY))
    assert entry.key == sample_key().data
    assert entry.manifest == b"manifest \x00\xff"
    assert entry.artifact == sample_artifact()


def test_the_same_artifact_has_the_same_bytes() -> None:
    assert entry_format.encode(sample_key(), b"manifest \x00\xff", sample_artifact()) == ENTRY


def _is_refused(data: bytes) -> bool:
    try:
        entry_format.read(io.BytesIO(data))
    except ArtifactError:
        return True
    return False


def test_an_entry_cut_anywhere_is_refused() -> None:
    assert [length for length in range(len(ENTRY)) if not _is_refused(ENTRY[:length])] == []


def test_a_changed_bit_anywhere_is_refused() -> None:
    accepted = []
    for position in range(len(ENTRY)):
        for bit in range(8):
            damaged = bytearray(ENTRY)
            damaged[position] ^= 1 << bit
            if not _is_refused(bytes(damaged)):
                accepted.append((position, bit))
    assert accepted == []


def test_bytes_after_the_end_are_refused() -> None:
    with pytest.raises(ArtifactError, match="follow"):
        entry_format.read(io.BytesIO(ENTRY + b"\0"))


@given(st.binary(max_size=200))
def test_any_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ArtifactError):
        entry_format.read(io.BytesIO(data))


def test_the_head_is_read_without_the_code() -> None:
    stream = io.BytesIO(ENTRY[: len(ENTRY) - len(sample_artifact().code)])
    head = entry_format.read_head(stream)
    assert head.manifest == b"manifest \x00\xff"
