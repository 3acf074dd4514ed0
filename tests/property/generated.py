"""A generated kernel and the memory it runs on: buffers by role and dtype, filled from a seed, compared by bits."""

from __future__ import annotations

import ctypes
import enum
import mmap
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from darter import dtypes as dt
from darter.ir import nodes as n, numbers
from tests.ir_builder import pointer_type

EXACT = (n.MathOp.SQRT, n.MathOp.FLOOR, n.MathOp.CEIL, n.MathOp.TRUNC, n.MathOp.RINT)
NOT_GENERATED = (n.MathOp.FMOD, n.MathOp.LGAMMA)
"""fmod has tests of its own; results of lgamma near its zeros are not good to any number of ulps."""
INEXACT = tuple(op for op in n.MathOp if op not in (*EXACT, *NOT_GENERATED))
"""Functions whose results are compared by ulps."""
INPUT_ELEMENTS = 256


class Role(enum.Enum):
    """What a buffer is for; ``INEXACT`` ones hold results that are compared by ulps."""

    INPUT = "input"
    OUTPUT = "output"
    ATOMIC = "atomic"
    INEXACT = "inexact"


@dataclass(slots=True)
class Plan:
    """The parameters that a kernel under construction has so far, and how many elements each buffer holds."""

    shared_bytes: int = 0
    _parameters: list[n.Value] = field(default_factory=list)
    buffers: dict[tuple[Role, dt.ScalarType], int] = field(default_factory=dict)
    words: list[tuple[Role, dt.ScalarType] | int] = field(default_factory=list)
    functions: list[tuple[dt.ScalarType, int, int, n.MathOp]] = field(default_factory=list)
    _pointers: dict[tuple[Role, dt.ScalarType], n.Value] = field(default_factory=dict)

    @property
    def parameters(self) -> tuple[n.Value, ...]:
        return tuple(self._parameters)

    def scalar(self, dtype: dt.ScalarType, value: bool | int | float) -> n.Value:
        """Return a new scalar parameter that a launch gives ``value``."""
        self.words.append(register_word(numbers.constant(value, dtype, 1), 0))
        self._parameters.append(n.Value(dtype, f"scalar_{dtype.name}"))
        return self._parameters[-1]

    def input(self, dtype: dt.ScalarType) -> n.Value:
        """Return the pointer to the input elements of ``dtype``."""
        return self._buffer(Role.INPUT, dtype, INPUT_ELEMENTS)[0]

    def slot(self, dtype: dt.ScalarType, role: Role, count: int) -> tuple[n.Value, int]:
        """Return a pointer and the number of the first of ``count`` elements behind it that nobody else has."""
        return self._buffer(role, dtype, count)

    def _buffer(self, role: Role, dtype: dt.ScalarType, count: int) -> tuple[n.Value, int]:
        key = (role, dtype)
        start = self.buffers.get(key, 0)
        if role is not Role.INPUT or start == 0:
            self.buffers[key] = start + count
        if key not in self._pointers:
            self._pointers[key] = n.Value(pointer_type(dtype), f"{role.value}_{dtype.name}")
            self._parameters.append(self._pointers[key])
            self.words.append(key)
        return self._pointers[key], start


@dataclass(frozen=True, slots=True)
class GeneratedKernel:
    """A kernel, its buffers, and the grid to launch it on."""

    kernel: n.Kernel
    plan: Plan
    grid: tuple[int, int, int]
    everyone: int


class Memory:
    """Buffers of one run, the same for the same seed; those of inputs are aligned to 64 bytes."""

    def __init__(self, generated: GeneratedKernel, seed: int) -> None:
        self.plan = generated.plan
        self.arrays = {key: _filled(*key, count, seed) for key, count in self.plan.buffers.items()}

    def words(self) -> list[int]:
        """Return the register words of a launch."""
        return [word if isinstance(word, int) else self.arrays[word].ctypes.data for word in self.plan.words]


