"""What a block does with one row: softmax, root mean square, and the scale of a quantised group."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from darter.dtypes import Float32, UInt32
from darter.lang.host import static_range
from darter.lang.library.reductions import add, block_sum
from darter.lang.library.tiles import RowPlan, as_float, each, fold, keep_row, load_row, row_reduce, store_piece
from darter.lang.math import bitcast, exp2, max as maximum, rsqrt, where

LOG2_E = 1.4426950408889634


def weight_of(value: Any, largest: Any) -> Any:
    """Return ``exp(value − largest)``: subtracting first keeps any finite input in range.

    Where ``largest`` is −∞, 0 stands for it, so that −∞ weighs nothing whatever the largest is.
    """
    return exp2((value - where(largest == -math.inf, 0.0, largest)) * LOG2_E)


class Sum(NamedTuple):
    """A running sum of Float32 and what its last addition lost: long rows of like values would lose digits else."""

    total: Any
    lost: Any


def sum_of_none() -> Sum:
    """Return the sum of nothing."""
    return Sum(Float32(0.0), Float32(0.0))


def added(sum: Sum, value: Any) -> Sum:
    """Return ``sum`` with ``value`` added, as Kahan does it: the error does not grow with the number of values."""
    corrected = value - sum.lost
    total = sum.total + corrected
    lost = (total - sum.total) - corrected
    # An infinite total has lost nothing that can be told: it stays infinite.
    return Sum(total, where(lost == lost, lost, 0.0))


def scaled(sum: Sum, factor: Any) -> Sum:
    """Return ``sum`` times ``factor``."""
    return Sum(sum.total * factor, sum.lost * factor)


def inverse_or_zero(total: Any) -> Any:
    """Return ``1/total``, or 0 where there is nothing to divide by."""
    return where(total == 0.0, 0.0, 1.0 / total)


def softmax_row(source: Any, target: Any, start: Any, plan: RowPlan) -> None:
    """Write the softmax of the row of Float32 or narrower floats at ``source[start]`` to ``target[start]``.

    The two may be one.  Elements of −∞ give 0, also in a row of nothing else.  Contains barriers where the plan gives a
    row more than one warp.
    """
    if plan.shared_bytes > 0:
        _softmax_kept(source, target, start, plan)
    elif plan.steps > 0:
        _softmax_held(source, target, start, plan)
    else:
        _softmax_walked(source, target, start, plan)


def _softmax_held(source: Any, target: Any, start: Any, plan: RowPlan) -> None:
    """One read and one write of memory: the row stays in registers."""
    row = as_float(load_row(source, start, plan, -math.inf))
    largest = row_reduce(_largest(row), maximum, plan)
    total = Float32(0.0)
    for piece in row:
        for i in static_range(plan.width):
            piece[i] = weight_of(piece[i], largest)
            total = total + piece[i]
    scale = inverse_or_zero(row_reduce(total, add, plan))
    for step in static_range(plan.steps):
        store_piece(target, start, plan, step, [weight * scale for weight in row[step]])


def _softmax_kept(source: Any, target: Any, start: Any, plan: RowPlan) -> None:
    """One read and one write of memory: the row stays in shared memory, and each weight is found twice."""
    row = load_row(source, start, plan, -math.inf)
    again = keep_row(row, plan)
    largest = row_reduce(_largest(as_float(row)), maximum, plan)
    total = Float32(0.0)
    for step in static_range(plan.steps):
        for value in again(step):
            total = total + weight_of(Float32(value), largest)
    scale = inverse_or_zero(row_reduce(total, add, plan))
    for step in static_range(plan.steps):
        weights = [weight_of(Float32(value), largest) * scale for value in again(step)]
        store_piece(target, start, plan, step, weights)


def _largest(row: Any) -> Any:
    """Return the largest value of this thread's pieces."""
    largest = row[0][0]
    for piece in row:
        for value in piece:
            largest = maximum(largest, value)
    return largest


