"""A second reader of DWARF 2 line programs, for the tests: rows, and where addresses stand."""

from __future__ import annotations

Row = tuple[int, str, int]
"""Address, file, line."""


def read(data: bytes) -> tuple[list[Row], list[int]]:
    """Return the rows of one unit, and the offsets of the addresses that relocations put in."""
    assert int.from_bytes(data[:4], "little") == len(data) - 4
    program = 10 + int.from_bytes(data[6:10], "little")
    minimum, line_base, line_range, base = data[10], int.from_bytes(data[12:13], signed=True), data[13], data[14]
    arguments, at = (0, *data[15 : 14 + base]), 14 + base
    assert data[at] == 0, "a directory"
    files, at = [""], at + 1
    while data[at]:
        end = data.index(b"\0", at)
        files.append(data[at:end].decode())
        at = end + 1
        for _ in range(3):
            _, at = _unsigned(data, at)
    assert at + 1 == program
    rows: list[Row] = []
    places: list[int] = []
    address, file, line, at = 0, 1, 1, program
    while at < len(data):
        op, at = data[at], at + 1
        if op >= base:
            address += (op - base) // line_range * minimum
            line += line_base + (op - base) % line_range
            rows.append((address, files[file], line))
        elif op == 0:
            length, at = _unsigned(data, at)
            if data[at] == 1:
                address, file, line = 0, 1, 1
            elif data[at] == 2:
                places.append(at + 1)
                address = int.from_bytes(data[at + 1 : at + length], "little")
            at += length
        elif op == 1:
            rows.append((address, files[file], line))
        elif op == 2:
            step, at = _unsigned(data, at)
            address += step * minimum
        elif op == 3:
            step, at = _signed(data, at)
            line += step
        elif op == 4:
            file, at = _unsigned(data, at)
        elif op == 8:
            address += (255 - base) // line_range * minimum
        elif op == 9:
            address += int.from_bytes(data[at : at + 2], "little")
            at += 2
        else:
            for _ in range(arguments[op]):
                _, at = _unsigned(data, at)
    return rows, places


def _unsigned(data: bytes, at: int) -> tuple[int, int]:
    length = 1
    while data[at + length - 1] & 0x80:
        length += 1
    return sum((data[at + i] & 0x7F) << 7 * i for i in range(length)), at + length


def _signed(data: bytes, at: int) -> tuple[int, int]:
    value, end = _unsigned(data, at)
    bits = 7 * (end - at)
    return value - (1 << bits) * (value >> (bits - 1)), end
