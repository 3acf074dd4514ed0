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
from darter.lang.memory import array, dynamic_shared

HELD_VALUES = 32
"""Values of a row that one thread holds in registers at most."""
KEPT_BYTES = 96 * 1024
"""Shared memory that a row takes at most; every CUDA architecture lends a block as much."""


class RowPlan(NamedTuple):
    """How a block works on rows of ``length`` elements; all are compile-time numbers.

    ``threads`` work on one row and ``rows`` rows make a block: launch with ``block=(threads, rows)``.  An access moves
    ``width`` elements and a thread makes ``steps`` of them.  What they read stays in registers, or, where
    ``shared_bytes`` is not 0, in dynamic shared memory: launch with ``shared=shared_bytes``.  ``steps`` 0: rows are
    walked and read again.
    """

    length: int
    width: int
    threads: int
    rows: int
    steps: int
    shared_bytes: int


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
    vectors = length // width
    threads = warp_size
    if not on_gpu():
        return RowPlan(length, width, threads, 1, 0, 0)
    if backend == "cuda" and item_bytes < 4 and length > 16384 and length * item_bytes <= KEPT_BYTES:
        # 1024 threads that hold Float32 fill a multiprocessor with one row, which waits for its reads: 0.70 of a
        # copy's speed at 32768 bf16.  From shared memory three rows are under way at once.
        steps = cdiv(vectors, 512)
        return RowPlan(length, width, 512, 1, steps, steps * 512 * width * item_bytes)
    while threads < 1024 and threads * HELD_VALUES < length:
        threads *= 2
    # A row of one warp needs no barrier; four of them fill a block.
    rows = 4 if threads == warp_size else 1
    steps = cdiv(vectors, threads)
    return RowPlan(length, width, threads, rows, steps if steps * width <= HELD_VALUES else 0, 0)


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
    """Return this thread's part of the row at ``source[start]``: a list of ``plan.steps`` register arrays.

    Elements have the type of ``source``; those beyond the row's end are ``fill``.
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
        pieces.append(piece)
    return pieces


def as_float(pieces: Any) -> Any:
    """Return the pieces of a row as new register arrays of Float32."""
    return [array(Float32, len(piece), [Float32(value) for value in piece]) for piece in pieces]


def keep_row(pieces: Any, plan: RowPlan) -> Any:
    """Put the pieces of a row into dynamic shared memory; return a function that reads the piece of a step again.

    A thread reads what it wrote, so no barrier is needed.  One between the two keeps the compiler from holding the
    values in registers after all.
    """
    kept = dynamic_shared(pieces[0].dtype)
    for step in static_range(plan.steps):
        kept.store((step * plan.threads + thread_idx.x) * plan.width, pieces[step])

    def again(step: int) -> Any:
        return kept.load((step * plan.threads + thread_idx.x) * plan.width, width=plan.width)

    return again


def store_piece(target: Any, start: Any, plan: RowPlan, step: int, values: Any) -> None:
    """Store the values of one step, numbers of any float type, to the row at ``target[start]``."""
    vectors = plan.length // plan.width
    vector = step * plan.threads + thread_idx.x
    if (step + 1) * plan.threads <= vectors or vector < vectors:
        target.store(start + vector * plan.width, [target.dtype(value) for value in values])


def row_reduce(value: Any, combine: Combine, plan: RowPlan) -> Any:
    """Return ``combine`` over the threads of one row; contains barriers where the row has more than one warp."""
    return warp_reduce(value, combine) if plan.threads == warp_size else block_reduce(value, combine)
