"""What is known of a value across the threads of a warp and of a block, and how scalar operations carry it on.

The lane form of an integer is ``value(lane) = base + stride * lane``, modulo the width of its type, with a warp-uniform
base (the value of lane 0, or what lane 0 would hold if it were active).  Stride 0 is uniform, stride 1 contiguous.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

from darter.dtypes import Bool, ScalarType
from darter.ir import nodes as n

_MOST_DIVISIBLE = 1 << 62


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
    return min(value & -value, _MOST_DIVISIBLE) if value else _MOST_DIVISIBLE


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


class LaneAlgebra:
    """Facts of the results of scalar operations, for warps of ``warp_size`` lanes."""

    def __init__(self, warp_size: int) -> None:
        self._last_lane = warp_size - 1

    def unary(self, op: n.UnaryOp, type: n.Type, x: Facts) -> Facts:
        """Return the facts of ``op x``."""
        if x.is_uniform:
            return uniform(type, max(x.level, Level.BLOCK_UNIFORM), x.divisor if op is n.UnaryOp.NEG else 1)
        if op is n.UnaryOp.NEG and x.stride is not None and type_bounds(type) != (0, 0):
            return strided(type, -x.stride, x.divisor, -x.high, -x.low, x.exact)
        return varying(type)

    def binary(self, op: n.BinaryOp, type: n.Type, x: Facts, y: Facts) -> Facts:
        """Return the facts of ``x op y``."""
        if isinstance(type, n.PointerType) or type.is_float or type is Bool:
            return self.opaque(type, x, y)
        low, high = _bounds(op, x, y) or type_bounds(type)
        divisor = _divisor(op, x, y)
        if x.is_uniform and y.is_uniform:
            level = max(x.level, y.level)
            if level is Level.STATIC and low != high:
                level = Level.BLOCK_UNIFORM
            return uniform(type, level, divisor, low, high)
        match op:
            case n.BinaryOp.ADD | n.BinaryOp.SUB if x.stride is not None and y.stride is not None:
                stride = x.stride + y.stride if op is n.BinaryOp.ADD else x.stride - y.stride
                return strided(type, stride, divisor, low, high, x.exact and y.exact)
            case n.BinaryOp.MUL | n.BinaryOp.SHL:
                return self._scaled(op, type, x, y, strided(type, None, divisor, low, high, exact=False))
            case n.BinaryOp.FLOORDIV | n.BinaryOp.SHR | n.BinaryOp.MOD | n.BinaryOp.AND:
                return self._divided(op, type, x, y, strided(type, None, divisor, low, high, exact=False))
        return strided(type, None, divisor, low, high, exact=False)

    def compare(self, op: n.CompareOp, type: n.Type, x: Facts, y: Facts) -> Facts:
        """Return the facts of a comparison of two values of ``type``."""
        integers = isinstance(type, ScalarType) and not type.is_float
        decided = _decided(op, x, y) if integers else None
        if decided is not None:
            return Facts(Level.STATIC, 0, 1, int(decided), int(decided), exact=True)
        if x.is_uniform and y.is_uniform:
            return uniform(Bool, max(x.level, y.level, Level.BLOCK_UNIFORM))
        if integers and (self._splits_between_warps(op, x, y) or self._splits_between_warps(_MIRRORED[op], y, x)):
            return uniform(Bool, Level.WARP_UNIFORM)
        return varying(Bool)

    def converted(self, source: n.Type, target: n.Type, x: Facts) -> Facts:
        """Return the facts of a cast, or of a bitcast between integers, from ``source`` to ``target``."""
        if isinstance(source, n.PointerType) or isinstance(target, n.PointerType):
            return self.opaque(target, x)
        if source.is_float or target.is_float or target is Bool or source is Bool:
            return self.opaque(target, x)
        low, high = type_bounds(target)
        fits = low <= x.low and x.high <= high
        divisor = min(x.divisor, 1 << (target.bits - 1)) if x.divisor < _MOST_DIVISIBLE else x.divisor
        if x.is_uniform:
            level = x.level if fits else max(x.level, Level.BLOCK_UNIFORM)
            return uniform(target, level, divisor, x.low, x.high)
        wraps_alike = target.bits <= source.bits
        if x.stride is None or not (wraps_alike or self._is_exact(x)):
            return strided(target, None, divisor, x.low, x.high, exact=False)
        return strided(target, x.stride, divisor, x.low, x.high, self._is_exact(x) and fits)

    def opaque(self, type: n.Type, *operands: Facts) -> Facts:
        """Return the facts of a pure function of ``operands`` of which nothing else is known."""
        if all(operand.is_uniform for operand in operands):
            return uniform(type, max(Level.BLOCK_UNIFORM, *(operand.level for operand in operands)))
        return varying(type)

    def proven_exact(self, x: Facts) -> Facts:
        """Return ``x`` with ``exact`` set where the base's divisor leaves room for all lanes."""
        return replace(x, exact=True) if self._is_exact(x) else x

    def _reach(self, x: Facts) -> int | None:
        """Return how far the last lane is from the base, where lanes count upwards."""
        return x.stride * self._last_lane if x.stride is not None and x.stride >= 0 else None

    def _is_exact(self, x: Facts) -> bool:
        reach = self._reach(x)
        return x.exact or (reach is not None and reach < x.divisor)

    def _scaled(self, op: n.BinaryOp, type: n.Type, x: Facts, y: Facts, otherwise: Facts) -> Facts:
        if op is n.BinaryOp.MUL and x.constant is not None:
            x, y = y, x
        factor = y.constant
        if factor is None or x.stride is None:
            return otherwise
        if op is n.BinaryOp.SHL:
            assert isinstance(type, ScalarType)
            factor = 1 << (factor % type.bits)
        return strided(type, x.stride * factor, otherwise.divisor, otherwise.low, otherwise.high, x.exact)

    def _divided(self, op: n.BinaryOp, type: n.Type, x: Facts, y: Facts, otherwise: Facts) -> Facts:
        """Return the facts of x // c, x >> c, x % c and x & c for a constant c that cuts between warps."""
        if op is n.BinaryOp.AND and x.constant is not None:
            x, y = y, x
        reach, constant = self._reach(x), y.constant
        if reach is None or constant is None or x.is_uniform:
            return otherwise
        if op is n.BinaryOp.AND:
            return self._masked(type, x, constant, reach, otherwise)
        if op is n.BinaryOp.SHR:
            assert isinstance(type, ScalarType)
            constant = 1 << (constant % type.bits)
        if constant <= 0:
            return otherwise
        if op is n.BinaryOp.MOD and x.low >= 0 and x.high < constant:
            return x
        if reach >= min(x.divisor, lowest_bit(constant)):
            return otherwise
        if op is n.BinaryOp.MOD:
            return strided(type, x.stride, otherwise.divisor, otherwise.low, otherwise.high, exact=True)
        return uniform(type, Level.WARP_UNIFORM, otherwise.divisor, otherwise.low, otherwise.high)

    def _masked(self, type: n.Type, x: Facts, mask: int, reach: int, otherwise: Facts) -> Facts:
        lane_bits = (1 << reach.bit_length()) - 1
        if lane_bits >= x.divisor:
            return otherwise
        if mask & lane_bits == lane_bits:
            return strided(type, x.stride, otherwise.divisor, otherwise.low, otherwise.high, exact=True)
        if mask & lane_bits == 0:
            return uniform(type, Level.WARP_UNIFORM, otherwise.divisor, otherwise.low, otherwise.high)
        return otherwise

    def _splits_between_warps(self, op: n.CompareOp, x: Facts, y: Facts) -> bool:
        """Return whether ``x < y`` or ``x >= y`` is the same for all lanes: y is a multiple of what x spans."""
        reach, divisor = self._reach(x), y.divisor
        if op in (n.CompareOp.LE, n.CompareOp.GT) and y.constant is not None:
            divisor = lowest_bit(y.constant + 1)
        elif op not in (n.CompareOp.LT, n.CompareOp.GE):
            return False
        return y.is_uniform and reach is not None and reach < min(x.divisor, divisor)


