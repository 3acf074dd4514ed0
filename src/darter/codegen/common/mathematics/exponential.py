"""exp, exp2 and what hyperbolic functions need of them.

exp: n = the whole number nearest to x/ln 2, r = x - n·ln 2 in two steps, e^r = 1 + r + r²·P(r), times 2^n.
"""

from __future__ import annotations

from darter.codegen.common.lanes import Lanes
from darter.codegen.common.mathematics.core import (
    SINGLE,
    Layout,
    clamp,
    layout,
    nearest,
    polynomial,
    power_of_two,
    scale,
)

_LOG2_E = 1.4426950408889634
_LN2 = {
    "float": (0.693147182464599609375, -1.904654299957767e-09),
    "double": (0.6931471805599453, 2.3190468138462996e-17),
}
# (e^r - 1 - r)/r² for |r| <= ln 2 / 2: 6.6e-8 and 1.5e-18.
_EXP = {
    "float": (0.001392625083, 0.008363232884, 0.04166655421, 0.1666657667, 0.5),
    "double": (
        2.0914755325893202e-9, 2.5105312729622102e-8, 2.755727347871858e-7, 2.7557255170000887e-6,
        2.4801587325677462e-5, 0.00019841269875002279, 0.0013888888888883711, 0.0083333333333260831,
        0.04166666666666667, 0.16666666666666671, 0.5,
    ),
}  # fmt: skip
# (2^r - 1)/r for |r| <= 1/2: 1.7e-10 and 1.7e-19.
EXP2 = {
    "float": (
        1.529734162e-5, 0.0001546146791, 0.001333350234, 0.009618056621, 0.05550410884, 0.2402265092, 0.6931471806,
    ),
    "double": (
        2.5729344553786754e-11, 4.4558220250149151e-10, 7.0548972926916273e-9, 1.0178057064573359e-7,
        1.3215486808727858e-6, 1.5252733841601815e-5, 0.00015403530393370716, 0.0013333558146406436,
        0.0096181291076284795, 0.055504108664821627, 0.24022650695910071, 0.69314718055994531,
    ),
}  # fmt: skip
_EXP_RANGE = {"float": (-104.0, 89.0), "double": (-746.0, 710.0)}
_EXP2_RANGE = {"float": (-151.0, 129.0), "double": (-1077.0, 1025.0)}
# Times log2 e, these are still nearest to -127 and 128.
_FAST_EXP_RANGE = (-88.3, 89.0)
_FAST_EXP2_RANGE = (-127.0, 128.0)


def _reduced(lanes: Lanes, form: Layout, x: str) -> tuple[str, str]:
    """Return (e^r - 1, n) with x = n·ln 2 + r."""
    element = form.element
    whole, n = nearest(lanes, form, lanes.op("fmul", element, x, lanes.real(element, _LOG2_E)))
    high, low = _LN2[element]
    r = lanes.fma(element, whole, lanes.real(element, -high), x)
    r = lanes.fma(element, whole, lanes.real(element, -low), r)
    square = lanes.op("fmul", element, r, r)
    return lanes.fma(element, square, polynomial(lanes, element, r, _EXP[element]), r), n


def exp(lanes: Lanes, element: str, x: str) -> str:
    form = layout(element)
    low, high = _EXP_RANGE[element]
    above, n = _reduced(lanes, form, clamp(lanes, element, x, low, high))
    return scale(lanes, form, lanes.op("fadd", element, lanes.real(element, 1.0), above), n)


def exp2(lanes: Lanes, element: str, x: str) -> str:
    form = layout(element)
    low, high = _EXP2_RANGE[element]
    x = clamp(lanes, element, x, low, high)
    whole, n = nearest(lanes, form, x)
    r = lanes.op("fsub", element, x, whole)
    value = lanes.fma(element, r, polynomial(lanes, element, r, EXP2[element]), lanes.real(element, 1.0))
    return scale(lanes, form, value, n)


def fast_exp(lanes: Lanes, element: str, x: str) -> str:
    """Return e^x in Float32 where it is a normal number; less becomes 0, and e^x ≥ 2^127.5 infinity."""
    above, n = _reduced(lanes, SINGLE, clamp(lanes, element, x, *_FAST_EXP_RANGE))
    return _scaled_once(lanes, lanes.op("fadd", element, lanes.real(element, 1.0), above), n)


def fast_exp2(lanes: Lanes, element: str, x: str) -> str:
    """Return 2^x in Float32 where it is a normal number; less becomes 0, and x ≥ 127.5 infinity."""
    x = clamp(lanes, element, x, *_FAST_EXP2_RANGE)
    whole, n = nearest(lanes, SINGLE, x)
    r = lanes.op("fsub", element, x, whole)
    value = lanes.fma(element, r, polynomial(lanes, element, r, EXP2[element]), lanes.real(element, 1.0))
    return _scaled_once(lanes, value, n)


def _scaled_once(lanes: Lanes, value: str, n: str) -> str:
    """Return value·2^n for n from -127, where the bits of 2^n are those of 0, to 128, where they are those of ∞."""
    return lanes.op("fmul", "float", value, power_of_two(lanes, SINGLE, n))


def expm1(lanes: Lanes, element: str, x: str) -> str:
    """Return e^x - 1 for x from about 1/2 to 80, where 2^n is a normal number."""
    form = layout(element)
    above, n = _reduced(lanes, form, x)
    factor = power_of_two(lanes, form, n)
    return lanes.fma(element, factor, above, lanes.op("fsub", element, factor, lanes.real(element, 1.0)))
