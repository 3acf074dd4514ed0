"""The native launch program machine: what it refuses, what it reports, what it does with floats and casts."""

from __future__ import annotations

import gc
import random
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from darter import _native, errors
from darter.codegen.program import register_bits
from darter.dtypes import Bool, ScalarType, bf16, e4m3fn, e4m3fnuz, e5m2, e5m2fnuz, f16, f32, f64, i8, i32, i64, u8, u64
from darter.ir.encoding import encode
from darter.ir.nodes import LaunchOptions, Loc
from darter.ir.program import Instruction, LaunchSpec, Opcode, Program, RaiseSpec
from tests.c_objects import LOG, load_c

OPTIONS = LaunchOptions()
RETURN = Instruction(Opcode.RETURN, 0, 0, 0, 0, 0, -1)
LAUNCH = Instruction(Opcode.LAUNCH, 0, 0, 0, 0, 0, -1)
SITES = (Loc(0, 1, 2, 3, 4), Loc(0, 5, 6, 7, 8))

# Slots: the log and two values; register 3 is the constant 1, 4 is 0.
LOGGING = Program(
    slots=3,
    constants=(1, 0),
    registers=6,
    instructions=(Instruction(Opcode.ADD, 5, 5, 1, 2, 0, 0), LAUNCH, RETURN),
    launches=(LaunchSpec(0, (0, 1, 2, 5), (3, 3, 3), (1, 1, 1), 4, OPTIONS, 1),),
    raises=(),
    sites=SITES,
)

# The same, where the two values are the grid's x and the shared memory.
GRID = replace(LOGGING, launches=(replace(LOGGING.launches[0], grid=(1, 3, 3), shared_bytes=2),))


def _state(
    program: Program | bytes, cold_errors: Any = None, owner: object = None, launches: int = 1
) -> _native.CallState:
    code = load_c(LOG)
    kernel = _native.CpuKernel(code, "record", 4, (1, 1, 1), 0, ())
    data = program if isinstance(program, bytes) else encode(program)
    return _native.CallState(data, [kernel], owner, None, (0, 2), cold_errors)


def _log() -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.zeros(64, np.int64)


def _computed(op: Opcode, dtype: ScalarType, values: Sequence[Any], *, b: int | None = None, site: int = 0) -> int:
    """Return the register that ``op`` makes of the values; ``b`` replaces the field of the second operand."""
    fields = [1, 2, 3]
    if b is not None:
        fields[1] = b
    instruction = Instruction(op, dtype.code, 6, *fields, site)
    launch = LaunchSpec(0, (0, 6, 6, 6), (4, 4, 4), (1, 1, 1), 5, OPTIONS, 0)
    log = _log()
    slots = [log.ctypes.data, *[value if isinstance(value, int) else 0 for value in (*values, 0, 0, 0)[:3]]]
    _state(Program(4, (1, 0), 7, (instruction, LAUNCH, RETURN), (launch,), (), SITES)).run(slots)
    return int(log[2]) & (2**64 - 1)


# -- running ----------------------------------------------------------------------------------------------------------


def test_a_launch_reads_its_arguments_from_the_registers() -> None:
    log = _log()
    state = _state(LOGGING)
    state.run([log.ctypes.data, 40, 2])
    state.run([log.ctypes.data, 1, -3])
    assert log[:9].tolist() == [2, 1, 40, 2, 42, 1, 1, -3, -2]
    assert state.written == (0, 2)
    assert state.guards is None


def test_a_grid_with_a_zero_launches_nothing() -> None:
    log = _log()
    _state(GRID).run([log.ctypes.data, 0, 0])
    assert log[0] == 0


@pytest.mark.parametrize(
    ("axis", "value", "limit"), [(0, -1, 2**31 - 1), (0, 2**31, 2**31 - 1), (1, 65536, 65535), (2, -(2**63), 65535)]
)
def test_a_grid_over_the_limit_names_the_axis_the_value_and_the_limit(axis: int, value: int, limit: int) -> None:
    grid = [4, 4, 4]  # zeros: the limit is checked all the same
    grid[axis] = 1
    launch = replace(LOGGING.launches[0], grid=(grid[0], grid[1], grid[2]), arguments=(0, 0, 0, 0))
    program = replace(LOGGING, launches=(launch,), instructions=(LAUNCH, RETURN))
    with pytest.raises(errors.GridError, match=f"grid {'xyz'[axis]} is {value}.*between 0 and {limit}"):
        _state(program).run([0, value, 0])