def _softmax_walked(source: Any, target: Any, start: Any, plan: RowPlan) -> None:
    """Three passes over the row, which a cache holds."""
    vectors = plan.length // plan.width
    keeps = target.dtype is Float32

    def read(memory: Any, vector: Any) -> Any:
        return [Float32(v) for v in memory.load(start + vector * plan.width, width=plan.width)]

    def write(vector: Any, values: Any) -> None:
        target.store(start + vector * plan.width, [target.dtype(v) for v in values])

    def find_largest(vector: Any, largest: Any) -> Any:
        for value in read(source, vector):
            largest = maximum(largest, value)
        return largest

    largest = row_reduce(fold(vectors, Float32(-math.inf), find_largest), maximum, plan)

    def weigh(vector: Any, total: Any) -> Any:
        weights = [weight_of(value, largest) for value in read(source, vector)]
        # In Float32 the weights wait in the target for their scale; rounded to less, they would lose digits twice.
        if keeps:
            write(vector, weights)
        for weight in weights:
            total = added(total, weight)
        return total

    scale = inverse_or_zero(row_reduce(fold(vectors, sum_of_none(), weigh).total, add, plan))

    def finish(vector: Any) -> None:
        if keeps:
            write(vector, [weight * scale for weight in read(target, vector)])
        else:
            write(vector, [weight_of(value, largest) * scale for value in read(source, vector)])

    each(vectors, finish)


def rms_norm_row(source: Any, weight: Any, target: Any, start: Any, plan: RowPlan, eps: float = 1e-6) -> None:
    """Write ``x / sqrt(mean x² + eps) · weight`` of the row at ``source[start]`` to ``target[start]``.

    The two may be one; ``weight`` has the row's length.  Contains barriers where the plan gives a row more than one
    warp.
    """
    if plan.shared_bytes > 0:
        _rms_norm_kept(source, weight, target, start, plan, eps)
    elif plan.steps > 0:
        _rms_norm_held(source, weight, target, start, plan, eps)
    else:
        _rms_norm_walked(source, weight, target, start, plan, eps)


def _rms_norm_held(source: Any, weight: Any, target: Any, start: Any, plan: RowPlan, eps: float) -> None:
    row = as_float(load_row(source, start, plan, 0.0))
    scale = rsqrt(row_reduce(_squares(row), add, plan) / plan.length + eps)
    # The weights come after the wait: every row reads them, so a cache has them, and the registers that they would
    # take before it are worth another block at work.
    scales = load_row(weight, 0, plan, 0.0)
    for step in static_range(plan.steps):
        values = [value * scale * Float32(w) for value, w in zip(row[step], scales[step], strict=True)]
        store_piece(target, start, plan, step, values)


def _rms_norm_kept(source: Any, weight: Any, target: Any, start: Any, plan: RowPlan, eps: float) -> None:
    row = load_row(source, start, plan, 0.0)
    again = keep_row(row, plan)
    scale = rsqrt(row_reduce(_squares(as_float(row)), add, plan) / plan.length + eps)
    scales = load_row(weight, 0, plan, 0.0)
    for step in static_range(plan.steps):
        values = [Float32(value) * scale * Float32(w) for value, w in zip(again(step), scales[step], strict=True)]
        store_piece(target, start, plan, step, values)


def _squares(row: Any) -> Any:
    """Return the sum of squares of this thread's pieces."""
    total = Float32(0.0)
    for piece in row:
        for value in piece:
            total = total + value * value
    return total


def _rms_norm_walked(source: Any, weight: Any, target: Any, start: Any, plan: RowPlan, eps: float) -> None:
    """Two passes over the row, which a cache holds."""

    def read(memory: Any, index: Any) -> Any:
        return [Float32(v) for v in memory.load(index, width=plan.width)]

    def add_squares(vector: Any, total: Any) -> Any:
        for value in read(source, start + vector * plan.width):
            total = added(total, value * value)
        return total

    vectors = plan.length // plan.width
    squares = fold(vectors, sum_of_none(), add_squares).total
    scale = rsqrt(row_reduce(squares, add, plan) / plan.length + eps)

    def finish(vector: Any) -> None:
        values = read(source, start + vector * plan.width)
        scales = read(weight, vector * plan.width)
        scaled = [value * scale * w for value, w in zip(values, scales, strict=True)]
        target.store(start + vector * plan.width, [target.dtype(v) for v in scaled])

    each(vectors, finish)


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
