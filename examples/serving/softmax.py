"""Softmax over the rows of a contiguous matrix."""

import numpy as np

import darter as dt
from examples.serving.options import float_type


def make_softmax(N, dtype):
    """Return the launcher ``softmax(A, C, m, stream)``: rows [m, N] of 'f32' or 'bf16', contiguous; C may be A.

    Raises ``ValueError`` for an N or a dtype that it does not take.
    """
    element = float_type(dtype)
    if not 1 <= N <= 1 << 17:
        raise ValueError(f"N is {N}; accepted: 1 … 131072")

    @dt.kernel
    def softmax_kernel(A: dt.Tensor, C: dt.Tensor, m: dt.Int32):
        plan = dt.row_plan(N, element.size_bytes)
        row = dt.block_idx.x * plan.rows + dt.thread_idx.y
        if row < m:
            dt.softmax_row(A.data_ptr(), C.data_ptr(), row * N, plan)

    @dt.jit
    def softmax(A: dt.Tensor[element], C: dt.Tensor[element], m: dt.Int32, stream: dt.Stream = None):
        plan = dt.row_plan(N, element.size_bytes)
        softmax_kernel(A, C, m).launch(
            grid=dt.cdiv(m, plan.rows), block=(plan.threads, plan.rows), shared=plan.shared_bytes, stream=stream
        )

    return softmax


def reference(x):
    """Return the softmax of the rows of ``x`` in float64."""
    x = np.asarray(x, np.float64)
    weights = np.exp(x - x.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)