def test_negative_shared_memory_is_an_error() -> None:
    with pytest.raises(errors.GridError, match="shared memory is -16 bytes"):
        _state(GRID).run([_log().ctypes.data, 1, -16])


def test_the_number_of_slots_is_checked() -> None:
    with pytest.raises(ValueError, match="3 slots, got 2"):
        _state(LOGGING).run([0, 0])


# -- errors -----------------------------------------------------------------------------------------------------------


def test_errors_go_through_cold_errors_with_their_site() -> None:
    calls: list[tuple[Any, ...]] = []

    def cold(*call: Any) -> Exception:
        calls.append(call)
        return KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        _state(LOGGING, cold).run([0, 2**63 - 1, 1])
    with pytest.raises(KeyError, match="mine"):
        _state(GRID, cold).run([0, -1, 0])
    assert calls == [
        ("arithmetic", "LauncherArithmeticError", "i64 overflow: 9223372036854775807 + 1", 0),
        ("grid", "GridError", "launch of 'record': grid x is -1; it must be between 0 and 2147483647", 1),
    ]


def test_a_cold_errors_that_raises_or_returns_nonsense_is_no_crash() -> None:
    def failing(*call: Any) -> Exception:
        raise ZeroDivisionError("inside")

    with pytest.raises(ZeroDivisionError, match="inside"):
        _state(LOGGING, failing).run([0, 2**63 - 1, 1])
    with pytest.raises(SystemError, match="returned a int"):
        _state(LOGGING, lambda *call: 3).run([0, 2**63 - 1, 1])


@pytest.mark.parametrize(
    ("op", "dtype", "values", "text"),
    [
        (Opcode.ADD, i32, (2**31 - 1, 1), r"i32 overflow: 2147483647 \+ 1"),
        (Opcode.SUB, u8, (3, 4), r"u8 overflow: 3 - 4"),
        (Opcode.MUL, i64, (2**62, 2), r"i64 overflow: 4611686018427387904 \* 2"),
        (Opcode.FLOORDIV, i64, (7, 0), r"division by zero: 7 // 0"),
        (Opcode.FLOORDIV, i32, (7, 0), r"division by zero: 7 // 0"),
        (Opcode.FLOORDIV, i64, (-(2**63), -1), r"i64 overflow: -9223372036854775808 // -1"),
        (Opcode.FLOORDIV, i8, (-128, -1), r"i8 overflow: -128 // -1"),
        (Opcode.MOD, i64, (7, 0), r"division by zero: 7 % 0"),
        (Opcode.NEG, i64, (-(2**63),), r"i64 overflow: -\(-9223372036854775808\)"),
        (Opcode.NEG, u8, (1,), r"u8 overflow: -\(1\)"),
        (Opcode.ABS, i8, (-128,), r"i8 overflow: abs\(-128\)"),
        (Opcode.SHL, i64, (1, 63), r"i64 overflow: 1 << 63"),
    ],
)
def test_arithmetic_that_has_no_answer_shows_its_operands(
    op: Opcode, dtype: ScalarType, values: tuple[int, ...], text: str
) -> None:
    with pytest.raises(errors.LauncherArithmeticError, match=text):
        _computed(op, dtype, values)


def test_a_checked_cast_says_what_does_not_fit_and_an_unchecked_one_truncates() -> None:
    with pytest.raises(errors.LauncherArithmeticError, match="300 does not fit in u8"):
        _computed(Opcode.CAST, u8, (300,), b=i64.code)
    with pytest.raises(errors.LauncherArithmeticError, match="18446744073709551615 does not fit in i64"):
        _computed(Opcode.CAST, i64, (-1,), b=u64.code)
    assert _computed(Opcode.CAST, i32, (2**32 + 5,), b=i64.code, site=-1) == 5


def test_a_raise_formats_its_values_by_their_types() -> None:
    dtypes = (i32, f32, Bool)
    raises = (
        RaiseSpec(
            "ValueError", ("n=", " x=", " b=", "."), tuple(zip((0, 1, 2), [d.code for d in dtypes], strict=True)), 1
        ),
    )
    program = Program(3, (), 3, (Instruction(Opcode.RAISE, 0, 0, 0, 0, 0, -1),), (), raises, SITES)
    bits = [register_bits(dtype, value) for dtype, value in zip(dtypes, (-7, 0.1, True), strict=True)]
    with pytest.raises(ValueError, match=r"n=-7 x=0\.1 b=True\."):
        _state(program).run(bits)
    with pytest.raises(errors.GridError):
        _state(replace(program, raises=(replace(raises[0], exception="GridError"),))).run(bits)
    with pytest.raises(SystemError, match="no exception class is called 'print'"):
        _state(replace(program, raises=(replace(raises[0], exception="print"),))).run(bits)


