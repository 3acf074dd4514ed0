"""A launcher of two kernels: add a residual and find each row's root mean square, then scale the rows by it."""

import darter as dt


@dt.kernel
def add_and_measure_kernel(x: dt.Tensor, residual: dt.Tensor, inverse_rms: dt.Tensor, eps: dt.Float32):
    row = dt.block_idx.x * 32 + dt.thread_idx.x
    if row < x.shape[0]:
        total = dt.Float32(0.0)
        for column in range(x.shape[1]):
            v = x[row, column] + residual[row, column]
            residual[row, column] = v
            total = total + v * v
        inverse_rms[row] = dt.rsqrt(total / dt.Float32(x.shape[1]) + eps)


@dt.kernel
def scale_rows_kernel(
    x: dt.Tensor, inverse_rms: dt.Tensor, weight: dt.Tensor, out: dt.Tensor, BLOCK: dt.Constexpr[int]
):
    row = dt.block_idx.y
    column = dt.block_idx.x * BLOCK + dt.thread_idx.x
    if column < x.shape[1]:
        out[row, column] = x[row, column] * inverse_rms[row] * weight[column]


@dt.jit
def residual_norm(
    x: dt.Tensor[dt.f32, "tokens", "hidden"],
    residual: dt.Tensor[dt.f32, "tokens", "hidden"],
    weight: dt.Tensor[dt.f32, "hidden"],
    inverse_rms: dt.Tensor[dt.f32, "tokens"],
    out: dt.Tensor[dt.f32, "tokens", "hidden"],
    eps: dt.Float32 = 1e-6,
    BLOCK: dt.Constexpr[int] = 256,
    stream: dt.Stream = None,
):
    tokens = x.shape[0]
    add_and_measure_kernel(x, residual, inverse_rms, eps).launch(grid=dt.cdiv(tokens, 32), block=32, stream=stream)
    scale_rows_kernel(residual, inverse_rms, weight, out, BLOCK).launch(
        grid=(dt.cdiv(x.shape[1], BLOCK), tokens), block=BLOCK, stream=stream
    )
