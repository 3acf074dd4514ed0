"""What is known of a value across the threads of a warp and of a block.

The lane form of an integer is ``value(lane) = base + stride * lane``, modulo the width of its type, with a warp-uniform
base (the value of lane 0, or what lane 0 would hold if it were active).  Stride 0 is uniform, stride 1 contiguous.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

from darter.dtypes import Bool, ScalarType
from darter.ir import nodes as n

MOST_DIVISIBLE = 1 << 62


class Level(enum.IntEnum):
    """How much the threads that reach a value agree on it; smaller is more agreement."""

    STATIC = 0
    BLOCK_UNIFORM = 1
    WARP_UNIFORM = 2
    CONTIGUOUS = 3
    VARYING = 4


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of one value.

    ``stride`` is per lane (pointers: in elements), ``None`` where there is no lane form.  ``divisor`` is a power of two
    that divides the base.  ``low`` and ``high`` bound an integer or Bool, inclusive; both are 0 for other types and
    mean nothing.  ``exact`` says that the lane form holds without wrapping at the type's width.
    """

    level: Level
    stride: int | None
    divisor: int
    low: int
    high: int
    exact: bool

    @property
    def is_uniform(self) -> bool:
        """True where all active lanes of a warp hold one value."""
        return self.level <= Level.WARP_UNIFORM

    @property
    def constant(self) -> int | None:
        """The one value that an integer or Bool can have, where it is known."""
        return self.low if self.low == self.high and self.level is Level.STATIC else None


def type_bounds(type: n.Type) -> tuple[int, int]:
    """Return the smallest and the largest value of an integer type or Bool; (0, 0) for others."""
    if isinstance(type, n.PointerType) or type.is_float:
        return 0, 0
    return (0, 1) if type is Bool else (type.min, type.max)


def uniform(type: n.Type, level: Level, divisor: int = 1, low: int | None = None, high: int | None = None) -> Facts:
    """Return the facts of a value that a warp agrees on; bounds that the type cannot hold are dropped."""
    smallest, largest = type_bounds(type)
    if low is None or high is None or low < smallest or high > largest:
        low, high = smallest, largest
    return Facts(level, 0, divisor, low, high, exact=True)


def varying(type: n.Type, divisor: int = 1) -> Facts:
    """Return the facts of a value of which nothing is known."""
    low, high = type_bounds(type)
    return Facts(Level.VARYING, None, divisor, low, high, exact=False)


def strided(type: n.Type, stride: int | None, divisor: int, low: int, high: int, exact: bool) -> Facts:
    """Return the facts of a value with a lane form; bounds beyond the type are dropped, and exactness with them."""
    smallest, largest = type_bounds(type)
    if isinstance(type, ScalarType) and (low < smallest or high > largest):
        low, high, exact = smallest, largest, False
    if stride is None:
        return Facts(Level.VARYING, None, divisor, low, high, exact=False)
    level = {0: Level.WARP_UNIFORM, 1: Level.CONTIGUOUS}.get(stride, Level.VARYING)
    return Facts(level, stride, divisor, low, high, exact or stride == 0)


def lowest_bit(value: int) -> int:
    """Return the largest power of two that divides ``value``."""
    return min(value & -value, MOST_DIVISIBLE) if value else MOST_DIVISIBLE


def join(type: n.Type, a: Facts, b: Facts, level: Level) -> Facts:
    """Return what is known of a value that is ``a`` or ``b``, as a choice of agreement ``level`` decides."""
    divisor, low, high = min(a.divisor, b.divisor), min(a.low, b.low), max(a.high, b.high)
    if level > Level.WARP_UNIFORM or a.stride != b.stride or a.stride is None:
        return Facts(Level.VARYING, None, divisor, low, high, exact=False)
    if a.stride == 0:
        scalar = isinstance(type, ScalarType) and not type.is_float
        same = scalar and a.constant is not None and a.constant == b.constant
        worst = max(a.level, b.level, level, Level.STATIC if same else Level.BLOCK_UNIFORM)
        return Facts(worst, 0, divisor, low, high, exact=True)
    return strided(type, a.stride, divisor, low, high, a.exact and b.exact)


def read_index(kernel: n.Kernel, index: n.Index, axis: int) -> Facts:
    """Return the facts of a position of a thread in ``kernel``."""
    limit = 0x7FFFFFFF if axis == 0 else 65535
    match index:
        case n.Index.BLOCK_IDX:
            return Facts(Level.BLOCK_UNIFORM, 0, 1, 0, limit - 1, exact=True)
        case n.Index.GRID_DIM:
            return Facts(Level.BLOCK_UNIFORM, 0, 1, 1, limit, exact=True)
        case n.Index.WARP_ID:
            last = (kernel.threads - 1) // kernel.warp_size
            return Facts(Level.WARP_UNIFORM if last else Level.STATIC, 0, 1, 0, last, exact=True)
        case n.Index.LANE_ID:
            last = min(kernel.warp_size, kernel.threads) - 1
            return Facts(Level.CONTIGUOUS, 1, MOST_DIVISIBLE, 0, last, exact=True)
        case n.Index.THREAD_IDX:
            return _thread_index(kernel, axis)


def _thread_index(kernel: n.Kernel, axis: int) -> Facts:
    """Return the facts of ``thread_idx``: (linear thread // inner) % extent; warps are cut from the linear one."""
    extent, warp = kernel.block[axis], kernel.warp_size
    inner = 1
    for before in kernel.block[:axis]:
        inner *= before
    outer = kernel.threads // (inner * extent)
    if extent == 1:
        return Facts(Level.STATIC, 0, MOST_DIVISIBLE, 0, 0, exact=True)
    if inner % warp == 0:
        return Facts(Level.WARP_UNIFORM, 0, 1, 0, extent - 1, exact=True)
    if inner == 1 and (extent % warp == 0 or outer == 1):
        return Facts(Level.CONTIGUOUS, 1, warp, 0, extent - 1, exact=True)
    return Facts(Level.VARYING, None, 1, 0, extent - 1, exact=False)


def as_level(facts: Facts, level: Level) -> Facts:
    """Return ``facts`` of a uniform value with its level replaced."""
    return replace(facts, level=level)
