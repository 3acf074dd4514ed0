"""What every part of the kernel generator draws from: its choices so far, and the values that code may use."""

from __future__ import annotations

import random

from darter import dtypes as dt
from darter.ir import nodes as n
from tests.ir_builder import Builder
from tests.property.generated import Plan

_BLOCKS = (
    (32, 1, 1), (64, 1, 1), (96, 1, 1), (40, 1, 1), (33, 1, 1), (128, 1, 1), (1, 1, 1),
    (16, 4, 1), (8, 4, 2), (7, 3, 1), (1, 64, 2), (32, 2, 1), (64, 1, 2),
)  # fmt: skip
ARITHMETIC = tuple(dtype for dtype in dt.ALL if not dtype.is_float8)


class Values:
    """The kernel so far; ``random`` draws every choice, so that (seed, size) names it.

    ``values`` are those of each scope, innermost last; ``agreed`` those that the block agrees on, as the analysis can
    prove; ``thread``, ``global_thread`` and ``warp_number`` say who a thread is; ``everyone`` is how many there are;
    ``shared`` the block's memory by type, an element per thread.
    """

    thread: n.Value
    global_thread: n.Value
    warp_number: n.Value

    def __init__(self, seed: int, size: int, warp_size: int) -> None:
        self.random = random.Random(seed)
        self.functions = random.Random(f"functions {seed}")
        self.counts = random.Random(f"counts of bits {seed}")
        self.b = Builder()
        self.plan = Plan()
        self.warp_size = warp_size
        self.block = self.random.choice(_BLOCKS)
        self.threads = self.block[0] * self.block[1] * self.block[2]
        self.grid = (self.random.choice((1, 2, 3)), self.random.choice((1, 1, 2)), self.random.choice((1, 1, 2)))
        self.everyone = self.threads * self.grid[0] * self.grid[1] * self.grid[2]
        self.size = size
        favourites = self.random.sample(dt.ALL, 4)
        self.types = list(dict.fromkeys([dt.Int32, dt.Bool, dt.Float32, *favourites]))
        self.values: list[list[n.Value]] = [[]]
        self.agreed: list[list[n.Value]] = [[]]
        self.shared: dict[dt.ScalarType, n.Value] = {}

    def note(self, *values: n.Value) -> None:
        """Let later statements of this scope use ``values``."""
        self.values[-1].extend(values)

    def pick(self, dtype: dt.ScalarType) -> n.Value:
        """Return a visible value of ``dtype``, made of another one or of a constant where there is none."""
        known = [value for scope in self.values for value in scope if value.type is dtype]
        chance = self.random.random()
        if chance < 0.06:
            return self.pick_agreed(dtype)
        if known and chance < 0.9:
            # The latest values are the most interesting: they depend on the most.
            return known[-1 - min(int(self.random.expovariate(0.3)), len(known) - 1)]
        return self.b.const(dtype, self.constant(dtype))

    def pick_agreed(self, dtype: dt.ScalarType) -> n.Value:
        """Return a value that the block agrees on, as the analysis can prove."""
        known = [value for scope in self.agreed for value in scope if value.type is dtype]
        return self.random.choice(known) if known else self.b.const(dtype, self.constant(dtype))

    def constant(self, dtype: dt.ScalarType) -> bool | int | float:
        if dtype is dt.Bool:
            return self.random.random() < 0.5
        if dtype.is_integer:
            near = [
                0,
                1,
                2,
                3,
                5,
                7,
                8,
                31,
                32,
                64,
                100,
                dtype.min,
                dtype.max,
                -1,
                self.random.randint(dtype.min, dtype.max),
            ]
            return self.random.choice([value for value in near if dtype.min <= value <= dtype.max])
        return self.random.choice(
            [0.0, -0.0, 1.0, -1.5, 0.1, 3.0, 3.14159265, -0.7, 1e-5, 1000.25, 448.0, 1e30, float("inf"), float("nan")]
        )

    def arithmetic_type(self) -> dt.ScalarType:
        return self.random.choice([dtype for dtype in self.types if dtype in ARITHMETIC])

    def small(self, value: n.Value, mask: int) -> n.Value:
        """Return an integer value cut to ``mask`` (2^k - 1)."""
        return self.b.binary(n.BinaryOp.AND, value, self.b.const(value.dtype, mask))

    def wide_float(self) -> dt.ScalarType:
        return dt.Float64 if dt.Float64 in self.types and self.random.random() < 0.5 else dt.Float32

    def without_nan(self, value: n.Value) -> n.Value:
        if not value.dtype.is_float:
            return value
        wide = value if value.dtype is dt.Float64 else self.b.cast(dt.Float32, value)
        number = self.b.compare(n.CompareOp.EQ, wide, wide)
        return self.b.select(number, value, self.b.const(value.dtype, 1.0))
