"""Kernel code as plain Python: numbers that follow the guide's rules, threads of a block as threads of the process.

An oracle that shares no code with the front end: ``Number`` is written from docs/language.md, and control flow,
containers, helpers and structs are Python's own.
"""

from __future__ import annotations

import math
import operator
import threading
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np

WIDTHS = {
    "Bool": 1, "Int8": 8, "Int16": 16, "Int32": 32, "Int64": 64, "UInt8": 8, "UInt16": 16, "UInt32": 32, "UInt64": 64,
    "Float16": 16, "BFloat16": 16, "Float32": 32, "Float64": 64, "Float8E4M3FN": 8, "Float8E5M2": 8,
}  # fmt: skip
_FLOATS: dict[str, Any] = {
    "Float16": np.float16,
    "BFloat16": ml_dtypes.bfloat16,
    "Float32": np.float32,
    "Float64": np.float64,
    "Float8E4M3FN": ml_dtypes.float8_e4m3fn,
    "Float8E5M2": ml_dtypes.float8_e5m2,
}


def is_float(type: str) -> bool:
    return type in _FLOATS


def is_signed(type: str) -> bool:
    return type.startswith("Int")


def wrapped(value: int, type: str) -> int:
    """Return an integer cut to the width of an integer type."""
    bits = WIDTHS[type]
    low = value & ((1 << bits) - 1)
    return low - (1 << bits) if is_signed(type) and low >> (bits - 1) else low


def rounded(value: Any, type: str) -> float:
    """Return a number rounded to a float type, as a Python float."""
    kind = _FLOATS[type]
    with np.errstate(all="ignore"):
        if type.startswith("Float8"):
            largest = float(ml_dtypes.finfo(kind).max)
            value = float(value)
            # Through Float32, as a value gets there: casts of wider types round once all the same.
            return float(kind(value if math.isnan(value) else max(-largest, min(largest, value))))
        return float(kind(value if type == "Float64" else float(value)))