# -- what it refuses --------------------------------------------------------------------------------------------------


def _with(**change: Any) -> Program:
    return replace(LOGGING, **change)


def _first(**change: Any) -> Program:
    return _with(instructions=(replace(LOGGING.instructions[0], **change), LAUNCH, RETURN))


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (_first(a=6), "register is out of range"),
        (_first(b=2**32 - 1), "register is out of range"),
        (_first(dst=0), "slot or constant is written"),
        (_first(dst=4), "slot or constant is written"),
        (_first(a=5), "read before it is written"),
        (_first(site=2), "site is out of range"),
        (_first(site=-2), "site is out of range"),
        (_first(dtype=18), "dtype is unknown"),
        (_first(dtype=Bool.code), "not defined for its dtype"),
        (_first(dtype=e5m2.code), "not defined for its dtype"),
        (_first(op=Opcode.DIV), "not defined for its dtype"),
        (_first(op=Opcode.AND, dtype=f32.code), "not defined for its dtype"),
        (_first(op=Opcode.MATH, dtype=f32.code, b=5), "not defined for its dtype"),
        (_first(op=Opcode.CAST, b=0), "names no scalar type"),
        (_first(op=Opcode.BITCAST, b=i32.code), "changes the width"),
        (_with(instructions=(LAUNCH, RETURN)), "read before it is written"),
        (_with(instructions=LOGGING.instructions[:2]), "not a return or raise"),
        (_with(instructions=()), "count of instructions"),
        (_with(instructions=(Instruction(Opcode.JUMP, 0, 0, 0, 0, 0, -1), RETURN)), "jump is out of range"),
        (_with(instructions=(Instruction(Opcode.JUMP, 0, 0, 0, 0, 2, -1), RETURN)), "jump is out of range"),
        (_with(instructions=(replace(LAUNCH, a=1), RETURN)), "launch is out of range"),
        (_with(instructions=(Instruction(Opcode.RAISE, 0, 0, 0, 0, 0, -1),)), "raise is out of range"),
        (_with(registers=4), "exceed its registers"),
        (_with(registers=5000), "too many registers"),
        (_with(launches=(replace(LOGGING.launches[0], block=(0, 1, 1)),)), "block is out of range"),
        (_with(launches=(replace(LOGGING.launches[0], block=(1024, 2, 1)),)), "too many threads"),
        (_with(launches=(replace(LOGGING.launches[0], arguments=(0,) * 1025),)), "too many arguments"),
        (_with(launches=(replace(LOGGING.launches[0], arguments=(0, 1)),)), "takes 4 parameters and is given 2"),
        (_with(launches=(replace(LOGGING.launches[0], kernel=1),)), "launches kernel 1 of 1"),
        (_with(launches=(replace(LOGGING.launches[0], block=(2, 1, 1)),)), "another block"),
        (_with(raises=(RaiseSpec("ValueError", ("a", "b"), (), 0),)), "do not fit its operands"),
    ],
)
def test_a_damaged_program_is_refused(program: Program, why: str) -> None:
    with pytest.raises(errors.ArtifactError, match=why):
        _state(program)


def test_a_register_written_on_one_way_only_is_refused() -> None:
    skip = Instruction(Opcode.JUMP_UNLESS, 0, 0, 1, 0, 2, -1)
    program = _with(instructions=(skip, LOGGING.instructions[0], LAUNCH, RETURN))
    with pytest.raises(errors.ArtifactError, match="read before it is written"):
        _state(program)


def test_no_truncation_and_no_flipped_byte_crashes() -> None:
    data = encode(replace(LOGGING, raises=(RaiseSpec("ValueError", ("a", "b"), ((1, 5),), 0),)))
    for length in range(len(data)):
        with pytest.raises(errors.ArtifactError):
            _state(data[:length])
    code = load_c("void idle(void *a, void *b, long c, long d, void *e) {}")
    idle = _native.CpuKernel(code, "idle", 4, (1, 1, 1), 0, ())
    generator = random.Random(1)
    accepted = 0
    for _ in range(4000):
        damaged = bytearray(data)
        for _ in range(generator.choice((1, 1, 2, 4))):
            damaged[generator.randrange(len(data))] = generator.randrange(256)
        try:
            state = _native.CallState(bytes(damaged), [idle], None, None, (), None)
            accepted += 1
            state.run([5, 6, 7])
        except (errors.DarterError, ValueError, SystemError):
            pass
    assert accepted > 100  # a changed constant or site is as good a program


