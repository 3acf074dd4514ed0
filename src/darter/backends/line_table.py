"""The line table of a cubin: kept without paths, and given those of this machine for a profiler.

The code generator names a function where a line table has a file, and counts lines from its ``def``
(``codegen.nvptx.lines``).  Whoever loads the code knows where each function stands.

Source: DWARF Debugging Information Format, version 2, section 6.2 "Line Number Information" (ptxas writes version 2);
an operation that it does not list is one of NVIDIA's extended ones, whose length stands before it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field

from darter.backends.cubin import Section, content, sections, with_contents

Place = Callable[[str], "tuple[str, int] | None"]
"""Returns the path and the line of the ``def`` of a function, by the name that the table has for it."""

_LINES = ".debug_line"
_TEXT_OF_PTX = (".nv_debug_ptx_txt", ".nv_debug_line_sass", ".rela.nv_debug_line_sass", ".rel.nv_debug_line_sass")
"""What the names begin with of sections that hold PTX or lines of it; nvJitLink adds a number."""
_RELOCATIONS = {4: 24, 9: 16}
"""Bytes of an entry by type of section: SHT_RELA, SHT_REL."""
_COPY, _ADVANCE_LINE, _SET_FILE, _FIXED_ADVANCE = 1, 3, 4, 9
_END_SEQUENCE = 1


def without_text(cubin: bytes) -> bytes:
    """Return ``cubin`` without the PTX that the assembler keeps beside a line table: more bytes than the code."""
    found = {section.name for section in sections(cubin) if section.size and section.name.startswith(_TEXT_OF_PTX)}
    return with_contents(cubin, dict.fromkeys(sorted(found), b""))


def with_places(cubin: bytes, place: Place) -> bytes:
    """Return ``cubin`` with paths and lines of files in its line table; a function without a place stays as it is."""
    table = sections(cubin)
    lines = next((section for section in table if section.name == _LINES and section.size), None)
    if lines is None:
        return cubin
    rewriter = _Rewriter(content(cubin, lines), place)
    rewriter.run()
    contents = {_LINES: bytes(rewriter.out)}
    for section in table:
        if section.type in _RELOCATIONS and section.info == lines.number and section.size:
            contents[section.name] = _moved(content(cubin, section), section, rewriter.moves)
    return with_contents(cubin, contents)


@dataclass(slots=True)
class _Moves:
    """Where bytes of the old table stand in the new one: from ``starts[i]`` on, they are ``distances[i]`` further."""

    starts: list[int] = field(default_factory=lambda: [0])
    distances: list[int] = field(default_factory=lambda: [0])

    def note(self, old: int, new: int) -> None:
        if new - old != self.distances[-1]:
            self.starts.append(old)
            self.distances.append(new - old)

    def of(self, old: int) -> int:
        return old + self.distances[bisect_right(self.starts, old) - 1]


def _moved(data: bytes, section: Section, moves: _Moves) -> bytes:
    """Return relocations of the line table for its new bytes; the addresses in it are where they were, further on."""
    size = _RELOCATIONS[section.type]
    entries = [data[at : at + size] for at in range(0, len(data), size)]
    return b"".join(
        moves.of(int.from_bytes(entry[:8], "little")).to_bytes(8, "little") + entry[8:] for entry in entries
    )


class _Rewriter:
    """Copies a line table with other names of files, and with a step of the line wherever the file changes.

    All steps of a line program are relative, so that one more step after a change of file moves all lines of it.
    """

    def __init__(self, data: bytes, place: Place) -> None:
        self._data = data
        self._place = place
        self._at = 0
        self._offsets: list[int] = []
        self.out = bytearray()
        self.moves = _Moves()

    def run(self) -> None:
        data = self._data
        while self._at + 10 <= len(data):
            end = self._at + 4 + int.from_bytes(data[self._at : self._at + 4], "little")
            if int.from_bytes(data[self._at + 4 : self._at + 6], "little") not in (2, 3) or end > len(data):
                break
            self._unit(end)
        self._copy(len(data))

    def _unit(self, end: int) -> None:
        """Copy one unit: its header up to the names of files, the names, the program; then put the lengths right."""
        data, start, begin = self._data, self._at, len(self.out)
        program = start + 10 + int.from_bytes(data[start + 6 : start + 10], "little")
        opcode_base = data[start + 14]
        lengths = data[start + 15 : start + 14 + opcode_base]
        at = start + 14 + opcode_base
        while data[at]:  # directories
            at = data.index(b"\0", at) + 1
        self._copy(at + 1)
        self._files()
        self._copy(program)
        header_bytes = len(self.out) - begin - 10
        self._program(end, opcode_base, lengths)
        self.out[begin : begin + 4] = (len(self.out) - begin - 4).to_bytes(4, "little")
        self.out[begin + 6 : begin + 10] = header_bytes.to_bytes(4, "little")

    def _files(self) -> None:
        data, self._offsets = self._data, [0]
        while data[self._at]:
            end = data.index(b"\0", self._at)
            found = self._place(data[self._at : end].decode("ascii", "replace"))
            self._offsets.append(found[1] - 1 if found else 0)
            if found:
                self.out += found[0].encode("utf-8", "surrogateescape")
                self._at = end
            self._copy(end + 1)
            for _ in range(3):  # directory, time, size
                self._number()

    def _program(self, end: int, opcode_base: int, lengths: bytes) -> None:
        data, applied, file = self._data, 0, 1
        while self._at < end:
            opcode = data[self._at]
            if opcode == _COPY or opcode >= opcode_base:
                wanted = self._offsets[file] if file < len(self._offsets) else 0
                if wanted != applied:
                    self.out += bytes((_ADVANCE_LINE,)) + _signed(wanted - applied)
                    applied = wanted
                self._copy(self._at + 1)
            elif opcode == 0:
                size, at = _read(data, self._at + 1)
                if data[at] == _END_SEQUENCE:
                    applied, file = 0, 1
                self._copy(at + size)
            elif opcode == _SET_FILE:
                self._copy(self._at + 1)
                file = self._number()
            elif opcode == _FIXED_ADVANCE:
                self._copy(self._at + 3)
            else:
                self._copy(self._at + 1)
                for _ in range(lengths[opcode - 1]):
                    self._number()

    def _number(self) -> int:
        value, at = _read(self._data, self._at)
        self._copy(at)
        return value

    def _copy(self, end: int) -> None:
        self.moves.note(self._at, len(self.out))
        self.out += self._data[self._at : end]
        self._at = end


def _read(data: bytes, at: int) -> tuple[int, int]:
    """Return an unsigned LEB128 number and the place behind it."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _signed(value: int) -> bytes:
    """Return ``value`` as a signed LEB128 number."""
    out = bytearray()
    while True:
        byte, value = value & 0x7F, value >> 7
        if (value, byte & 0x40) in ((0, 0), (-1, 0x40)):
            out.append(byte)
            return bytes(out)
        out.append(byte | 0x80)
