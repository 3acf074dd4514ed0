"""Which sequence a function is; the longer ones are functions of their own, called."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from darter.codegen.common.lanes import Lanes
from darter.codegen.common.mathematics.circular import cos, sin, tan
from darter.codegen.common.mathematics.division import remainder
from darter.codegen.common.mathematics.exponential import exp, exp2, fast_exp, fast_exp2
from darter.codegen.common.mathematics.gamma import lgamma, tgamma
from darter.codegen.common.mathematics.hyperbolic import acosh, asinh, atanh, cosh, expm1, log1p, sinh
from darter.codegen.common.mathematics.inverse import acos, asin, atan, atan2
from darter.codegen.common.mathematics.logarithm import log, log2
from darter.codegen.common.mathematics.power import power
from darter.codegen.common.mathematics.roots import cbrt, hypot, log10
from darter.codegen.common.mathematics.special import erf, erfc, tanh
from darter.codegen.common.text import FunctionText
from darter.ir.nodes import MathOp

_EXACT = {
    MathOp.SQRT: "llvm.sqrt",
    MathOp.FLOOR: "llvm.floor",
    MathOp.CEIL: "llvm.ceil",
    MathOp.TRUNC: "llvm.trunc",
    MathOp.RINT: "llvm.rint",
}
_UNARY: dict[MathOp, Callable[[Lanes, str, str], str]] = {
    MathOp.EXP: exp,
    MathOp.EXP2: exp2,
    MathOp.LOG: log,
    MathOp.LOG2: log2,
    MathOp.TANH: tanh,
    MathOp.ERF: erf,
    MathOp.SIN: sin,
    MathOp.COS: cos,
}
_FAST = {MathOp.EXP: fast_exp, MathOp.EXP2: fast_exp2}
"""What ``fast_math`` makes of Float32: cheaper where results are too small to be normal, or close to the largest."""

_BY_DOUBLE: dict[MathOp, Callable[..., str]] = {
    MathOp.LOG10: log10,
    MathOp.EXPM1: expm1,
    MathOp.LOG1P: log1p,
    MathOp.TAN: tan,
    MathOp.ASIN: asin,
    MathOp.ACOS: acos,
    MathOp.ATAN: atan,
    MathOp.ATAN2: atan2,
    MathOp.SINH: sinh,
    MathOp.COSH: cosh,
    MathOp.ASINH: asinh,
    MathOp.ACOSH: acosh,
    MathOp.ATANH: atanh,
    MathOp.ERFC: erfc,
    MathOp.TGAMMA: tgamma,
    MathOp.LGAMMA: lgamma,
    MathOp.CBRT: cbrt,
    MathOp.HYPOT: hypot,
}
"""Functions written for Float64 only; of Float32 they compute in it and round once."""

_CALLED = frozenset({MathOp.SIN, MathOp.COS, MathOp.POW, *_BY_DOUBLE})
"""Functions too long to stand at every use."""


def emit(lanes: Lanes, op: MathOp, element: str, operands: Sequence[str], fast: bool, called: bool = False) -> str:
    """Return ``op`` of ``operands``, whose LLVM type is ``element`` (``float`` or ``double``).

    ``fast`` takes the sequences that ``fast_math`` allows.  ``called`` asks for a call of a helper function, where the
    sequence would stand in many places.
    """
    strict = lanes.strict()
    if op in _EXACT:
        return strict.call(_EXACT[op], element, operands[0])
    if op is MathOp.RSQRT:
        return strict.op("fdiv", element, strict.real(element, 1.0), strict.call("llvm.sqrt", element, operands[0]))
    if fast and element == "float" and op in _FAST:
        return _FAST[op](strict, element, operands[0])
    if op is MathOp.FMOD:
        return remainder(strict, element, operands[0], operands[1])
    if op in _CALLED or element == "double" or called:
        return _call(strict, op, element, operands)
    return _UNARY[op](strict, element, operands[0])


def _body(lanes: Lanes, op: MathOp, element: str, operands: Sequence[str]) -> str:
    """Return ``op`` as instructions."""
    if op is MathOp.POW:
        return power(lanes, element, operands[0], operands[1])
    if op in _UNARY:
        return _UNARY[op](lanes, element, operands[0])
    if element == "double":
        return _BY_DOUBLE[op](lanes, *operands)
    wide = [lanes.convert("fpext", "float", "double", operand) for operand in operands]
    return lanes.convert("fptrunc", "double", "float", _call(lanes, op, "double", wide))


def _call(lanes: Lanes, op: MathOp, element: str, operands: Sequence[str]) -> str:
    """Return ``op`` by a helper function for as many lanes."""
    name, t = f"darter.{op.value}.{element}.w{lanes.width}", lanes.type(element)
    names = ("%x", "%y")[: len(operands)]
    module = lanes.text.module

    def make() -> FunctionText:
        parameters = ", ".join(f"{t} {parameter}" for parameter in names)
        text = FunctionText(module, f"define internal {t} @{name}({parameters}) #1")
        inner = Lanes(text, lanes.width)
        text.line(f"ret {t} {_body(inner, op, element, names)}")
        return text

    arguments = [(t, operand) for operand in operands]
    return lanes.text.call_function(module.helper(name, make), t, *arguments)
