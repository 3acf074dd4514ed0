"""expm1, log1p and the hyperbolic functions with their inverses, in Float64; Float32 goes through it."""

from __future__ import annotations

import math

from darter.codegen.common.lanes import Lanes
from darter.codegen.common.mathematics.core import clamp, magnitude, with_sign
from darter.codegen.common.mathematics.exponential import exp, expm1 as expm1_held
from darter.codegen.common.mathematics.logarithm import log

_D = "double"
_LN2 = 0.6931471805599453
_HUGE = 2.0**28
"""From here on, 1 and the square of the number do not meet in 53 bits."""


def expm1(lanes: Lanes, x: str) -> str:
    """Return e^x - 1; below -40 it is -1."""
    near = expm1_held(lanes, _D, clamp(lanes, _D, x, -40.0, 700.0))
    large = lanes.compare("ogt", _D, x, lanes.real(_D, 700.0))
    result = lanes.select(_D, large, exp(lanes, _D, x), near)
    return lanes.select(_D, lanes.compare("oeq", _D, x, lanes.real(_D, 0.0)), x, result)


def log1p(lanes: Lanes, x: str) -> str:
    """Return log(1 + x): of u = 1 + x rounded, and what rounding lost over u."""
    one, infinity = lanes.real(_D, 1.0), lanes.real(_D, math.inf)
    u = lanes.op("fadd", _D, one, x)
    lost = lanes.op("fsub", _D, x, lanes.op("fsub", _D, u, one))
    result = lanes.op("fadd", _D, log(lanes, _D, u), lanes.op("fdiv", _D, lost, u))
    result = lanes.select(_D, lanes.compare("oeq", _D, u, infinity), infinity, result)
    result = lanes.select(_D, lanes.compare("oeq", _D, u, lanes.real(_D, 0.0)), lanes.real(_D, -math.inf), result)
    return lanes.select(_D, lanes.compare("oeq", _D, x, lanes.real(_D, 0.0)), x, result)


def sinh(lanes: Lanes, x: str) -> str:
    """Return (E + E/(E + 1))/2 with E = e^|x| - 1."""
    size = magnitude(lanes, _D, x)
    e = expm1(lanes, size)
    rest = lanes.op("fdiv", _D, e, lanes.op("fadd", _D, e, lanes.real(_D, 1.0)))
    near = lanes.op("fmul", _D, lanes.op("fadd", _D, e, rest), lanes.real(_D, 0.5))
    return with_sign(lanes, _D, _or_half_exp(lanes, size, near), x)


def cosh(lanes: Lanes, x: str) -> str:
    """Return (e + 1/e)/2 with e = e^|x|."""
    size = magnitude(lanes, _D, x)
    e = exp(lanes, _D, size)
    half = lanes.real(_D, 0.5)
    near = lanes.fma(_D, e, half, lanes.op("fdiv", _D, half, e))
    return _or_half_exp(lanes, size, near)


def _or_half_exp(lanes: Lanes, size: str, near: str) -> str:
    """Return e^size / 2 from 700 on, where e^size leaves the range before its half does."""
    root = exp(lanes, _D, lanes.op("fmul", _D, size, lanes.real(_D, 0.5)))
    far = lanes.op("fmul", _D, lanes.op("fmul", _D, root, lanes.real(_D, 0.5)), root)
    return lanes.select(_D, lanes.compare("ogt", _D, size, lanes.real(_D, 700.0)), far, near)


def asinh(lanes: Lanes, x: str) -> str:
    """Return log1p(a + a²/(1 + √(1 + a²))) of a = |x|."""
    size = magnitude(lanes, _D, x)
    one = lanes.real(_D, 1.0)
    square = lanes.op("fmul", _D, size, size)
    root = lanes.call("llvm.sqrt", _D, lanes.op("fadd", _D, square, one))
    more = lanes.op("fdiv", _D, square, lanes.op("fadd", _D, one, root))
    near = log1p(lanes, lanes.op("fadd", _D, size, more))
    return with_sign(lanes, _D, _or_log_twice(lanes, size, near), x)


def acosh(lanes: Lanes, x: str) -> str:
    """Return log1p(t + √(2t + t²)) of t = x - 1."""
    t = lanes.op("fsub", _D, x, lanes.real(_D, 1.0))
    inside = lanes.fma(_D, t, t, lanes.op("fadd", _D, t, t))
    near = log1p(lanes, lanes.op("fadd", _D, t, lanes.call("llvm.sqrt", _D, inside)))
    below = lanes.compare("olt", _D, x, lanes.real(_D, 1.0))
    return lanes.select(_D, below, lanes.real(_D, math.nan), _or_log_twice(lanes, x, near))


def _or_log_twice(lanes: Lanes, x: str, near: str) -> str:
    """Return log(2x) where x² would leave the range or 1 beside it is nothing."""
    far = lanes.op("fadd", _D, log(lanes, _D, x), lanes.real(_D, _LN2))
    return lanes.select(_D, lanes.compare("ogt", _D, x, lanes.real(_D, _HUGE)), far, near)


def atanh(lanes: Lanes, x: str) -> str:
    """Return log1p(2a/(1 - a))/2 of a = |x|."""
    size = magnitude(lanes, _D, x)
    twice = lanes.op("fadd", _D, size, size)
    ratio = lanes.op("fdiv", _D, twice, lanes.op("fsub", _D, lanes.real(_D, 1.0), size))
    return with_sign(lanes, _D, lanes.op("fmul", _D, log1p(lanes, ratio), lanes.real(_D, 0.5)), x)
