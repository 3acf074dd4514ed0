"""SwiGLU: silu(gate) * up, with bf16 in memory and f32 between."""

import darter as dt


def silu(v):
    return v / (1.0 + dt.exp(-v))


@dt.kernel
def swiglu_kernel(gate: dt.Tensor, up: dt.Tensor, out: dt.Tensor, columns: dt.Int64, BLOCK: dt.Constexpr[int]):
    row = dt.block_idx.y
    column = dt.block_idx.x * BLOCK + dt.thread_idx.x
    if column < columns:
        g = dt.Float32(gate[row, column])
        u = dt.Float32(up[row, column])
        out[row, column] = dt.BFloat16(silu(g) * u)


@dt.jit
def swiglu(
    gate: dt.Tensor[dt.bf16, "tokens", "columns"],
    up: dt.Tensor[dt.bf16, "tokens", "columns"],
    out: dt.Tensor[dt.bf16, "tokens", "columns"],
    BLOCK: dt.Constexpr[int] = 256,
    stream: dt.Stream = None,
):
    columns = gate.shape[1]
    swiglu_kernel(gate, up, out, columns, BLOCK).launch(
        grid=(dt.cdiv(columns, BLOCK), gate.shape[0]), block=BLOCK, stream=stream
    )
