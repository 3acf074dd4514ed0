"""The mathematical functions of kernels as instruction sequences over lanes: no library is called.

Under ``fast_math`` exp and exp2 of Float32 give 0 where they would be below 2⁻¹²⁶, and infinity from 2^127.5.
Polynomials are near-minimax fits (Chebyshev interpolation) made with mpmath to the bounds that stand beside them.
"""

from types import MappingProxyType

from darter.codegen.common.mathematics.division import floor_divide, floor_modulo
from darter.codegen.common.mathematics.functions import emit
from darter.ir.operations import MathOp

LARGEST_ERROR_ULPS = MappingProxyType(
    {
        MathOp.EXP: (1.1, 1.0),
        MathOp.EXP2: (1.0, 1.0),
        MathOp.LOG: (1.0, 1.0),
        MathOp.LOG2: (1.0, 1.0),
        MathOp.RSQRT: (1.5, 1.5),
        MathOp.TANH: (1.5, 1.5),
        MathOp.ERF: (2.0, 2.0),
        MathOp.SIN: (1.5, 1.5),
        MathOp.COS: (1.5, 1.5),
        MathOp.POW: (0.6, 1.0),
        MathOp.LOG10: (0.6, 1.0),
        MathOp.EXPM1: (0.6, 2.0),
        MathOp.LOG1P: (0.6, 2.0),
        MathOp.TAN: (0.6, 3.0),
        MathOp.ASIN: (0.6, 2.5),
        MathOp.ACOS: (0.6, 2.5),
        MathOp.ATAN: (0.6, 2.0),
        MathOp.ATAN2: (0.6, 2.0),
        MathOp.SINH: (0.6, 3.0),
        MathOp.COSH: (0.6, 3.0),
        MathOp.ASINH: (0.6, 3.0),
        MathOp.ACOSH: (0.6, 3.0),
        MathOp.ATANH: (0.6, 3.0),
        MathOp.ERFC: (0.6, 4.0),
        MathOp.TGAMMA: (0.6, 14.0),
        MathOp.LGAMMA: (0.6, 10.0),
        MathOp.CBRT: (0.6, 1.0),
        MathOp.HYPOT: (0.6, 2.0),
    }
)
"""Largest errors of f32 and f64 results over the whole range, in units in the last place; other functions are exact."""

__all__ = ["LARGEST_ERROR_ULPS", "emit", "floor_divide", "floor_modulo"]
