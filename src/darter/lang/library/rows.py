"""What a block does with one row: softmax, root mean square, and the scale of a quantised group."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from darter.dtypes import Float32, UInt32
from darter.lang.library.reductions import block_max, block_sum, block_threads, linear_thread
from darter.lang.math import bitcast, exp2, max as maximum, rsqrt, where

LOG2_E = 1.4426950408889634


def softmax_row(read: Callable[[Any], Any], write: Callable[[Any, Any], Any], n: Any) -> None:
    """Write the softmax of a row of ``n`` elements: ``read(i)`` gives Float32, ``write(i, p)`` takes it.

    One block works on the row, twice over: once for the maximum and the sum together, once to write.  Elements of −∞
    give 0; a row of nothing else gives NaN, as the mathematics does.  Contains barriers.
    """
    largest = Float32(-math.inf)
    total = Float32(0.0)
    for i in range(linear_thread(), n, block_threads()):
        value = read(i)
        new = maximum(largest, value)
        # Subtracting first keeps any finite input in range; a maximum of −∞ so far counts for nothing.
        shift = where(new == -math.inf, 0.0, new)
        total = total * exp2((largest - shift) * LOG2_E) + exp2((value - shift) * LOG2_E)
        largest = new
    row_largest = block_max(largest)
    shift = where(row_largest == -math.inf, 0.0, row_largest)
    row_total = block_sum(total * exp2((largest - shift) * LOG2_E))
    for i in range(linear_thread(), n, block_threads()):
        write(i, exp2((read(i) - shift) * LOG2_E) / row_total)


def reciprocal_rms(sum_of_squares: Any, n: Any, eps: float = 1e-6) -> Any:
    """Return ``1/sqrt(mean + eps)`` for the block: ``sum_of_squares`` is this thread's share.  Contains barriers."""
    return rsqrt(block_sum(sum_of_squares) / n + eps)


def group_scale(largest: Any, largest_code: float, floor: float, power_of_two: bool = False) -> Any:
    """Return the scale at which values up to ``largest`` use the codes up to ``largest_code``.

    ``floor`` bounds ``largest`` from below; ``power_of_two`` rounds the scale up to one (exact powers stay).
    """
    scale = maximum(largest, floor) / largest_code
    if not power_of_two:
        return scale
    return bitcast((bitcast(scale, UInt32) + 0x7FFFFF) & 0xFF800000, Float32)