_MIRRORED = {
    n.CompareOp.EQ: n.CompareOp.EQ,
    n.CompareOp.NE: n.CompareOp.NE,
    n.CompareOp.LT: n.CompareOp.GT,
    n.CompareOp.GT: n.CompareOp.LT,
    n.CompareOp.LE: n.CompareOp.GE,
    n.CompareOp.GE: n.CompareOp.LE,
}


def _decided(op: n.CompareOp, x: Facts, y: Facts) -> bool | None:
    """Return the outcome of a comparison that the bounds decide."""
    below, not_above = x.high < y.low, x.high <= y.low
    above, not_below = x.low > y.high, x.low >= y.high
    match op:
        case n.CompareOp.LT:
            return True if below else False if not_below else None
        case n.CompareOp.LE:
            return True if not_above else False if above else None
        case n.CompareOp.GT:
            return True if above else False if not_above else None
        case n.CompareOp.GE:
            return True if not_below else False if below else None
        case n.CompareOp.EQ:
            return False if below or above else None
        case n.CompareOp.NE:
            return True if below or above else None


def _divisor(op: n.BinaryOp, x: Facts, y: Facts) -> int:
    match op:
        case n.BinaryOp.ADD | n.BinaryOp.SUB | n.BinaryOp.MIN | n.BinaryOp.MAX | n.BinaryOp.OR | n.BinaryOp.XOR:
            return min(x.divisor, y.divisor)
        case n.BinaryOp.MUL:
            return min(x.divisor * y.divisor, _MOST_DIVISIBLE)
        case n.BinaryOp.AND:
            return max(x.divisor, y.divisor)
        case n.BinaryOp.SHL if y.constant is not None and 0 <= y.constant < 8:
            return min(x.divisor << y.constant, _MOST_DIVISIBLE)
        case n.BinaryOp.MOD if y.constant is not None and y.constant > 0:
            return min(x.divisor, lowest_bit(y.constant))
    return 1


