"""Scalar operations over numpy arrays, one element per thread: what the language means by each of them, bit by bit."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from darter import dtypes as dt
from darter.ir import nodes as n
from darter.ir.numbers import Lanes, narrow, widen

_COMPARE: dict[n.CompareOp, Callable[[Any, Any], Any]] = {
    n.CompareOp.EQ: np.equal,
    n.CompareOp.NE: np.not_equal,
    n.CompareOp.LT: np.less,
    n.CompareOp.LE: np.less_equal,
    n.CompareOp.GT: np.greater,
    n.CompareOp.GE: np.greater_equal,
}
_INTEGER: dict[n.BinaryOp, Callable[[Any, Any], Any]] = {
    n.BinaryOp.ADD: np.add,
    n.BinaryOp.SUB: np.subtract,
    n.BinaryOp.MUL: np.multiply,
    n.BinaryOp.AND: np.bitwise_and,
    n.BinaryOp.OR: np.bitwise_or,
    n.BinaryOp.XOR: np.bitwise_xor,
    n.BinaryOp.MIN: np.minimum,
    n.BinaryOp.MAX: np.maximum,
}
_FLOAT: dict[n.BinaryOp, Callable[[Any, Any], Any]] = {
    n.BinaryOp.ADD: np.add,
    n.BinaryOp.SUB: np.subtract,
    n.BinaryOp.MUL: np.multiply,
    n.BinaryOp.DIV: np.divide,
}


def unary(op: n.UnaryOp, x: Lanes, dtype: dt.ScalarType) -> Lanes:
    """Return ``op x``; NEG and ABS of a float change its sign bit only."""
    if op is n.UnaryOp.NOT:
        inverted: Lanes = ~x
        return inverted
    if op in n.BIT_COUNTS:
        counts = [_bit_count(op, int(word), dtype.bits) for word in x.view(f"u{dtype.size_bytes}")]
        return np.array(counts, x.dtype)
    if dtype.is_float:
        bits = x.view(f"u{dtype.size_bytes}")
        sign = bits.dtype.type(1 << (dtype.bits - 1))
        changed: Lanes = bits ^ sign if op is n.UnaryOp.NEG else bits & ~sign
        return changed.view(x.dtype)
    negated = (np.zeros_like(x) - x).astype(x.dtype)
    return negated if op is n.UnaryOp.NEG else np.where(x < 0, negated, x)


def _bit_count(op: n.UnaryOp, word: int, bits: int) -> int:
    if op is n.UnaryOp.POPCOUNT:
        return word.bit_count()
    if op is n.UnaryOp.CLZ:
        return bits - word.bit_length()
    return (word & -word).bit_length() - 1 if word else bits


def binary(op: n.BinaryOp, x: Lanes, y: Lanes, dtype: dt.ScalarType) -> Lanes:
    """Return ``x op y``; f16 and bf16 go through f32 and are rounded."""
    if dtype.is_float:
        return narrow(_float_binary(op, widen(x, dtype), widen(y, dtype)), dtype)
    if op in (n.BinaryOp.SHL, n.BinaryOp.SHR):
        amount = y & y.dtype.type(dtype.bits - 1)
        shifted: Lanes = np.left_shift(x, amount) if op is n.BinaryOp.SHL else np.right_shift(x, amount)
        return shifted
    if op in (n.BinaryOp.FLOORDIV, n.BinaryOp.MOD):
        return _integer_division(op, x, y, dtype)
    result: Lanes = _INTEGER[op](x, y)
    return result


def _integer_division(op: n.BinaryOp, x: Lanes, y: Lanes, dtype: dt.ScalarType) -> Lanes:
    """Return the floored quotient or remainder; 0 where y is 0; the smallest integer // -1 wraps."""
    special = y == 0
    if dtype.is_signed:
        special = special | (y == -1)
    divisor = np.where(special, 1, y).astype(y.dtype)
    if op is n.BinaryOp.MOD:
        return np.where(special, 0, np.mod(x, divisor)).astype(x.dtype)
    negated = (np.zeros_like(x) - x).astype(x.dtype)
    return np.where(y == 0, 0, np.where(special, negated, np.floor_divide(x, divisor))).astype(x.dtype)


def _float_binary(op: n.BinaryOp, x: Lanes, y: Lanes) -> Lanes:
    result: Lanes
    match op:
        case n.BinaryOp.MIN | n.BinaryOp.MAX:
            return _extreme(op, x, y)
        case n.BinaryOp.FLOORDIV:
            return np.floor(np.divide(x, y))
        case n.BinaryOp.MOD:
            return _float_modulo(x, y)
        case _:
            result = _FLOAT[op](x, y)
            return result


def _float_modulo(x: Lanes, y: Lanes) -> Lanes:
    """Return the remainder with the divisor's sign: exact, but for the one addition where the signs differ."""
    rest = np.fmod(x, y)
    other = (rest != 0) & ((rest < 0) != (y < 0))
    rest = np.where(other, rest + y, rest)
    return np.where(rest == 0, np.copysign(np.zeros_like(rest), y), rest)


def _extreme(op: n.BinaryOp, x: Lanes, y: Lanes) -> Lanes:
    """Return the smaller or larger; NaN if either is; -0 is smaller than +0."""
    smaller = (x < y) | ((x == y) & np.signbit(x))
    picked = np.where(smaller, x, y) if op is n.BinaryOp.MIN else np.where(smaller, y, x)
    return np.where(np.isnan(x), x, np.where(np.isnan(y), y, picked))


