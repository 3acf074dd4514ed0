"""The mathematical functions of kernels as instruction sequences over lanes: no library is called.

Largest errors over the whole range, in units in the last place:

| | f32 | f64 |
|---|---|---|
| sqrt, floor, ceil, trunc, rint | exact | exact |
| exp | 1.1 | 1 |
| exp2, log, log2 | 1 | 1 |
| rsqrt, tanh, sin, cos | 1.5 | 1.5 |
| erf | 2 | 2 |
| pow | 0.6 | 1 |

Under ``fast_math`` exp and exp2 of Float32 give 0 where they would be below 2⁻¹²⁶, and infinity from 2^127.5.
Polynomials are near-minimax fits (Chebyshev interpolation) made with mpmath to the bounds that stand beside them.
"""

from darter.codegen.common.mathematics.division import floor_divide, floor_modulo
from darter.codegen.common.mathematics.functions import emit

__all__ = ["emit", "floor_divide", "floor_modulo"]
