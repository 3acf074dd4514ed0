"""An elementwise kernel over views: transposed, sliced and broadcast arrays go in as they are."""

import darter as dt


@dt.kernel
def scale_shift_kernel(
    x: dt.Tensor, scale: dt.Tensor, shift: dt.Tensor, out: dt.Tensor, columns: dt.Int64, BLOCK: dt.Constexpr[int]
):
    row = dt.block_idx.y
    column = dt.block_idx.x * BLOCK + dt.thread_idx.x
    if column < columns:
        out[row, column] = x[row, column] * scale[row, column] + shift[row, column]


@dt.jit
def scale_shift(
    x: dt.Tensor["rows", "columns"],
    scale: dt.Tensor["rows", "columns"],
    shift: dt.Tensor["rows", "columns"],
    out: dt.Tensor["rows", "columns"],
    BLOCK: dt.Constexpr[int] = 256,
    stream: dt.Stream = None,
):
    rows = x.shape[0]
    columns = x.shape[1]
    scale_shift_kernel(x, scale, shift, out, columns, BLOCK).launch(
        grid=(dt.cdiv(columns, BLOCK), rows), block=BLOCK, stream=stream
    )
