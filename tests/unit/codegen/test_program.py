"""Lowering of launcher bodies: the shape of the code; what it does is in tests/property/test_launch_programs.py."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from darter.codegen.program import lower
from darter.dtypes import Bool, ScalarType, f32, i32, i64
from darter.errors import CompileError
from darter.ir import nodes as n
from darter.ir.program import Opcode, Program
from tests.ir_builder import Builder

HERE = n.Loc(0, 4, 8, 4, 20)


def _lowered(dtypes: list[n.Type], body: Callable[..., None]) -> Program:
    """Return the program of what ``body(builder, *parameters)`` writes; every launch is of a kernel of one i32."""
    builder = Builder()
    builder.loc = HERE
    parameters = tuple(n.Value(dtype) for dtype in dtypes)
    body(builder, *parameters)
    kernel = n.Kernel("k", (n.Value(i32),), n.Block(), (64, 1, 1), 32)
    return lower(n.Module("launcher", parameters, builder.block, [kernel], [n.FunctionName("add", "m")]))


def _launch(build: Builder, argument: n.Value, grid: n.Value, other: n.Value) -> None:
    build.append(n.Launch(0, (argument,), (grid, other, other), other, n.LaunchOptions()))


def _ops(program: Program) -> list[Opcode]:
    return [instruction.op for instruction in program.instructions]


def test_a_ceiling_division_and_a_launch_take_four_instructions_and_one_register() -> None:
    def body(build: Builder, count: n.Value) -> None:
        one, size, less = build.const(i64, 1), build.const(i64, 64), build.const(i64, 63)
        grid = build.binary(n.BinaryOp.FLOORDIV, build.add(count, less), size)
        _launch(build, count, grid, one)

    program = _lowered([i64], body)
    assert _ops(program) == [Opcode.ADD, Opcode.FLOORDIV, Opcode.LAUNCH, Opcode.RETURN]
    assert sorted(program.constants) == [1, 63, 64]
    assert program.registers == 1 + 3 + 1
    assert program.sites == (HERE,)


def test_constants_are_pooled_by_their_bits() -> None:
    def body(build: Builder, count: n.Value) -> None:
        build.const(i64, 99)  # nothing uses it
        one, again, wide = build.const(i64, 1), build.const(i32, 1), build.const(i64, -1)
        _launch(build, again, one, one)
        _launch(build, build.cast(i32, wide), count, one)

    assert _lowered([i64], body).constants == (1, 2**64 - 1)


def test_the_compilers_own_narrowing_costs_nothing_and_a_users_is_checked() -> None:
    def body(build: Builder, count: n.Value) -> None:
        build.loc = n.NOWHERE
        own = build.cast(i32, count)
        build.loc = HERE
        users = build.cast(i32, count)
        _launch(build, own, count, count)
        _launch(build, users, count, count)

    program = _lowered([i64], body)
    assert _ops(program) == [Opcode.CAST, Opcode.LAUNCH, Opcode.LAUNCH, Opcode.RETURN]
    assert program.instructions[0].site == 0
    assert program.launches[0].arguments == (0,)


def test_registers_are_used_again() -> None:
    def body(build: Builder, count: n.Value) -> None:
        value = count
        for _ in range(50):
            value = build.add(build.mul(value, count), count)
        _launch(build, value, value, count)

    assert _lowered([i64], body).registers == 1 + 1


def test_what_nothing_uses_and_cannot_fail_is_left_out() -> None:
    def body(build: Builder, count: n.Value, flag: n.Value) -> None:
        build.compare(n.CompareOp.LT, count, count)
        build.add(count, count)  # may overflow

    assert _ops(_lowered([i64, Bool], body)) == [Opcode.ADD, Opcode.RETURN]


def test_code_after_a_raise_is_left_out() -> None:
    def fail(build: Builder) -> None:
        build.append(n.Raise("ValueError", ("no",), ()))

    def body(build: Builder, count: n.Value, flag: n.Value) -> None:
        build.if_(flag, lambda: fail(build), lambda: fail(build))
        _launch(build, count, count, count)

    assert _ops(_lowered([i64, Bool], body)) == [Opcode.JUMP_UNLESS, Opcode.RAISE, Opcode.RAISE]


def test_a_pointer_moves_by_whole_elements() -> None:
    pointer = n.PointerType(f32, n.Space.GLOBAL)

    def body(build: Builder, start: n.Value, step: n.Value) -> None:
        one = build.const(i64, 1)
        _launch(build, build.offset(start, step), one, one)

    program = _lowered([pointer, i32], body)
    assert _ops(program) == [Opcode.CAST, Opcode.MUL, Opcode.ADD, Opcode.LAUNCH, Opcode.RETURN]
    assert 4 in program.constants


def test_loops_and_kernel_functions_are_refused_with_their_line() -> None:
    def loop(build: Builder, count: n.Value) -> None:
        build.for_(count, count, count, (), lambda index: None)

    def function(build: Builder, value: n.Value) -> None:
        build.math(n.MathOp.EXP, value)

    cases: list[tuple[ScalarType, Callable[..., None], str]] = [(i64, loop, "static_range"), (f32, function, "exp")]
    for dtype, body, word in cases:
        with pytest.raises(CompileError, match=rf"{word}.*\n  at line 5 of m\.add"):
            _lowered([dtype], body)


def test_a_launcher_that_is_too_large_is_refused() -> None:
    def body(build: Builder, count: n.Value) -> None:
        values = [build.add(count, count) for _ in range(5000)]
        for value in values:
            _launch(build, value, count, count)

    with pytest.raises(CompileError, match="launcher is too large"):
        _lowered([i64], body)