# -- numbers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [e4m3fn, e5m2, e4m3fnuz, e5m2fnuz])
def test_float8_casts_round_as_ml_dtypes_and_saturate(dtype: ScalarType) -> None:
    largest = float(ml_dtypes.finfo(dtype.numpy()).max)
    generator = np.random.default_rng(3)
    values = np.concatenate(
        [
            np.arange(256, dtype=np.uint8).view(dtype.numpy()).astype(np.float32),
            (generator.standard_normal(150) * 10.0 ** generator.integers(-6, 5, 150)).astype(np.float32),
            np.array([np.inf, -np.inf, largest, -largest, 0.0, -0.0], np.float32),
        ]
    )
    for value in values:
        found = np.uint8(_computed(Opcode.CAST, dtype, (register_bits(f32, value),), b=f32.code)).view(dtype.numpy())
        if np.isnan(value):
            assert np.isnan(found)
        elif abs(value) > largest:
            assert float(found) == np.sign(value) * largest
        else:
            assert found.tobytes() == np.float32(value).astype(dtype.numpy()).tobytes(), value
        back = _computed(Opcode.CAST, f64, (int(found.view(np.uint8)),), b=dtype.code)
        np.testing.assert_equal(np.uint64(back).view(np.float64), np.float64(found))


@pytest.mark.parametrize("dtype", [f16, bf16])
def test_every_16_bit_float_reads_back_as_itself(dtype: ScalarType) -> None:
    for bits in [*range(0, 1 << 16, 97), 0x7C00, 0xFC00, 0x7F80, 0x0001, 0x8001, 0x03FF]:
        value = np.uint16(bits).view(dtype.numpy())
        wide = np.uint64(_computed(Opcode.CAST, f64, (bits,), b=dtype.code)).view(np.float64)
        np.testing.assert_equal(wide, np.float64(value))
        if not np.isnan(wide):
            assert _computed(Opcode.CAST, dtype, (register_bits(f64, float(wide)),), b=f64.code) == bits


@pytest.mark.parametrize(("math", "function"), list(enumerate((np.sqrt, np.floor, np.ceil, np.trunc, np.rint))))
def test_exact_functions(math: int, function: Callable[[Any], Any]) -> None:
    for value in (0.0, 2.5, 3.5, 7.25, 1e300, np.inf):
        found = np.uint64(_computed(Opcode.MATH, f64, (register_bits(f64, value),), b=math)).view(np.float64)
        assert found == function(np.float64(value))


def test_a_bitcast_keeps_the_bits_and_an_fma_rounds_once() -> None:
    assert _computed(Opcode.BITCAST, i32, (register_bits(f32, -0.0),), b=f32.code) == 2**64 - 2**31
    assert _computed(Opcode.BITCAST, f32, (-(2**31),), b=i32.code) == 2**31
    a = 1.0 + 2.0**-30
    exact = [register_bits(f64, value) for value in (a, a, -1.0 - 2.0**-29)]
    assert np.uint64(_computed(Opcode.FMA, f64, exact)).view(np.float64) == 2.0**-60


# -- ownership --------------------------------------------------------------------------------------------------------


class _Owner:
    """Something that can be watched for its end."""


def test_a_call_state_keeps_its_owner_and_code_and_lets_go_of_them() -> None:
    owner = _Owner()
    ended = weakref.ref(owner)
    state = _state(LOGGING, owner=owner)
    del owner
    gc.collect()
    log = _log()
    state.run([log.ctypes.data, 1, 2])  # nobody else holds the code
    assert ended() is state.owner
    del state
    assert ended() is None


def test_a_cycle_through_a_call_state_is_collected() -> None:
    owner = _Owner()
    owner.state = _state(LOGGING, owner=owner)  # type: ignore[attr-defined]
    ended = weakref.ref(owner)
    del owner
    gc.collect()
    assert ended() is None


def test_a_run_leaves_no_references() -> None:
    state = _state(LOGGING, ValueError)
    log = _log()
    slots = [log.ctypes.data, 2**63 - 1, 1]
    for _ in range(50):
        with pytest.raises(ValueError, match="overflow"):
            state.run(slots)
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(200):
        with pytest.raises(ValueError, match="overflow"):
            state.run(slots)
    gc.collect()
    assert len(gc.get_objects()) < before + 50
