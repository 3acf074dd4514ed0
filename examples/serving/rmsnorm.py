"""RMS norm over the rows of a contiguous matrix."""

import numpy as np

import darter as dt
from examples.serving.options import float_type

EPS = 1e-6


def make_rmsnorm(N, dtype):
    """Return the launcher ``rmsnorm(x, w, out, m, stream)``: rows [m, N], weights [N], both 'f32' or 'bf16'.

    The rows are contiguous; out may be x.  Raises ``ValueError`` for an N or a dtype that it does not take.
    """
    element = float_type(dtype)
    if N < 1:
        raise ValueError(f"N is {N}; accepted: 1 and more")

    @dt.kernel
    def rmsnorm_kernel(x: dt.Tensor, w: dt.Tensor, out: dt.Tensor, m: dt.Int32):
        plan = dt.row_plan(N, element.size_bytes)
        row = dt.block_idx.x * plan.rows + dt.thread_idx.y
        if row < m:
            dt.rms_norm_row(x.data_ptr(), w.data_ptr(), out.data_ptr(), row * N, plan, EPS)

    @dt.jit
    def rmsnorm(
        x: dt.Tensor[element], w: dt.Tensor[element], out: dt.Tensor[element], m: dt.Int32, stream: dt.Stream = None
    ):
        plan = dt.row_plan(N, element.size_bytes)
        rmsnorm_kernel(x, w, out, m).launch(
            grid=dt.cdiv(m, plan.rows), block=(plan.threads, plan.rows), shared=plan.shared_bytes, stream=stream
        )

    return rmsnorm


def reference(x, w):
    """Return ``x / sqrt(mean x² + eps) · w`` over the rows of ``x`` in float64."""
    x, w = np.asarray(x, np.float64), np.asarray(w, np.float64)
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + EPS) * w