def compare(op: n.CompareOp, x: Lanes, y: Lanes, dtype: dt.ScalarType) -> Lanes:
    """Return Bool lanes of the comparison."""
    result: Lanes = _COMPARE[op](widen(x, dtype), widen(y, dtype))
    return result


def fma(a: Lanes, b: Lanes, c: Lanes, dtype: dt.ScalarType) -> Lanes:
    """Return ``a·b + c`` rounded once, for f32 and f64."""
    if dtype is dt.Float64:
        return np.array([_fma_exact(*map(float, lane)) for lane in zip(a, b, c, strict=True)], np.float64)
    product = a.astype(np.float64) * b.astype(np.float64)  # exact: 48 bits of significand
    addend = c.astype(np.float64)
    total = product + addend
    back = total - product
    error = (product - (total - back)) + (addend - back)
    # Round to odd: the double remembers that something was cut off, so that the step to f32 rounds the exact sum.
    bits = total.view(np.int64)
    inexact = np.isfinite(total) & (error != 0) & (bits & 1 == 0)
    step = np.where((error > 0) == (total > 0), 1, -1)
    return np.where(inexact, bits + step, bits).view(np.float64).astype(np.float32)


def _fma_exact(a: float, b: float, c: float) -> float:
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        # The product of two finite numbers must not overflow to infinity against an infinite addend.
        finite_product = math.isfinite(a) and math.isfinite(b)
        return c if finite_product else a * b + c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c if a == 0 or b == 0 else 0.0
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


# -- functions ---------------------------------------------------------------------------------------------------------


def _rsqrt(x: Any) -> Any:
    return 1 / np.sqrt(x)


def _of_each(function: Callable[[float], float]) -> Callable[[Any], Any]:
    """Return a function of C's double, an element at a time: what numpy does not have."""

    def of_one(value: float) -> float:
        try:
            return function(value)
        except (ValueError, OverflowError):  # Python raises where C gives NaN or an infinity
            return _at_edge(function, value)

    return lambda x: np.array([of_one(float(value)) for value in x], x.dtype)


def _at_edge(function: Callable[[float], float], value: float) -> float:
    """Return what C gives for Γ and log |Γ| where Python raises."""
    if function is math.lgamma or value > 0:
        return math.inf
    return math.copysign(math.inf, value) if value == 0 else math.nan


_MATH: dict[n.MathOp, Callable[..., Any]] = {
    n.MathOp.EXP: np.exp,
    n.MathOp.EXP2: np.exp2,
    n.MathOp.LOG: np.log,
    n.MathOp.LOG2: np.log2,
    n.MathOp.SQRT: np.sqrt,
    n.MathOp.RSQRT: _rsqrt,
    n.MathOp.TANH: np.tanh,
    n.MathOp.ERF: _of_each(math.erf),
    n.MathOp.SIN: np.sin,
    n.MathOp.COS: np.cos,
    n.MathOp.POW: np.power,
    n.MathOp.LOG10: np.log10,
    n.MathOp.EXPM1: np.expm1,
    n.MathOp.LOG1P: np.log1p,
    n.MathOp.TAN: np.tan,
    n.MathOp.ASIN: np.arcsin,
    n.MathOp.ACOS: np.arccos,
    n.MathOp.ATAN: np.arctan,
    n.MathOp.ATAN2: np.arctan2,
    n.MathOp.SINH: np.sinh,
    n.MathOp.COSH: np.cosh,
    n.MathOp.ASINH: np.arcsinh,
    n.MathOp.ACOSH: np.arccosh,
    n.MathOp.ATANH: np.arctanh,
    n.MathOp.ERFC: _of_each(math.erfc),
    n.MathOp.TGAMMA: _of_each(math.gamma),
    n.MathOp.LGAMMA: _of_each(math.lgamma),
    n.MathOp.CBRT: np.cbrt,
    n.MathOp.HYPOT: np.hypot,
    n.MathOp.FMOD: np.fmod,
    n.MathOp.FLOOR: np.floor,
    n.MathOp.CEIL: np.ceil,
    n.MathOp.TRUNC: np.trunc,
    n.MathOp.RINT: np.rint,
}
EXACT_MATH = frozenset({n.MathOp.SQRT, n.MathOp.FLOOR, n.MathOp.CEIL, n.MathOp.TRUNC, n.MathOp.RINT, n.MathOp.FMOD})
"""Functions whose result every backend gives to the last bit; the others are within documented ulps."""


def wide_math(op: n.MathOp, operands: tuple[Lanes, ...], dtype: dt.ScalarType) -> Lanes:
    """Return the function in a wider type: f64 for f32, the C long double for f64; ulps count from it."""
    wide = np.float64 if dtype is dt.Float32 else np.longdouble
    result: Lanes = _MATH[op](*(operand.astype(wide) for operand in operands))
    return result


def math_function(op: n.MathOp, operands: tuple[Lanes, ...], dtype: dt.ScalarType) -> Lanes:
    """Return the function's value rounded to ``dtype`` (f32 or f64)."""
    if op in EXACT_MATH:
        result: Lanes = _MATH[op](*operands)
        return result
    return wide_math(op, operands, dtype).astype(operands[0].dtype)