class Number:
    """A value of one of the scalar types: an int, a bool or a float that the type holds."""

    __slots__ = ("type", "value")

    def __init__(self, type: str, value: Any) -> None:
        self.type = type
        self.value = value

    def __repr__(self) -> str:
        return f"{self.type}({self.value})"

    def __bool__(self) -> bool:
        return bool(self.value)

    def __index__(self) -> int:
        return int(self.value)

    def _met(self, other: Any) -> str:
        """Return the type in which this and another number meet."""
        if not isinstance(other, Number):
            if isinstance(other, bool):
                return self.type
            if isinstance(other, int):
                return "Int32" if self.type == "Bool" else self.type
            return self.type if is_float(self.type) else "Float32"
        a, b = self.type, other.type
        if a == b:
            return a
        if is_float(a) and is_float(b):
            return "Float32" if {a, b} == {"Float16", "BFloat16"} else max(a, b, key=lambda t: WIDTHS[t])
        if is_float(a) or is_float(b):
            return a if is_float(a) else b
        return max(a, b, key=lambda t: WIDTHS[t])

    def _binary(self, other: Any, function: Callable[[Any, Any], Any], *, flip: bool = False) -> Number:
        type = self._met(other)
        if type == "Bool":
            type = "Int32"
        a, b = cast(type, self).value, cast(type, other).value
        if flip:
            a, b = b, a
        return Number(type, computed(type, function, a, b))

    def _integer(self, other: Any, function: Callable[[int, int], int], *, flip: bool = False) -> Number:
        type = self._met(other)
        a, b = cast(type, self).value, cast(type, other).value
        if type == "Bool":
            return Number(type, bool(function(a, b)))
        return Number(type, wrapped(function(b, a) if flip else function(a, b), type))

    def _shift(self, other: Any, function: Callable[[int, int], int]) -> Number:
        amount = int(other.value if isinstance(other, Number) else other) % WIDTHS[self.type]
        return Number(self.type, wrapped(function(self.value, amount), self.type))

    def _compare(self, other: Any, function: Callable[[Any, Any], bool]) -> Number:
        type = self._met(other)
        return Number("Bool", bool(function(cast(type, self).value, cast(type, other).value)))

    def __add__(self, other: Any) -> Number:
        return self._binary(other, operator.add)

    def __radd__(self, other: Any) -> Number:
        return self._binary(other, operator.add, flip=True)

    def __sub__(self, other: Any) -> Number:
        return self._binary(other, operator.sub)

    def __rsub__(self, other: Any) -> Number:
        return self._binary(other, operator.sub, flip=True)

    def __mul__(self, other: Any) -> Number:
        return self._binary(other, operator.mul)

    def __rmul__(self, other: Any) -> Number:
        return self._binary(other, operator.mul, flip=True)

    def __truediv__(self, other: Any) -> Number:
        type = self._met(other)
        if not is_float(type):
            type = "Float64" if WIDTHS[type] == 64 else "Float32"
        a, b = cast(type, self).value, cast(type, other).value
        return Number(type, computed(type, operator.truediv, a, b))

    def __floordiv__(self, other: Any) -> Number:
        return self._binary(other, operator.floordiv)

    def __mod__(self, other: Any) -> Number:
        return self._binary(other, operator.mod)

    def __divmod__(self, other: Any) -> tuple[Number, Number]:
        return self // other, self % other

    def __pow__(self, exponent: int) -> Number:
        result = Number(self.type, 1.0 if is_float(self.type) else 1)
        base, bits = self, exponent
        first = True
        while bits:
            if bits & 1:
                result, first = (base if first else result * base), False
            bits >>= 1
            if bits:
                base = base * base
        return result

    def __and__(self, other: Any) -> Number:
        return self._integer(other, operator.and_)

    __rand__ = __and__

    def __or__(self, other: Any) -> Number:
        return self._integer(other, operator.or_)

    __ror__ = __or__

    def __xor__(self, other: Any) -> Number:
        return self._integer(other, operator.xor)

    __rxor__ = __xor__

    def __lshift__(self, other: Any) -> Number:
        return self._shift(other, operator.lshift)

    def __rshift__(self, other: Any) -> Number:
        return self._shift(other, operator.rshift)

    def __neg__(self) -> Number:
        return Number(self.type, -self.value if is_float(self.type) else wrapped(-self.value, self.type))

    def __invert__(self) -> Number:
        return Number(self.type, not self.value if self.type == "Bool" else wrapped(~self.value, self.type))

    def __abs__(self) -> Number:
        return Number(self.type, abs(self.value) if is_float(self.type) else wrapped(abs(self.value), self.type))

    def __lt__(self, other: Any) -> Number:
        return self._compare(other, operator.lt)

    def __le__(self, other: Any) -> Number:
        return self._compare(other, operator.le)

    def __gt__(self, other: Any) -> Number:
        return self._compare(other, operator.gt)

    def __ge__(self, other: Any) -> Number:
        return self._compare(other, operator.ge)

    def __eq__(self, other: object) -> Any:
        return self._compare(other, operator.eq)

    def __ne__(self, other: object) -> Any:
        return self._compare(other, operator.ne)

    __hash__ = None  # type: ignore[assignment]


