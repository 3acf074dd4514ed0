"""The smallest launcher: one kernel, and a grid that comes from a shape."""

import darter as dt


@dt.kernel
def add_kernel(x: dt.Tensor, y: dt.Tensor, out: dt.Tensor, n: dt.Int64, BLOCK: dt.Constexpr[int]):
    i = dt.block_idx.x * BLOCK + dt.thread_idx.x
    if i < n:
        out[i] = x[i] + y[i]


@dt.jit
def add(
    x: dt.Tensor["n"],
    y: dt.Tensor["n"],
    out: dt.Tensor["n"],
    BLOCK: dt.Constexpr[int] = 256,
    stream: dt.Stream = None,
):
    n = x.shape[0]
    add_kernel(x, y, out, n, BLOCK).launch(grid=dt.cdiv(n, BLOCK), block=BLOCK, stream=stream)
