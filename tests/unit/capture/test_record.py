from __future__ import annotations

import pytest

from darter.capture.path import FUNCTION_ROOT, describe, key_step
from darter.capture.record import CaptureRecord, read_aliases
from darter.errors import ArtifactError

NAME = (*FUNCTION_ROOT, ("name", "cfg"))
RECORD = CaptureRecord(
    ((NAME, b"dict"), ((*NAME, ("key", "str", "BLOCK")), b"int:128"), ((*NAME, ("element", 3)), b"\xff\x00")),
    (((*FUNCTION_ROOT, ("name", "other")), NAME),),
)


def test_a_record_survives_its_serialisation() -> None:
    assert CaptureRecord.from_bytes(RECORD.to_bytes()) == RECORD


def test_equal_records_have_equal_bytes() -> None:
    assert CaptureRecord(tuple(RECORD), RECORD.aliases).to_bytes() == RECORD.to_bytes()


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"{", b"[]", b"[1,[]]", b"[9,[],[]]", b'[1,[["x","00"]],[]]', b'[1,[[[],"00"]],[]]', b"null", b"\xff"),
        *(b'[1,[[[["name",1.5]],"00"]],[]]', b'[1,[[[["name"]],"0"]],[]]', b'[1,[[[["name"]],"00"]],[[1,2]]]'),
        RECORD.to_bytes()[:-1],
    ],
)
def test_anything_else_is_told_apart(data: bytes) -> None:
    with pytest.raises(ArtifactError):
        CaptureRecord.from_bytes(data)


def test_aliases_of_what_nothing_is_read_from_do_not_count() -> None:
    other, unread = (*FUNCTION_ROOT, ("name", "other")), (*FUNCTION_ROOT, ("name", "unread"))
    entries = {(*NAME, ("length",)): b"int:1"}
    assert read_aliases(entries, {other: NAME, (*FUNCTION_ROOT, ("name", "u2")): unread}) == ((other, NAME),)


def test_paths_read_as_their_reader_would_write_them() -> None:
    assert describe(NAME) == "global 'cfg'"
    assert describe((*NAME, ("attr", "BLOCK"))) == "global 'cfg.BLOCK'"
    assert describe((*NAME, key_step("a"), key_step(-5), ("element", 2))) == "global 'cfg['a'][-5][2]'"
    assert describe((*FUNCTION_ROOT, ("cell", "scale"))) == "closure 'scale'"
    assert describe((*NAME, ("type",), ("lookup", "area"), ("default", 0))) == "global 'cfg.area default 0'"
    assert describe((("environ",), key_step(b"DARTER_ARCH"))) == "environment variable 'DARTER_ARCH'"
    assert describe((("argument", "self"), ("lookup", "h"))) == "class of argument 'self.h'"
