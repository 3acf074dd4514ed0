"""cbrt, hypot and log10 in Float64; Float32 goes through it."""

from __future__ import annotations

import math

from darter.codegen.common.lanes import Lanes
from darter.codegen.common.mathematics.core import magnitude, with_sign
from darter.codegen.common.mathematics.exponential import exp2
from darter.codegen.common.mathematics.logarithm import edges, log2
from darter.codegen.common.mathematics.power import log2_pair

_D = "double"
_LOG10_2 = (0.3010299956639812, -2.8037281277851704e-18)


def cbrt(lanes: Lanes, x: str) -> str:
    """Return 2^(log2(x)/3), one step of Newton's method closer."""
    size = magnitude(lanes, _D, x)
    third = lanes.real(_D, 1 / 3)
    y = exp2(lanes, _D, lanes.op("fmul", _D, log2(lanes, _D, size), third))
    over = lanes.op("fsub", _D, y, lanes.op("fdiv", _D, size, lanes.op("fmul", _D, y, y)))
    y = lanes.op("fsub", _D, y, lanes.op("fmul", _D, over, third))
    positive = lanes.compare("ogt", _D, size, lanes.real(_D, 0.0))
    finite = lanes.compare("olt", _D, size, lanes.real(_D, math.inf))
    return lanes.select(_D, lanes.op("and", "i1", positive, finite), with_sign(lanes, _D, y, x), x)


def hypot(lanes: Lanes, x: str, y: str) -> str:
    """Return √(x² + y²) without leaving the range on the way; of an infinity it is infinity, NaN or not."""
    ax, ay = magnitude(lanes, _D, x), magnitude(lanes, _D, y)
    swap = lanes.compare("ogt", _D, ay, ax)
    more, less = lanes.select(_D, swap, ay, ax), lanes.select(_D, swap, ax, ay)
    zero, infinity = lanes.real(_D, 0.0), lanes.real(_D, math.inf)
    nothing = lanes.compare("oeq", _D, more, zero)
    ratio = lanes.op("fdiv", _D, less, lanes.select(_D, nothing, lanes.real(_D, 1.0), more))
    root = lanes.call("llvm.sqrt", _D, lanes.fma(_D, ratio, ratio, lanes.real(_D, 1.0)))
    result = lanes.op("fmul", _D, more, root)
    endless = lanes.op("or", "i1", lanes.compare("oeq", _D, ax, infinity), lanes.compare("oeq", _D, ay, infinity))
    return lanes.select(_D, endless, infinity, result)


def log10(lanes: Lanes, x: str) -> str:
    """Return log2(x)·log10(2), both with what a second Float64 holds: powers of ten come out whole."""
    high, low = log2_pair(lanes, x)
    factor, factor_low = (lanes.real(_D, part) for part in _LOG10_2)
    product = lanes.op("fmul", _D, high, factor)
    rest = lanes.fma(_D, high, factor, lanes.negate(_D, product))
    rest = lanes.fma(_D, high, factor_low, lanes.fma(_D, low, factor, rest))
    return edges(lanes, _D, x, lanes.op("fadd", _D, product, rest))
