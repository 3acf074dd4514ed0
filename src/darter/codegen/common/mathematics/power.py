"""pow as 2^(y·log2 |x|): f32 in f64, f64 with the logarithm in two doubles; then the signs and the edges."""

from __future__ import annotations

import math

from darter.codegen.common.lanes import Lanes
from darter.codegen.common.mathematics.core import DOUBLE, clamp, magnitude, nearest, polynomial, scale
from darter.codegen.common.mathematics.exponential import EXP2, exp2
from darter.codegen.common.mathematics.logarithm import log2, split

_THIRD = (0.3333333333333333, 1.850371707708594e-17)
_TWO_LOG2_E = (2.8853900817779268, 4.0710547481862066e-17)
# ((atanh(s)/s - 1)/s² - 1/3)/s² - 1/5, over s², divided by s²: 1.3e-16.
_ATANH = (
    0.057836758647956722, 0.058608658735881042, 0.066671022322530525, 0.076923031779462236, 0.090909091131419381,
    0.11111111111070108, 0.14285714285714298,
)  # fmt: skip

Pair = tuple[str, str]
"""A number as the sum of two doubles, the second far smaller."""


def power(lanes: Lanes, element: str, x: str, y: str) -> str:
    """Return x to the power y with the edges of C's pow."""
    if element == "float":
        wide = [lanes.convert("fpext", "float", "double", a) for a in (x, y)]
        logarithm = log2(lanes, "double", magnitude(lanes, "double", wide[0]))
        size = exp2(lanes, "double", lanes.op("fmul", "double", wide[1], logarithm))
        size = lanes.convert("fptrunc", "double", "float", size)
    else:
        size = _power_double(lanes, magnitude(lanes, element, x), y)
    return _edges(lanes, element, x, y, size)


def _edges(lanes: Lanes, element: str, x: str, y: str, size: str) -> str:
    one, zero, infinity = (lanes.real(element, value) for value in (1.0, 0.0, math.inf))
    nan, absolute = lanes.real(element, math.nan), magnitude(lanes, element, x)
    rises = lanes.compare("ogt", element, y, zero)
    for edge, up, down in ((zero, zero, infinity), (infinity, infinity, zero)):
        at = lanes.compare("oeq", element, absolute, edge)
        size = lanes.select(element, at, lanes.select(element, rises, up, down), size)
    size = lanes.select(element, lanes.compare("oeq", element, absolute, one), one, size)
    size = lanes.select(element, lanes.compare("uno", element, x, y), nan, size)
    half = lanes.op("fmul", element, y, lanes.real(element, 0.5))
    whole = lanes.compare("oeq", element, lanes.call("llvm.trunc", element, y), y)
    even = lanes.compare("oeq", element, lanes.call("llvm.trunc", element, half), half)
    odd = lanes.op("and", "i1", whole, lanes.op("xor", "i1", even, lanes.constant("i1", "true")))
    result = lanes.select(element, odd, lanes.call("llvm.copysign", element, size, x), size)
    inside = lanes.op(
        "and", "i1", lanes.compare("olt", element, x, zero), lanes.compare("olt", element, absolute, infinity)
    )
    undefined = lanes.op("and", "i1", inside, lanes.op("xor", "i1", whole, lanes.constant("i1", "true")))
    result = lanes.select(element, undefined, nan, result)
    result = lanes.select(element, lanes.compare("oeq", element, y, zero), one, result)
    return lanes.select(element, lanes.compare("oeq", element, x, one), one, result)


def _power_double(lanes: Lanes, x: str, y: str) -> str:
    high, low = log2_pair(lanes, x)
    t = lanes.op("fmul", "double", y, high)
    error = lanes.fma("double", y, low, lanes.fma("double", y, high, lanes.negate("double", t)))
    held = clamp(lanes, "double", t, -1077.0, 1025.0)
    error = lanes.select("double", lanes.compare("oeq", "double", held, t), error, lanes.real("double", 0.0))
    whole, n = nearest(lanes, DOUBLE, held)
    r = lanes.op("fadd", "double", lanes.op("fsub", "double", held, whole), error)
    value = lanes.fma("double", r, polynomial(lanes, "double", r, EXP2["double"]), lanes.real("double", 1.0))
    return scale(lanes, DOUBLE, value, n)


def log2_pair(lanes: Lanes, x: str) -> Pair:
    """Return log2 of a positive ``x``: e + 2·log2(e)·atanh(s) with s = f/(2 + f), good to about 2^-66."""
    exponent, f = split(lanes, DOUBLE, x)
    s = _quotient(lanes, f)
    w = _sum(lanes, s, _times(lanes, s, _atanh_rest(lanes, s)))
    high, low = (lanes.real("double", part) for part in _TWO_LOG2_E)
    p = _times(lanes, w, (high, low))
    total = lanes.op("fadd", "double", exponent, p[0])
    lost = lanes.op("fadd", "double", lanes.op("fsub", "double", exponent, total), p[0])
    return _fast_sum(lanes, total, lanes.op("fadd", "double", lost, p[1]))


def _quotient(lanes: Lanes, f: str) -> Pair:
    """Return f/(2 + f)."""
    two = lanes.real("double", 2.0)
    g = lanes.op("fadd", "double", f, two)
    g_low = lanes.op("fsub", "double", f, lanes.op("fsub", "double", g, two))
    high = lanes.op("fdiv", "double", f, g)
    minus = lanes.negate("double", high)
    rest = lanes.fma("double", minus, g_low, lanes.fma("double", minus, g, f))
    return high, lanes.op("fdiv", "double", rest, g)


def _atanh_rest(lanes: Lanes, s: Pair) -> Pair:
    """Return atanh(s)/s - 1 = z·(1/3 + z·(1/5 + z·…)) with z = s²."""
    z = _times(lanes, s, s)
    fifth = lanes.fma("double", z[0], polynomial(lanes, "double", z[0], _ATANH), lanes.real("double", 0.2))
    q = lanes.op("fmul", "double", z[0], fifth)
    third = lanes.real("double", _THIRD[0])
    high = lanes.op("fadd", "double", third, q)
    low = lanes.op("fadd", "double", lanes.op("fsub", "double", third, high), q)
    return _times(lanes, z, (high, lanes.op("fadd", "double", low, lanes.real("double", _THIRD[1]))))


def _times(lanes: Lanes, a: Pair, b: Pair) -> Pair:
    high = lanes.op("fmul", "double", a[0], b[0])
    low = lanes.fma("double", a[0], b[0], lanes.negate("double", high))
    return high, lanes.fma("double", a[0], b[1], lanes.fma("double", a[1], b[0], low))


def _sum(lanes: Lanes, a: Pair, b: Pair) -> Pair:
    """Return a + b where |a| >= |b|."""
    high = lanes.op("fadd", "double", a[0], b[0])
    lost = lanes.op("fadd", "double", lanes.op("fsub", "double", a[0], high), b[0])
    return high, lanes.op("fadd", "double", lost, lanes.op("fadd", "double", a[1], b[1]))


def _fast_sum(lanes: Lanes, a: str, b: str) -> Pair:
    high = lanes.op("fadd", "double", a, b)
    return high, lanes.op("fadd", "double", lanes.op("fsub", "double", a, high), b)
