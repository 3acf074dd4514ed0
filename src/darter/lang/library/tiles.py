"""Rows of memory, walked by a block: element by element, or held in registers and moved 16 bytes at a time.

One source serves both kinds of target.  On a GPU a row is spread over many threads, each moving 16 bytes at once; on
a CPU the lanes of one warp are the vector, so an access is one element wide and a block is one warp.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from darter.dtypes import Float32
from darter.lang.host import cdiv, static_range
from darter.lang.indices import backend, block_dim, thread_idx, warp_size
from darter.lang.library.reductions import Combine, block_reduce, warp_reduce
from darter.lang.memory import array

HELD_VALUES = 32
"""Values of a row that one thread holds in registers at most."""


class RowPlan(NamedTuple):
    """How a block works on rows of ``length`` elements; all are compile-time numbers.

    ``threads`` work on one row and ``rows`` rows make a block: launch with ``block=(threads, rows)``.  An access moves
    ``width`` elements.  A thread holds ``steps`` accesses of its row in registers; 0: the row is read again instead.
    """

    length: int
    width: int
    threads: int
    rows: int
    steps: int


def on_gpu() -> bool:
    """Return whether the code is compiled for a GPU."""
    return backend in ("cuda", "hip")


def access_width(count: int, item_bytes: int) -> int:
    """Return how many elements one thread moves at once where runs of ``count`` elements begin aligned: up to 16 bytes.

    On a CPU it is 1: neighbouring lanes make the vector.
    """
    return math.gcd(count, 16 // item_bytes) if on_gpu() else 1


def row_plan(length: int, item_bytes: int) -> RowPlan:
    """Return the plan for contiguous rows of ``length`` elements of ``item_bytes`` bytes."""
    width = access_width(length, item_bytes)
    threads = warp_size
    if not on_gpu():
        return RowPlan(length, width, threads, 1, 0)
    while threads < 1024 and threads * HELD_VALUES < length:
        threads *= 2
    # A row of one warp needs no barrier; four of them fill a block.
    rows = 4 if threads == warp_size else 1
    steps = cdiv(length // width, threads)
    return RowPlan(length, width, threads, rows, steps if steps * width <= HELD_VALUES else 0)


def fold(count: int, initial: Any, body: Callable[[Any, Any], Any]) -> Any:
    """Return ``body(i, …body(i, initial)…)`` over this thread's share of 0 … ``count`` − 1: every ``block_dim.x``-th.

    ``count`` is a compile-time number, so that no bound is checked but in the last round of a ``count`` that is no
    multiple of the threads; there ``body`` is traced a second time.
    """
    threads = block_dim.x
    whole = count // threads * threads
    if whole == threads:
        initial = body(thread_idx.x, initial)
    elif whole > 0:
        for base in range(0, whole, threads):
            initial = body(base + thread_idx.x, initial)
    if whole < count:
        last = whole + thread_idx.x
        if last < count:
            initial = body(last, initial)
    return initial


def each(count: int, body: Callable[[Any], None]) -> None:
    """Call ``body(i)`` for this thread's share of 0 … ``count`` − 1, as :func:`fold` divides it."""

    def call(i: Any, carried: None) -> None:
        body(i)

    fold(count, None, call)


def load_row(source: Any, start: Any, plan: RowPlan, fill: float) -> Any:
    """Return this thread's part of the row at ``source[start]``: a list of ``plan.steps`` register arrays of Float32.

    Elements beyond the row's end are ``fill``.
    """
    vectors = plan.length // plan.width
    pieces = []
    for step in static_range(plan.steps):
        vector = step * plan.threads + thread_idx.x
        if (step + 1) * plan.threads <= vectors:
            piece = source.load(start + vector * plan.width, width=plan.width)
        else:
            piece = array(source.dtype, plan.width, fill)
            if vector < vectors:
                for i, value in enumerate(source.load(start + vector * plan.width, width=plan.width)):
                    piece[i] = value
        pieces.append(array(Float32, plan.width, [Float32(value) for value in piece]))
    return pieces


def store_row(target: Any, start: Any, plan: RowPlan, pieces: Any) -> None:
    """Store what :func:`load_row` returned, or values in its form, to the row at ``target[start]``."""
    vectors = plan.length // plan.width
    for step in static_range(plan.steps):
        vector = step * plan.threads + thread_idx.x
        values = [target.dtype(value) for value in pieces[step]]
        if (step + 1) * plan.threads <= vectors or vector < vectors:
            target.store(start + vector * plan.width, values)


def row_reduce(value: Any, combine: Combine, plan: RowPlan) -> Any:
    """Return ``combine`` over the threads of one row; contains barriers where the row has more than one warp."""
    return warp_reduce(value, combine) if plan.threads == warp_size else block_reduce(value, combine)
