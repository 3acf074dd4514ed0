"""Prefix scans over a warp and over a block, in the order of the threads' numbers.

The flow must be uniform over the warp (``warp_*``) or the block (``block_*``, which contain barriers).  ``combine`` is
associative; ``identity`` is what the first thread of an exclusive scan gets.
"""

from __future__ import annotations

from typing import Any

from darter.lang.host import cdiv, static_range
from darter.lang.indices import lane_id, warp_id, warp_size
from darter.lang.library.reductions import Combine, add, block_threads, got, memory_for, put
from darter.lang.math import where
from darter.lang.memory import barrier
from darter.lang.warp import shuffle_up


def warp_scan(value: Any, combine: Combine = add) -> Any:
    """Return ``combine`` over the values of this lane and those below it."""
    delta = 1
    while delta < warp_size:
        below = shuffle_up(value, delta)
        value = where(lane_id >= delta, combine(below, value), value)
        delta *= 2
    return value


def warp_scan_exclusive(value: Any, combine: Combine = add, identity: Any = 0) -> Any:
    """Return ``combine`` over the values of the lanes below this one."""
    below = shuffle_up(warp_scan(value, combine), 1)
    return where(lane_id > 0, below, identity)


def block_scan(value: Any, combine: Combine = add) -> Any:
    """Return ``combine`` over the values of this thread and those below it in the block."""
    inclusive, before, any_before = _block_scan(value, combine)
    return inclusive if before is None else where(any_before, combine(before, inclusive), inclusive)


def block_scan_exclusive(value: Any, combine: Combine = add, identity: Any = 0) -> Any:
    """Return ``combine`` over the values of the threads below this one in the block."""
    inclusive, before, any_before = _block_scan(value, combine)
    below = shuffle_up(inclusive, 1)
    if before is None:
        return where(lane_id > 0, below, identity)
    whole = where(any_before, combine(before, below), below)
    first = where(any_before, before, identity)
    return where(lane_id > 0, whole, first)


def _block_scan(value: Any, combine: Combine) -> Any:
    """Return the warp's inclusive scan, the total of the warps below, and whether there are any."""
    inclusive = warp_scan(value, combine)
    warps = cdiv(block_threads(), warp_size)
    if warps == 1:
        return inclusive, None, False
    totals = memory_for(inclusive, warps)
    if lane_id == warp_size - 1:
        put(totals, warp_id, inclusive)
    barrier()
    before = got(totals, 0, inclusive)
    for warp in static_range(1, warps - 1):
        before = where(warp_id > warp, combine(before, got(totals, warp, inclusive)), before)
    barrier()
    return inclusive, before, warp_id > 0
