"""log and log2: x = 2^e·m with m between √½ and √2, f = m - 1, and log(1 + f) as f - f²/2 + a smaller part."""

from __future__ import annotations

import math
from dataclasses import dataclass

from darter.codegen.common.lanes import Lanes
from darter.codegen.common.mathematics.core import Layout, bits, from_bits, layout, polynomial

_LN2 = {
    "float": (0.693147182464599609375, -1.904654299957767e-09),
    "double": (0.6931471805599453, 2.3190468138462996e-17),
}
_LOG2_E = {
    "float": (1.44269502162933349609375, 1.925963033500011e-08),
    "double": (1.4426950408889634, 2.0355273740931033e-17),
}
# (log(1+f) - f + f²/2)/f³ over the range of f: 2.9e-8.
_SMALL_SINGLE = (
    0.06971611471, -0.1147973385, 0.1168541992, -0.1242568733, 0.1424905765, -0.1666780232, 0.2000071575, -0.2499999696,
    0.3333333118,
)  # fmt: skip
# (log((1+s)/(1-s)) - 2s)/s³ over s², s = f/(2+f): 3.2e-16.
_SMALL_DOUBLE = (
    0.14617807153417325, 0.15331611722055008, 0.18182892432536871, 0.22222211089379496, 0.28571428626253838,
    0.39999999999898891, 0.66666666666666697,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Parts:
    """x = 2^``exponent`` · (1 + ``f``), the exponent as a float; log(1 + f) = f - ``half_square`` + ``small``."""

    exponent: str
    f: str
    half_square: str
    small: str


def split(lanes: Lanes, form: Layout, x: str) -> tuple[str, str]:
    """Return (e, f) of a positive finite ``x``, denormals included: e as a float, f from √½ - 1 to √2 - 1."""
    element, integer = form.element, form.integer
    tiny = lanes.compare("olt", element, x, lanes.real(element, 2.0 ** (1 - form.bias)))
    up = form.mantissa + 1
    scaled = lanes.select(element, tiny, lanes.op("fmul", element, x, lanes.real(element, 2.0**up)), x)
    shift = lanes.select(element, tiny, lanes.real(element, float(up)), lanes.real(element, 0.0))
    whole = bits(lanes, form, scaled)
    root = _bits_of_root(form)
    moved = lanes.op("sub", integer, whole, lanes.integer(integer, root))
    e = lanes.op("ashr", integer, moved, lanes.integer(integer, form.mantissa))
    back = lanes.op("shl", integer, e, lanes.integer(integer, form.mantissa))
    m = from_bits(lanes, form, lanes.op("sub", integer, whole, back))
    exponent = lanes.op("fsub", element, lanes.convert("sitofp", integer, element, e), shift)
    return exponent, lanes.op("fsub", element, m, lanes.real(element, 1.0))


def _bits_of_root(form: Layout) -> int:
    """Return the bits of √½."""
    mantissa = int((math.sqrt(0.5) * 2 - 1) * 2.0**form.mantissa)
    return ((form.bias - 1) << form.mantissa) | mantissa


def parts(lanes: Lanes, form: Layout, x: str) -> Parts:
    element = form.element
    exponent, f = split(lanes, form, x)
    half = lanes.op("fmul", element, f, lanes.real(element, 0.5))
    half_square = lanes.op("fmul", element, f, half)
    if element == "float":
        cube = lanes.op("fmul", element, lanes.op("fmul", element, f, f), f)
        small = lanes.op("fmul", element, cube, polynomial(lanes, element, f, _SMALL_SINGLE))
    else:
        s = lanes.op("fdiv", element, f, lanes.op("fadd", element, f, lanes.real(element, 2.0)))
        z = lanes.op("fmul", element, s, s)
        rest = lanes.op("fmul", element, z, polynomial(lanes, element, z, _SMALL_DOUBLE))
        small = lanes.op("fmul", element, s, lanes.op("fadd", element, half_square, rest))
    return Parts(exponent, f, half_square, small)


def log(lanes: Lanes, element: str, x: str) -> str:
    form = layout(element)
    p = parts(lanes, form, x)
    high, low = (lanes.real(element, part) for part in _LN2[element])
    small = lanes.fma(element, p.exponent, low, p.small)
    near = lanes.op("fsub", element, p.f, lanes.op("fsub", element, p.half_square, small))
    return edges(lanes, element, x, lanes.fma(element, p.exponent, high, near))


def log2(lanes: Lanes, element: str, x: str) -> str:
    form = layout(element)
    p = parts(lanes, form, x)
    high, low = (lanes.real(element, part) for part in _LOG2_E[element])
    a = lanes.op("fsub", element, p.f, p.half_square)
    rest = lanes.op("fsub", element, lanes.op("fsub", element, p.f, a), p.half_square)
    rest = lanes.op("fadd", element, rest, p.small)
    product = lanes.op("fmul", element, a, high)
    error = lanes.fma(element, a, high, lanes.negate(element, product))
    error = lanes.fma(element, a, low, lanes.fma(element, rest, high, error))
    total = lanes.op("fadd", element, p.exponent, product)
    lost = lanes.op("fadd", element, lanes.op("fsub", element, p.exponent, total), product)
    result = lanes.op("fadd", element, total, lanes.op("fadd", element, lost, error))
    return edges(lanes, element, x, result)


def edges(lanes: Lanes, element: str, x: str, result: str) -> str:
    """Return ``result`` with the logarithms of 0 (-∞), of negative numbers (NaN), of ∞ and of NaN put in."""
    zero = lanes.real(element, 0.0)
    finite = lanes.compare("olt", element, x, lanes.real(element, math.inf))
    result = lanes.select(element, finite, result, x)
    result = lanes.select(element, lanes.compare("oeq", element, x, zero), lanes.real(element, -math.inf), result)
    negative = lanes.compare("olt", element, x, zero)
    return lanes.select(element, negative, lanes.real(element, math.nan), result)
