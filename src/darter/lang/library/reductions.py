"""Reductions over a warp and over a block: every thread gets the result.

The flow must be uniform: over the warp for ``warp_*``, over the block for ``block_*``, which contain barriers.  The
order of combination is fixed, so results are the same on every run.  A value is a number, or a tuple or NamedTuple of
values, which ``combine`` takes and returns whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from darter.dtypes import Bool, Int32
from darter.lang.host import cdiv, static_range
from darter.lang.indices import block_dim, lane_id, thread_idx, warp_id, warp_size
from darter.lang.math import max as maximum, min as minimum, where
from darter.lang.memory import barrier, shared
from darter.lang.warp import shuffle_down, shuffle_idx, shuffle_xor, vote_all, vote_any

Combine = Callable[[Any, Any], Any]


def block_threads() -> int:
    """Return the number of threads of a block, a compile-time number."""
    threads: int = block_dim.x * block_dim.y * block_dim.z
    return threads


def linear_thread() -> Any:
    """Return the thread's number in its block, x fastest: Int32."""
    return thread_idx.x + block_dim.x * (thread_idx.y + block_dim.y * thread_idx.z)


def add(a: Any, b: Any) -> Any:
    """Return ``a + b``."""
    return a + b


def warp_reduce(value: Any, combine: Combine) -> Any:
    """Return ``combine`` over the values of the warp's threads; ``combine`` is associative and commutative.

    The warp provably agrees on it: what it decides may hold shuffles.
    """
    # All lanes hold the same; that lane 0 gives it to them tells the compiler so.
    return shuffle_idx(_over_warp(value, combine), 0)


def _over_warp(value: Any, combine: Combine) -> Any:
    """Reduce to lane 0 of each warp."""
    if block_threads() % warp_size == 0:
        step = warp_size // 2
        while step > 0:
            value = combine(value, shuffle_xor(value, step))
            step //= 2
        return value
    return _partial_warp(value, combine)


def _partial_warp(value: Any, combine: Combine) -> Any:
    """Reduce to lane 0 where the last warp is not full: lanes beyond the block take no part."""
    lanes = minimum(warp_size, block_threads() - warp_id * warp_size)
    step = 1
    while step < warp_size:
        other = shuffle_down(value, step)
        value = where(lane_id + step < lanes, combine(value, other), value)
        step *= 2
    return value


def warp_sum(value: Any) -> Any:
    """Return the sum over the warp."""
    return warp_reduce(value, add)


def warp_max(value: Any) -> Any:
    """Return the largest value of the warp; NaN propagates."""
    return warp_reduce(value, maximum)


def warp_min(value: Any) -> Any:
    """Return the smallest value of the warp; NaN propagates."""
    return warp_reduce(value, minimum)


def group_reduce(value: Any, combine: Combine, threads: int) -> Any:
    """Return ``combine`` over the values of this thread's group: ``threads`` neighbours, the first a multiple of it.

    ``threads`` is a power of two up to ``warp_size`` in full warps, or the whole block, where it contains barriers.
    """
    if threads == block_threads():
        return block_reduce(value, combine)
    if threads < 1 or threads > warp_size or threads & (threads - 1) or block_threads() % threads:
        raise ValueError(
            f"groups of {threads} threads in a block of {block_threads()}; accepted: the whole block, or a power of "
            f"two, at most {warp_size}, that divides it"
        )
    step = threads // 2
    while step > 0:
        value = combine(value, shuffle_xor(value, step))
        step //= 2
    return value


def memory_for(value: Any, count: int) -> Any:
    """Return shared memory for ``count`` values like ``value``: of a tuple, a tuple of arrays."""
    if isinstance(value, tuple):
        return tuple(memory_for(item, count) for item in value)
    return shared(value.dtype, count)


def put(memory: Any, place: Any, value: Any) -> None:
    """Write ``value`` to a place of ``memory_for`` it."""
    if isinstance(value, tuple):
        for array, item in zip(memory, value, strict=True):
            put(array, place, item)
    else:
        memory[place] = value


def got(memory: Any, place: Any, like: Any) -> Any:
    """Return what stands at a place of ``memory_for``, of the structure of ``like``."""
    if isinstance(like, tuple):
        items = tuple(got(array, place, item) for array, item in zip(memory, like, strict=True))
        return items if type(like) is tuple else type(like)(*items)
    return memory[place]


def block_reduce(value: Any, combine: Combine) -> Any:
    """Return ``combine`` over the values of the block's threads; it is associative and commutative."""
    warps = cdiv(block_threads(), warp_size)
    if warps == 1:
        return warp_reduce(value, combine)
    value = _over_warp(value, combine)
    partial = memory_for(value, warps)
    if lane_id == 0:
        put(partial, warp_id, value)
    barrier()
    result = got(partial, 0, value)
    is_tuple = isinstance(value, tuple)
    for warp in static_range(1, warps):
        # A number is read here: a call for each of 32 warps is a millisecond of a compile.
        result = combine(result, got(partial, warp, value) if is_tuple else partial[warp])
    # The next reduction may take the same memory.
    barrier()
    return result


def block_sum(value: Any) -> Any:
    """Return the sum over the block."""
    return block_reduce(value, add)


def block_max(value: Any) -> Any:
    """Return the largest value of the block; NaN propagates."""
    return block_reduce(value, maximum)


def block_min(value: Any) -> Any:
    """Return the smallest value of the block; NaN propagates."""
    return block_reduce(value, minimum)


def block_any(predicate: Any) -> Any:
    """Return whether ``predicate`` holds in any thread of the block."""
    return Bool(block_max(Int32(vote_any(predicate))))


def block_all(predicate: Any) -> Any:
    """Return whether ``predicate`` holds in every thread of the block."""
    return Bool(block_min(Int32(vote_all(predicate))))
