"""How scalar operations carry on what is known of their operands: agreement, lane forms, divisors and bounds."""

from __future__ import annotations

from dataclasses import replace

from darter.dtypes import Bool, ScalarType
from darter.ir import nodes as n
from darter.ir.facts import (
    MOST_DIVISIBLE,
    Facts,
    Level,
    lowest_bit,
    strided,
    type_bounds,
    uniform,
    varying,
)


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
        divisor = min(x.divisor, 1 << (target.bits - 1)) if x.divisor < MOST_DIVISIBLE else x.divisor
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
            return min(x.divisor * y.divisor, MOST_DIVISIBLE)
        case n.BinaryOp.AND:
            return max(x.divisor, y.divisor)
        case n.BinaryOp.SHL if y.constant is not None and 0 <= y.constant < 8:
            return min(x.divisor << y.constant, MOST_DIVISIBLE)
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
