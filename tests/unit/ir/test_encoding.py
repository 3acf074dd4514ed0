"""Launch programs as bytes, and back."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from darter.dtypes import ALL
from darter.errors import ArtifactError
from darter.ir.encoding import SCHEMA, decode, encode
from darter.ir.nodes import LaunchOptions, Loc
from darter.ir.program import Instruction, LaunchSpec, Opcode, Program, RaiseSpec

NATIVE = Path(__file__).parents[3] / "native"

PROGRAM = Program(
    slots=2,
    constants=(0, 1, 2**64 - 1),
    registers=7,
    instructions=(
        Instruction(Opcode.ADD, 5, 5, 0, 3, 0, 0),
        Instruction(Opcode.LAUNCH, 0, 0, 0, 0, 0, -1),
        Instruction(Opcode.RAISE, 0, 0, 0, 0, 0, -1),
    ),
    launches=(LaunchSpec(0, (0, 5), (5, 3, 3), (64, 2, 1), 2, LaunchOptions((2, 1, 1), True, True), 1),),
    raises=(RaiseSpec("ValueError", ("n is ", " — \udc80 bad"), ((5, 5),), 0),),
    sites=(Loc(0, 1, 2, 3, 4), Loc(1, 5, 6, 7, 8)),
)


def test_a_program_comes_back() -> None:
    assert decode(encode(PROGRAM)) == PROGRAM


def test_every_truncation_is_refused() -> None:
    data = encode(PROGRAM)
    for length in range(len(data)):
        with pytest.raises(ArtifactError):
            decode(data[:length])
    with pytest.raises(ArtifactError, match="follow"):
        decode(data + b"\0")


def test_another_schema_is_refused_by_name() -> None:
    data = bytearray(encode(PROGRAM))
    data[4] = SCHEMA + 1
    with pytest.raises(ArtifactError, match=f"schema {SCHEMA + 1}"):
        decode(bytes(data))


def test_a_number_that_fits_no_field_is_refused() -> None:
    with pytest.raises(ArtifactError, match="cannot be encoded"):
        encode(replace(PROGRAM, constants=(-1,)))


def _enumerators(header: str, name: str) -> dict[str, int]:
    text = (NATIVE / header).read_text()
    body = re.search(rf"enum class {name} : uint8_t {{(.*?)}};", text, re.DOTALL)
    assert body is not None
    return {key.lower(): int(value) for key, value in re.findall(r"k(\w+) = (\d+)", body[1])}


def test_native_numbers_are_the_same() -> None:
    opcodes = {op.name.replace("_", "").lower(): int(op) for op in Opcode}
    assert _enumerators("scalars/scalar_ops.hpp", "Opcode") == opcodes
    assert _enumerators("scalars/dtype.hpp", "Dtype") == {"pointer": 0, **{dtype.name: dtype.code for dtype in ALL}}
    assert f"kProgramSchema = {SCHEMA};" in (NATIVE / "program" / "program.hpp").read_text()
