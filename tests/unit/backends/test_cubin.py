"""Sections of an ELF file, read and replaced, on a file made here: a cubin's layout in small."""

from __future__ import annotations

import struct

import pytest

from darter.backends.cubin import content, sections, with_contents
from darter.errors import ArtifactError

CONTENTS = {".a": b"first" * 3, ".text.k": bytes(range(256)), ".b": b"behind"}


def elf() -> bytes:
    """Return an ELF file of three sections and one program header, which names the place of ``.text.k``."""
    names = b"\0" + b"\0".join(name.encode() for name in (*CONTENTS, ".shstrtab")) + b"\0"
    image, headers = bytearray(64), [bytes(64)]
    for name, data in (*CONTENTS.items(), (".shstrtab", names)):
        image += bytes(-len(image) % (128 if name == ".text.k" else 1))
        kind = 3 if name == ".shstrtab" else 1
        place = names.index(name.encode() + b"\0")
        headers.append(struct.pack("<IIQQQQIIQQ", place, kind, 0, 0, len(image), len(data), 0, 0, 1, 0))
        image += data
    image += bytes(-len(image) % 8)
    text = struct.unpack_from("<Q", headers[2], 24)[0]
    table = len(image)
    image += b"".join(headers)
    program = len(image)
    image += struct.pack("<IIQQQQQQ", 1, 5, text, 0, 0, 256, 256, 8)
    image[:64] = struct.pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, 190, 1, 0, program, table, 0, 64, 56, 1, 64, len(headers), 4
    )
    return bytes(image)


def _contents(image: bytes) -> dict[str, bytes]:
    return {section.name: content(image, section) for section in sections(image) if section.name in CONTENTS}


@pytest.mark.parametrize("size", [0, 1, 14, 15, 16, 143, 144, 1000])
@pytest.mark.parametrize("name", [".a", ".b"])
def test_another_content_leaves_the_others_where_they_are_looked_for(name: str, size: int) -> None:
    data = b"x" * size
    image = with_contents(elf(), {name: data})
    assert _contents(image) == {**CONTENTS, name: data}
    text = next(section for section in sections(image) if section.name == ".text.k")
    assert text.offset % 128 == 0
    (program,) = struct.unpack_from("<Q", image, 32)
    assert struct.unpack_from("<Q", image, program + 8) == (text.offset,)


def test_two_sections_at_once() -> None:
    image = with_contents(elf(), {".b": b"", ".a": b"y" * 500, ".absent": b"z"})
    assert _contents(image) == {**CONTENTS, ".b": b"", ".a": b"y" * 500}


@pytest.mark.parametrize("image", [b"", b"\x7fELF", elf()[:200], b"\x7fELF\x01" + elf()[5:]])
def test_what_is_no_such_file_is_refused(image: bytes) -> None:
    with pytest.raises(ArtifactError, match="damaged cubin"):
        sections(image)