def _bounds(op: n.BinaryOp, x: Facts, y: Facts) -> tuple[int, int] | None:
    """Return the bounds of the mathematical result, which may exceed the type, or None where they are not tracked."""
    constant = y.constant
    match op:
        case n.BinaryOp.ADD:
            return x.low + y.low, x.high + y.high
        case n.BinaryOp.SUB:
            return x.low - y.high, x.high - y.low
        case n.BinaryOp.MUL:
            corners = [a * b for a in (x.low, x.high) for b in (y.low, y.high)]
            return min(corners), max(corners)
        case n.BinaryOp.MIN:
            return min(x.low, y.low), min(x.high, y.high)
        case n.BinaryOp.MAX:
            return max(x.low, y.low), max(x.high, y.high)
        case n.BinaryOp.FLOORDIV if constant is not None and constant > 0:
            return x.low // constant, x.high // constant
        case n.BinaryOp.MOD if constant is not None and constant > 0:
            return 0, constant - 1
        case n.BinaryOp.SHR if constant is not None and 0 <= constant < 8:
            return x.low >> constant, x.high >> constant
        case n.BinaryOp.AND if constant is not None and constant >= 0:
            return 0, constant
        case n.BinaryOp.AND if x.constant is not None and x.constant >= 0:
            return 0, x.constant
    return None


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
            return Facts(Level.CONTIGUOUS, 1, _MOST_DIVISIBLE, 0, last, exact=True)
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
        return Facts(Level.STATIC, 0, _MOST_DIVISIBLE, 0, 0, exact=True)
    if inner % warp == 0:
        return Facts(Level.WARP_UNIFORM, 0, 1, 0, extent - 1, exact=True)
    if inner == 1 and (extent % warp == 0 or outer == 1):
        return Facts(Level.CONTIGUOUS, 1, warp, 0, extent - 1, exact=True)
    return Facts(Level.VARYING, None, 1, 0, extent - 1, exact=False)


def as_level(facts: Facts, level: Level) -> Facts:
    """Return ``facts`` of a uniform value with its level replaced."""
    return replace(facts, level=level)
