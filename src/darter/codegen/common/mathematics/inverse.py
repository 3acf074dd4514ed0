"""The inverse circular functions in Float64, all from the angle of a point; Float32 goes through it."""

from __future__ import annotations

import math

from darter.codegen.common.lanes import Lanes
from darter.codegen.common.mathematics.core import DOUBLE, bits, magnitude, polynomial, with_sign

_D = "double"
_TAN_EIGHTH = 0.41421356237309503
_PI = (math.pi, 1.2246467991473532e-16)
# (atan(t)/t - 1)/t² over t² up to tan²(π/8): 6.8e-18.
_ATAN = (
    -0.019176887119062259, 0.039231658295587191, -0.050854497379402599, 0.058581489128022099, -0.06664511447381948,
    0.076921831908260866, -0.090909045781239019, 0.11111111015256362, -0.14285714284666543, 0.19999999999995521,
    -0.3333333333333333,
)  # fmt: skip


def atan(lanes: Lanes, x: str) -> str:
    return atan2(lanes, x, lanes.real(_D, 1.0))


def asin(lanes: Lanes, x: str) -> str:
    return atan2(lanes, x, _other_side(lanes, x))


def acos(lanes: Lanes, x: str) -> str:
    return atan2(lanes, _other_side(lanes, x), x)


def _other_side(lanes: Lanes, x: str) -> str:
    """Return √(1 - x²); NaN beyond 1."""
    one = lanes.real(_D, 1.0)
    product = lanes.op("fmul", _D, lanes.op("fsub", _D, one, x), lanes.op("fadd", _D, one, x))
    return lanes.call("llvm.sqrt", _D, product)


def atan2(lanes: Lanes, y: str, x: str) -> str:
    """Return the angle of (x, y) with the edges of C's atan2: the first octant's, then turned and mirrored."""
    ay, ax = magnitude(lanes, _D, y), magnitude(lanes, _D, x)
    steep = lanes.compare("ogt", _D, ay, ax)
    less, more = lanes.select(_D, steep, ax, ay), lanes.select(_D, steep, ay, ax)
    angle = _octant(lanes, less, more)
    angle = lanes.select(_D, steep, _from(lanes, 0.5, angle), angle)
    left = lanes.compare("slt", "i64", bits(lanes, DOUBLE, x), lanes.integer("i64", 0))
    angle = lanes.select(_D, left, _from(lanes, 1.0, angle), angle)
    angle = with_sign(lanes, _D, angle, y)
    return lanes.select(_D, lanes.compare("uno", _D, y, x), lanes.real(_D, math.nan), angle)


def _from(lanes: Lanes, half_turns: float, angle: str) -> str:
    """Return half_turns·π - angle."""
    high, low = (lanes.real(_D, part * half_turns) for part in _PI)
    return lanes.op("fsub", _D, high, lanes.op("fsub", _D, angle, low))


def _octant(lanes: Lanes, less: str, more: str) -> str:
    """Return atan(less/more) of 0 <= less <= more: beyond π/8 it is π/4 and the angle from there."""
    zero, one = lanes.real(_D, 0.0), lanes.real(_D, 1.0)
    # Two infinities are as far as each other; of the origin the angle is 0; halves keep the sum in range.
    endless = lanes.compare("oeq", _D, less, lanes.real(_D, math.inf))
    nothing = lanes.compare("oeq", _D, more, zero)
    less = lanes.select(_D, endless, one, lanes.op("fmul", _D, less, _scale_of(lanes, more)))
    more = lanes.select(_D, endless, one, lanes.op("fmul", _D, more, _scale_of(lanes, more)))
    more = lanes.select(_D, nothing, one, more)
    far = lanes.compare("ogt", _D, less, lanes.op("fmul", _D, more, lanes.real(_D, _TAN_EIGHTH)))
    top = lanes.select(_D, far, lanes.op("fsub", _D, less, more), less)
    bottom = lanes.select(_D, far, lanes.op("fadd", _D, less, more), more)
    t = lanes.op("fdiv", _D, top, bottom)
    square = lanes.op("fmul", _D, t, t)
    near = lanes.fma(_D, lanes.op("fmul", _D, square, t), polynomial(lanes, _D, square, _ATAN), t)
    low, high = (lanes.real(_D, part / 4) for part in (_PI[1], _PI[0]))
    turned = lanes.op("fadd", _D, high, lanes.op("fadd", _D, near, low))
    return lanes.select(_D, far, turned, near)


def _scale_of(lanes: Lanes, more: str) -> str:
    huge = lanes.compare("ogt", _D, more, lanes.real(_D, 2.0**1000))
    return lanes.select(_D, huge, lanes.real(_D, 0.25), lanes.real(_D, 1.0))