def _filled(role: Role, dtype: dt.ScalarType, count: int, seed: int) -> np.ndarray:
    array = _before_a_wall(count, numbers.storage(dtype))
    if role in (Role.OUTPUT, Role.INEXACT):
        array.view(np.uint8)[:] = 0x5A if dtype is not dt.Bool else 0
        return array
    if role is Role.ATOMIC:
        array[:] = 0
        return array
    random = np.random.default_rng([seed, dtype.code])
    if dtype is dt.Bool:
        array[:] = random.random(count) < 0.5
        return array
    bits = random.integers(0, 256, count * dtype.size_bytes, np.uint8).view(f"u{dtype.size_bytes}")
    array[:] = bits.view(array.dtype)
    kind = random.random(count)
    small = random.integers(-20 if dtype.is_signed else 0, 100, count)
    if not dtype.is_float:
        array[kind < 0.6] = small[kind < 0.6].astype(array.dtype)
        return array
    # Mantissas that fill up, at one magnitude: sums and products of them have to be rounded.
    full = random.normal(0.0, 8.0, count)
    array[kind < 0.7] = numbers.narrow(np.where(kind < 0.2, small / 4, full)[kind < 0.7], dtype)
    return array


def _before_a_wall(count: int, kind: np.dtype) -> np.ndarray:
    """Return zeros that end where a page begins that must not be touched: running over the end stops the process."""
    size = count * kind.itemsize
    pages = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
    area = mmap.mmap(-1, pages + mmap.PAGESIZE)
    raw = np.frombuffer(area, np.uint8)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(ctypes.c_void_p(raw.ctypes.data + pages), ctypes.c_size_t(mmap.PAGESIZE), 0) != 0:
        raise OSError(ctypes.get_errno(), "mprotect")
    return raw[pages - size : pages].view(kind)


def differences(reference: Memory, other: Memory, ulps: dict[n.MathOp, int]) -> list[str]:
    """Return a line for each place where two runs left different values; NaN equals NaN."""
    lines: list[str] = []
    for (role, dtype), expected in reference.arrays.items():
        found = other.arrays[role, dtype]
        if role is Role.INEXACT:
            lines += _beyond_ulps(reference.plan, dtype, expected, found, ulps)
            continue
        wrong = expected.view(f"u{dtype.size_bytes}") != found.view(f"u{dtype.size_bytes}")
        if dtype.is_float:
            wide = [numbers.widen(side, dtype) for side in (expected, found)]
            wrong &= ~(np.isnan(wide[0]) & np.isnan(wide[1]))
        lines += [
            f"{role.value}_{dtype.name}[{place}]: interpreter {_shown(expected, dtype, place)}, "
            f"compiled {_shown(found, dtype, place)}"
            for place in np.flatnonzero(wrong)[:4]
        ]
    return lines


def _shown(array: np.ndarray, dtype: dt.ScalarType, place: int) -> str:
    one = array[place : place + 1]
    value = numbers.widen(one, dtype)[0] if dtype.is_float else one[0]
    return f"{value!s} ({register_word(one, 0):#x})"


def register_word(lanes: np.ndarray, thread: int) -> int:
    """Return the value of one lane as a 64-bit word, in its low bytes, zero-extended."""
    return int.from_bytes(lanes[thread].tobytes(), "little")


def ulps_apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return how many floats of their type lie between ``a`` and ``b``; 0 where both are NaN."""
    kind = np.int32 if a.dtype == np.float32 else np.int64
    ordered = []
    for side in (a, b):
        bits = side.view(kind).astype(np.int64)
        ordered.append(np.where(bits < 0, np.int64(np.iinfo(kind).min) - bits, bits))
    # As unsigned numbers: they may be further apart than an int64 holds, and a float64 does not tell neighbours apart.
    apart = np.maximum(*ordered).view(np.uint64) - np.minimum(*ordered).view(np.uint64)
    return np.where(np.isnan(a) | np.isnan(b), np.where(np.isnan(a) == np.isnan(b), 0, np.inf), apart)


def _beyond_ulps(
    plan: Plan, dtype: dt.ScalarType, expected: np.ndarray, found: np.ndarray, ulps: dict[n.MathOp, int]
) -> Sequence[str]:
    lines = []
    for kind, start, count, op in plan.functions:
        if kind is dtype:
            apart = ulps_apart(expected[start : start + count], found[start : start + count])
            worst = int(np.argmax(apart))
            if apart[worst] > ulps[op]:
                place = start + worst
                sides = f"interpreter {_shown(expected, dtype, place)}, compiled {_shown(found, dtype, place)}"
                lines.append(f"{op.value} of {dtype.name} is {apart[worst]:.0f} ulps off: {sides}")
    return lines
