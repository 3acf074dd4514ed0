"""tgamma and lgamma in Float64 by Lanczos' sum, mirrored below 1/2; Float32 goes through it.

Source: C. Lanczos, "A Precision Approximation of the Gamma Function", 1964; fifteen terms for g = 607/128.
"""

from __future__ import annotations

import math

from darter.codegen.common.lanes import Lanes
from darter.codegen.common.mathematics.circular import sin
from darter.codegen.common.mathematics.core import magnitude, with_sign
from darter.codegen.common.mathematics.exponential import exp
from darter.codegen.common.mathematics.logarithm import log
from darter.codegen.common.mathematics.power import power

_D = "double"
_G = 607 / 128
_ROOT_TWO_PI = 2.5066282746310002
# Γ(y + 1) = √2π·(y + g + 1/2)^(y + 1/2)·e^-(y + g + 1/2)·(c0 + Σ ck/(y + k)): 7.5e-16.
_LANCZOS = (
    0.99999999999999709182, 57.156235665862923517, -59.597960355475491248, 14.136097974741747174,
    -0.49191381609762019978, 3.3994649984811888699e-5, 4.6523628927048575665e-5, -9.8374475304879564677e-5,
    1.5808870322491248884e-4, -2.1026444172410488319e-4, 2.1743961811521264320e-4, -1.6431810653676389022e-4,
    8.4418223983852743293e-5, -2.6190838401581408670e-5, 3.6899182659531622704e-6,
)  # fmt: skip


def tgamma(lanes: Lanes, x: str) -> str:
    """Return Γ(x); NaN at the negative whole numbers and -∞, ±∞ at ±0."""
    mirrored = lanes.compare("olt", _D, x, lanes.real(_D, 0.5))
    y, t, total = _lanczos(lanes, x, mirrored)
    # t^(y + 1/2) leaves the range before Γ does, hence two factors; and y + 1/2 may not be exact, hence √t.
    root = power(lanes, _D, t, lanes.op("fmul", _D, y, lanes.real(_D, 0.5)))
    part = lanes.op("fmul", _D, root, exp(lanes, _D, lanes.negate(_D, t)))
    part = lanes.op("fmul", _D, part, lanes.call("llvm.sqrt", _D, t))
    part = lanes.op("fmul", _D, part, lanes.op("fmul", _D, total, lanes.real(_D, _ROOT_TWO_PI)))
    # Γ is beyond the range from t = 178 on; for far larger t one factor is infinite and the other 0.
    endless = lanes.compare("ogt", _D, t, lanes.real(_D, 200.0))
    part = lanes.select(_D, endless, lanes.real(_D, math.inf), part)
    root = lanes.select(_D, endless, lanes.real(_D, 1.0), root)
    value = lanes.op("fmul", _D, part, root)
    # One factor after the other: results down to the denormals are there although Γ(1 - x) is not.
    sine = lanes.op("fmul", _D, _sine_of_half_turns(lanes, x), part)
    reflected = lanes.op("fdiv", _D, lanes.op("fdiv", _D, lanes.real(_D, math.pi), sine), root)
    result = lanes.select(_D, mirrored, reflected, value)
    return _at_poles(lanes, x, result, lanes.real(_D, math.nan), signed=True)


def lgamma(lanes: Lanes, x: str) -> str:
    """Return log |Γ(x)|; ∞ at the negative whole numbers, 0 and both infinities."""
    mirrored = lanes.compare("olt", _D, x, lanes.real(_D, 0.5))
    y, t, total = _lanczos(lanes, x, mirrored)
    half = lanes.op("fadd", _D, y, lanes.real(_D, 0.5))
    near = log(lanes, _D, lanes.op("fmul", _D, total, lanes.real(_D, _ROOT_TWO_PI)))
    # (y + 1/2)·(log t - 1) - g: less is cancelled than of (y + 1/2)·log t - t.
    slope = lanes.op("fsub", _D, log(lanes, _D, t), lanes.real(_D, 1.0))
    value = lanes.fma(_D, half, slope, lanes.op("fsub", _D, near, lanes.real(_D, _G)))
    sine = magnitude(lanes, _D, _sine_of_half_turns(lanes, x))
    other = lanes.op("fsub", _D, lanes.real(_D, math.log(math.pi)), log(lanes, _D, sine))
    result = lanes.select(_D, mirrored, lanes.op("fsub", _D, other, value), value)
    infinity = lanes.real(_D, math.inf)
    endless = lanes.compare("oeq", _D, magnitude(lanes, _D, x), infinity)
    for whole in (1.0, 2.0):
        result = lanes.select(_D, lanes.compare("oeq", _D, x, lanes.real(_D, whole)), lanes.real(_D, 0.0), result)
    return lanes.select(_D, endless, infinity, _at_poles(lanes, x, result, infinity, signed=False))


def _lanczos(lanes: Lanes, x: str, mirrored: str) -> tuple[str, str, str]:
    """Return (y, t, the sum) for Γ(x), or for Γ(1 - x) where ``mirrored``."""
    minus = lanes.negate(_D, x)
    y = lanes.select(_D, mirrored, minus, lanes.op("fsub", _D, x, lanes.real(_D, 1.0)))
    total = lanes.real(_D, _LANCZOS[0])
    for k in range(len(_LANCZOS) - 1, 0, -1):
        term = lanes.op("fdiv", _D, lanes.real(_D, _LANCZOS[k]), lanes.op("fadd", _D, y, lanes.real(_D, float(k))))
        total = lanes.op("fadd", _D, total, term)
    return y, lanes.op("fadd", _D, y, lanes.real(_D, _G + 0.5)), total


def _sine_of_half_turns(lanes: Lanes, x: str) -> str:
    """Return sin(πx): of the rest to the nearest whole number, its sign turned where that is odd."""
    whole = lanes.call("llvm.rint", _D, x)
    rest = lanes.op("fsub", _D, x, whole)
    half = lanes.op("fmul", _D, whole, lanes.real(_D, 0.5))
    odd = lanes.compare("une", _D, lanes.call("llvm.trunc", _D, half), half)
    sine = sin(lanes, _D, lanes.op("fmul", _D, rest, lanes.real(_D, math.pi)))
    return lanes.select(_D, odd, lanes.negate(_D, sine), sine)


def _at_poles(lanes: Lanes, x: str, result: str, pole: str, *, signed: bool) -> str:
    """Return ``result`` with ``pole`` at the negative whole numbers and -∞, and an infinity at 0."""
    zero = lanes.real(_D, 0.0)
    whole = lanes.compare("oeq", _D, lanes.call("llvm.trunc", _D, x), x)
    below = lanes.op("and", "i1", whole, lanes.compare("olt", _D, x, zero))
    result = lanes.select(_D, below, pole, result)
    infinity = lanes.real(_D, math.inf)
    at_zero = with_sign(lanes, _D, infinity, x) if signed else infinity
    return lanes.select(_D, lanes.compare("oeq", _D, x, zero), at_zero, result)
