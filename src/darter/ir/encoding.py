"""Launch programs as bytes: what an artifact stores and native/program/program_decode.cpp decodes.

Little-endian throughout.  A header (magic, schema, counts), then the parts in the order of :class:`Program`'s fields; a
string is its length in bytes and its UTF-8.  ``decode(encode(p)) == p``, and every byte string has at most one reading.
"""

from __future__ import annotations

import struct
from typing import Any

from darter.errors import ArtifactError
from darter.ir.options import LaunchOptions
from darter.ir.places import Loc
from darter.ir.program import Instruction, LaunchSpec, Opcode, Program, RaiseSpec

SCHEMA = 1
"""Version of the byte layout and of the opcodes; stands again in native/program/program.hpp."""

_MAGIC = b"dtlp"
_HEADER = struct.Struct("<4s8I")
_INSTRUCTION = struct.Struct("<BBHIIIIi")
_LAUNCH = struct.Struct("<II3I3II3IIi")
_RAISE = struct.Struct("<IIi")
_SITE = struct.Struct("<5i")
_COOPERATIVE, _DEPENDENT = 1, 2


def encode(program: Program) -> bytes:
    """Return ``program`` as bytes; raises ``ArtifactError`` when a number of it does not fit its field."""
    try:
        return b"".join(_parts(program))
    except struct.error as error:
        raise ArtifactError(f"launch program cannot be encoded: {error}") from error


def decode(data: bytes) -> Program:
    """Return the program that ``data`` encodes; raises ``ArtifactError`` when it is damaged or of another schema.

    Checks the layout only; the native module verifies what the numbers mean before it runs a program.
    """
    try:
        return _Reader(data).program()
    except (struct.error, UnicodeDecodeError, ValueError) as error:
        raise ArtifactError(f"launch program is damaged: {error}") from error


def _parts(program: Program) -> list[bytes]:
    sections = (program.constants, program.instructions, program.launches, program.raises, program.sites)
    counts = [len(section) for section in sections]
    parts = [_HEADER.pack(_MAGIC, SCHEMA, program.slots, program.registers, *counts)]
    parts.append(struct.pack(f"<{counts[0]}Q", *program.constants))
    parts += [_INSTRUCTION.pack(i.op, i.dtype, 0, i.dst, i.a, i.b, i.c, i.site) for i in program.instructions]
    for launch in program.launches:
        parts.append(_launch_head(launch))
        parts.append(struct.pack(f"<{len(launch.arguments)}I", *launch.arguments))
    for row in program.raises:
        parts.append(_RAISE.pack(len(row.pieces), len(row.operands), row.site))
        parts += [_string(text) for text in (row.exception, *row.pieces)]
        parts += [struct.pack("<II", register, dtype) for register, dtype in row.operands]
    parts += [
        _SITE.pack(site.function, site.line, site.column, site.end_line, site.end_column) for site in program.sites
    ]
    return parts


def _launch_head(launch: LaunchSpec) -> bytes:
    options = launch.options
    flags = _COOPERATIVE * options.cooperative | _DEPENDENT * options.programmatic_dependent
    return _LAUNCH.pack(
        launch.kernel,
        len(launch.arguments),
        *launch.grid,
        *launch.block,
        launch.shared_bytes,
        *options.cluster,
        flags,
        launch.site,
    )


def _string(text: str) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    return struct.pack("<I", len(data)) + data


class _Reader:
    """Reads the parts in order; every shortage surfaces as ``struct.error``."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def program(self) -> Program:
        magic, schema, slots, registers, *counts = self._take(_HEADER)
        if magic != _MAGIC:
            raise ValueError("it does not begin with the magic number")
        if schema != SCHEMA:
            raise ValueError(f"it has schema {schema}; this version reads {SCHEMA}")
        if sum(counts) * 8 > len(self._data):
            raise ValueError("its counts exceed its size")
        constants, instructions, launches, raises, sites = counts
        program = Program(
            slots=slots,
            constants=tuple(self._take(struct.Struct(f"<{constants}Q"))),
            registers=registers,
            instructions=tuple(self._instruction() for _ in range(instructions)),
            launches=tuple(self._launch() for _ in range(launches)),
            raises=tuple(self._raise() for _ in range(raises)),
            sites=tuple(Loc(*self._take(_SITE)) for _ in range(sites)),
        )
        if self._at != len(self._data):
            raise ValueError(f"{len(self._data) - self._at} bytes follow its end")
        return program

    def _take(self, layout: struct.Struct) -> tuple[Any, ...]:
        values = layout.unpack_from(self._data, self._at)
        self._at += layout.size
        return values

    def _instruction(self) -> Instruction:
        op, dtype, reserved, dst, a, b, c, site = self._take(_INSTRUCTION)
        if reserved:
            raise ValueError("a reserved field is not 0")
        return Instruction(Opcode(op), dtype, dst, a, b, c, site)

    def _launch(self) -> LaunchSpec:
        kernel, count, gx, gy, gz, bx, by, bz, shared, cx, cy, cz, flags, site = self._take(_LAUNCH)
        if flags > _COOPERATIVE | _DEPENDENT:
            raise ValueError("a launch has unknown flags")
        arguments = self._take(struct.Struct(f"<{self._bounded(count, 4)}I"))
        options = LaunchOptions((cx, cy, cz), bool(flags & _COOPERATIVE), bool(flags & _DEPENDENT))
        return LaunchSpec(kernel, tuple(arguments), (gx, gy, gz), (bx, by, bz), shared, options, site)

    def _raise(self) -> RaiseSpec:
        pieces, operands, site = self._take(_RAISE)
        exception, *texts = [self._string() for _ in range(self._bounded(pieces, 4) + 1)]
        pairs = [self._take(struct.Struct("<II")) for _ in range(self._bounded(operands, 8))]
        return RaiseSpec(exception, tuple(texts), tuple((register, dtype) for register, dtype in pairs), site)

    def _string(self) -> str:
        (length,) = self._take(struct.Struct("<I"))
        end = self._at + self._bounded(length, 1)
        text = self._data[self._at : end].decode("utf-8", "surrogatepass")
        self._at = end
        return text

    def _bounded(self, count: int, size: int) -> int:
        """Return ``count``; raises when that many items of ``size`` bytes cannot follow."""
        if count * size > len(self._data) - self._at:
            raise ValueError("it is truncated")
        return count
