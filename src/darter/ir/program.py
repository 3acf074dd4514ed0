"""Launch programs: what a launcher body becomes; plain data, run by the native module without Python.

A program is a list of instructions over 64-bit registers.  The first registers are the call's argument slots (see
``signature.descriptor``): per tensor its address, extents and strides in elements, per scalar its value, each in the
low bytes of a register.  Then come the constants, then temporaries.  Jumps go forward only, so every program ends.

Integer arithmetic is checked in the instruction's type: overflow and division by zero end the program with the
instruction's site.  A site is a row of ``sites``: the function and its line and columns, relative to ``def``; the
caller that knows the function turns it into a file, a line and a caret.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from darter.ir.options import LaunchOptions
from darter.ir.places import Loc


class Opcode(enum.IntEnum):
    """Instruction codes; the numbers are part of the artifact schema and stand again in native/program/program.hpp.

    ``MOVE``: dst = a.  Arithmetic and comparison: dst = a op b in ``dtype``.  ``CAST``: dst = a (of type ``b``, a dtype
    code) as ``dtype``.  ``SELECT``: dst = a ? b : c.  ``JUMP``: to instruction ``c``; ``JUMP_UNLESS``: when a is false.
    ``RAISE``: raise ``raises[a]``.  ``LAUNCH``: run ``launches[a]``.  ``RETURN`` ends the program.
    ``FMA``: dst = a·b + c, rounded once.  ``MATH``: dst = f(a), where ``b`` is 0 for the square root, 1 floor, 2 ceil,
    3 trunc, 4 rint.

    A ``CAST`` between integers that loses value is an error, unless its site is -1: the compiler's own narrowing
    truncates.  ``SHL`` that shifts out value bits is an overflow.
    """

    RETURN = 0
    MOVE = 1
    ADD = 2
    SUB = 3
    MUL = 4
    DIV = 5
    FLOORDIV = 6
    MOD = 7
    AND = 8
    OR = 9
    XOR = 10
    SHL = 11
    SHR = 12
    MIN = 13
    MAX = 14
    NEG = 15
    NOT = 16
    ABS = 17
    EQ = 18
    NE = 19
    LT = 20
    LE = 21
    GT = 22
    GE = 23
    SELECT = 24
    CAST = 25
    JUMP = 26
    JUMP_UNLESS = 27
    RAISE = 28
    LAUNCH = 29
    BITCAST = 30
    FMA = 31
    MATH = 32


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction; ``dtype`` is a ``ScalarType.code``; ``site`` indexes ``Program.sites`` (-1: cannot fail)."""

    op: Opcode
    dtype: int
    dst: int
    a: int
    b: int
    c: int
    site: int


@dataclass(frozen=True, slots=True)
class LaunchSpec:
    """One launch: registers of the kernel's arguments, the grid and the dynamic shared memory; the block is fixed.

    A kernel reads each argument as its own type from the low bytes of the register.
    """

    kernel: int
    arguments: tuple[int, ...]
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    options: LaunchOptions
    site: int


@dataclass(frozen=True, slots=True)
class RaiseSpec:
    """One raise: the exception, the pieces of the message and (register, dtype code) of the values between them."""

    exception: str
    pieces: tuple[str, ...]
    operands: tuple[tuple[int, int], ...]
    site: int


@dataclass(frozen=True, slots=True)
class Program:
    """A launch program.

    ``slots`` is how many registers the call fills, ``constants`` the 64-bit patterns (unsigned) that follow them,
    ``registers`` how many there are in all.
    """

    slots: int
    constants: tuple[int, ...]
    registers: int
    instructions: tuple[Instruction, ...]
    launches: tuple[LaunchSpec, ...]
    raises: tuple[RaiseSpec, ...]
    sites: tuple[Loc, ...]