def computed(type: str, function: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """Return a sum, difference, product or quotient as the guide defines it for a type."""
    if not is_float(type):
        if function in (operator.floordiv, operator.mod) and b == 0:
            return 0
        return wrapped(function(a, b), type)
    kind: Any = np.float64 if type == "Float64" else np.float32
    with np.errstate(all="ignore"):
        return rounded(function(kind(a), kind(b)), type)


def cast(type: str, value: Any) -> Number:
    """Return ``value`` converted as ``dt.<type>(value)`` does."""
    if isinstance(value, Number):
        value = value.value
    if type == "Bool":
        return Number(type, bool(value != 0))
    if is_float(type):
        return Number(type, rounded(value, type))
    if isinstance(value, float):
        if math.isnan(value):
            return Number(type, 0)
        low = -(1 << (WIDTHS[type] - 1)) if is_signed(type) else 0
        high = (1 << (WIDTHS[type] - is_signed(type))) - 1
        return Number(type, low if value <= low else high if value >= high else int(value))
    return Number(type, wrapped(int(value), type))


def where(condition: Any, a: Any, b: Any) -> Any:
    if isinstance(a, tuple):
        chosen = [where(condition, x, y) for x, y in zip(a, b, strict=True)]
        return tuple(chosen) if type(a) is tuple else type(a)(*chosen)
    return a if condition else b


def extremum(name: str) -> Callable[..., Any]:
    """Return ``min`` or ``max`` of two numbers; of a NaN, NaN."""

    def of_two(a: Any, b: Any) -> Any:
        if not isinstance(a, Number):
            a, b = b, a
        if not isinstance(a, Number):
            return (min if name == "min" else max)(a, b)
        type = a._met(b)
        x, y = cast(type, a).value, cast(type, b).value
        if x != x or y != y:
            return Number(type, math.nan)
        if x == y == 0 and is_float(type):  # −0 is below 0
            x, y = math.copysign(1, x), math.copysign(1, y)
            return Number(type, math.copysign(0.0, (min if name == "min" else max)(x, y)))
        return Number(type, (min if name == "min" else max)(x, y))

    return of_two


def run_time_range(*bounds: Any) -> Iterator[Number]:
    """Return what ``range`` is at run time: numbers of the type of the bounds, or Int64."""
    types = [bound.type for bound in bounds if isinstance(bound, Number)]
    type = max(types, key=lambda t: WIDTHS[t]) if types else "Int64"
    return (Number(type, k) for k in range(*map(int, bounds)))


class Memory:
    """A NumPy array whose elements are Numbers."""

    def __init__(self, array: np.ndarray, type: str) -> None:
        self.array = array
        self.type = type

    def __getitem__(self, index: Any) -> Number:
        index = tuple(map(int, index)) if isinstance(index, tuple) else int(index)
        item = self.array[index]
        return Number(self.type, float(item) if is_float(self.type) else item.item())

    def __setitem__(self, index: Any, value: Any) -> None:
        index = tuple(map(int, index)) if isinstance(index, tuple) else int(index)
        self.array[index] = value.value if isinstance(value, Number) else value


WARP = 32


class Block:
    """The threads of one block of full warps: each runs in a thread of the process and waits for the others."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.meeting = threading.Barrier(threads)
        self.warps = [threading.Barrier(WARP) for _ in range(threads // WARP)]
        self.exchanged: list[Any] = [None] * threads
        self.lock = threading.Lock()
        self.local = threading.local()

    def run(self, program: Callable[[Number], None]) -> None:
        """Run ``program(thread)`` for all threads; raises what one of them raised."""
        failed: list[BaseException] = []

        def one(thread: int) -> None:
            self.local.thread = thread
            try:
                program(Number("Int32", thread))
            except Exception as error:  # noqa: BLE001 - told by the thread that waits
                failed.append(error)
                for barrier in (self.meeting, *self.warps):
                    barrier.abort()

        workers = [threading.Thread(target=one, args=(thread,)) for thread in range(self.threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        real = [error for error in failed if not isinstance(error, threading.BrokenBarrierError)]
        if failed:
            raise (real or failed)[0]

    def barrier(self) -> None:
        self.meeting.wait()

    def exchange(self, value: Any, choose: Callable[[int, list[Any]], Any]) -> Any:
        """Return what ``choose(lane, values)`` makes of the values of the thread's warp."""
        warp, lane = divmod(self.local.thread, WARP)
        self.exchanged[self.local.thread] = value
        self.warps[warp].wait()
        result = choose(lane, self.exchanged[warp * WARP : (warp + 1) * WARP])
        self.warps[warp].wait()
        return result

    def shuffle_xor(self, value: Any, mask: Any) -> Any:
        return self.exchange(value, lambda t, all: all[(t ^ int(mask)) % WARP])

    def shuffle_idx(self, value: Any, lane: Any) -> Any:
        return self.exchange(value, lambda t, all: all[int(lane) % WARP])

    def shuffle_up(self, value: Any, delta: Any) -> Any:
        return self.exchange(value, lambda t, all: all[t - int(delta)] if t >= int(delta) else all[t])

    def vote_any(self, value: Any) -> Number:
        return self.exchange(value, lambda t, all: Number("Bool", any(map(bool, all))))

    def ballot(self, value: Any) -> Number:
        return self.exchange(value, lambda t, all: Number("UInt64", sum(bool(v) << k for k, v in enumerate(all))))

    def block_sum(self, value: Any) -> Number:
        """Return the sum of integers, whose order does not matter."""
        self.exchanged[self.local.thread] = value
        self.meeting.wait()
        total = sum(each.value for each in self.exchanged)
        self.meeting.wait()
        return Number(value.type, wrapped(total, value.type))

    def atomic_add(self, memory: Memory, index: Any, value: Any) -> None:
        with self.lock:
            memory[index] = memory[index] + value
