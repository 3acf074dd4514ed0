"""Launchers that several of these tests share."""

from __future__ import annotations

import darter as dt

BLOCK = 256


@dt.kernel
def add_kernel(x, y, out, n):
    i = dt.block_idx.x * BLOCK + dt.thread_idx.x
    if i < n:
        out[i] = x[i] + y[i]


@dt.jit
def add(x: dt.Tensor["n"], y: dt.Tensor["n"], out: dt.Tensor["n"], stream: dt.Stream = None):
    add_kernel(x, y, out, x.shape[0]).launch(grid=dt.cdiv(x.shape[0], BLOCK), block=BLOCK, stream=stream)


def make_add(more):
    """Return a launcher of its own that adds ``more`` too, so that nobody has compiled it before."""

    @dt.kernel
    def more_kernel(x, y, out, n):
        i = dt.block_idx.x * BLOCK + dt.thread_idx.x
        if i < n:
            out[i] = x[i] + y[i] + more

    @dt.jit
    def add(x: dt.Tensor["n"], y: dt.Tensor["n"], out: dt.Tensor["n"], stream: dt.Stream = None):
        more_kernel(x, y, out, x.shape[0]).launch(grid=dt.cdiv(x.shape[0], BLOCK), block=BLOCK, stream=stream)

    return add
