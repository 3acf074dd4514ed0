"""A launcher that states what it accepts: dtype, rank, a fixed head size, extents that agree, and a rule of its own."""

import darter as dt


@dt.kernel
def rotate_kernel(q: dt.Tensor, cos: dt.Tensor, sin: dt.Tensor, out: dt.Tensor, HALF: dt.Constexpr[int]):
    token = dt.block_idx.x
    head = dt.block_idx.y
    d = dt.thread_idx.x
    c = cos[token, d]
    s = sin[token, d]
    a = q[token, head, d]
    b = q[token, head, d + HALF]
    out[token, head, d] = a * c - b * s
    out[token, head, d + HALF] = a * s + b * c


@dt.jit
def rotate(
    q: dt.Tensor[dt.f32, "T", "H", 128],
    cos: dt.Tensor[dt.f32, "T", 64],
    sin: dt.Tensor[dt.f32, "T", 64],
    out: dt.Tensor[dt.f32, "T", "H", 128],
    stream: dt.Stream = None,
):
    if q.shape[1] > 64:
        raise ValueError(f"rotate takes at most 64 heads, got {q.shape[1]}")
    rotate_kernel(q, cos, sin, out, 64).launch(grid=(q.shape[0], q.shape[1]), block=64, stream=stream)
