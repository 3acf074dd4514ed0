"""Cubins as ELF files: their sections, and copies in which some sections have other contents.

Source: System V ABI, "Object Files" (64-bit, little-endian); program headers name parts of the file by offset.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from darter.errors import ArtifactError

_NOBITS = 8
_ALIGNMENT = 128
"""What contents are moved by a multiple of: the largest alignment in a cubin."""
_OFFSET, _SIZE = 24, 32
"""Places of a section's offset and size in its header; a program header's offset is at 8."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section: ``number`` and ``header`` say where it stands in the table and where its header is in the file."""

    number: int
    name: str
    header: int
    type: int
    offset: int
    size: int
    info: int


def sections(image: bytes) -> tuple[Section, ...]:
    """Return the sections of a cubin in the order of its table.

    Raises:
        ArtifactError: it is no 64-bit ELF file.
    """
    try:
        return _sections(image)
    except (struct.error, ValueError, IndexError) as error:
        raise ArtifactError(f"damaged cubin: {error}") from error


def content(image: bytes, section: Section) -> bytes:
    """Return the bytes of a section."""
    return b"" if section.type == _NOBITS else image[section.offset : section.offset + section.size]


def with_contents(image: bytes, contents: Mapping[str, bytes]) -> bytes:
    """Return the cubin with other contents of the sections named; what stands behind them moves."""
    changed = bytearray(image)
    for section in sections(image):
        if section.name in contents and section.type != _NOBITS:
            _replace(changed, section.number, contents[section.name])
    return bytes(changed)


def _sections(image: bytes) -> tuple[Section, ...]:
    if image[:6] != b"\x7fELF\x02\x01":
        raise ValueError("no 64-bit little-endian ELF file")
    (table,) = struct.unpack_from("<Q", image, 40)
    size, count, names = struct.unpack_from("<HHH", image, 58)
    (strings,) = struct.unpack_from("<Q", image, table + names * size + _OFFSET)
    found = []
    for number in range(count):
        at = table + number * size
        name, type, _, _, offset, length, _, info = struct.unpack_from("<IIQQQQII", image, at)
        begin = strings + name
        text = image[begin : image.index(b"\0", begin)].decode("utf-8", "replace")
        found.append(Section(number, text, at, type, offset, length, info))
    return tuple(found)


def _replace(image: bytearray, number: int, data: bytes) -> None:
    """Give section ``number`` other contents, where it stands now."""
    programs, headers = struct.unpack_from("<QQ", image, 32)
    program_size, program_count, header_size, header_count = struct.unpack_from("<HHHH", image, 54)
    offset, size = struct.unpack_from("<QQ", image, headers + number * header_size + _OFFSET)
    end = offset + size
    # Down to the multiple that still holds the data; the rest of the gap is zeros.
    moved = -((size - len(data)) // _ALIGNMENT) * _ALIGNMENT
    struct.pack_into("<Q", image, headers + number * header_size + _SIZE, len(data))
    places = [32, 40, *(programs + index * program_size + 8 for index in range(program_count))]
    places += [headers + index * header_size + _OFFSET for index in range(header_count) if index != number]
    for place in places:
        (begin,) = struct.unpack_from("<Q", image, place)
        if begin >= end:
            struct.pack_into("<Q", image, place, begin + moved)
    image[offset:end] = data + bytes(size + moved - len(data))
