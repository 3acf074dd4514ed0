"""The second half of compressed attention: norm and rotate pooled rows, and scatter them to the paged cache in bf16."""

import darter as dt
from examples.serving.cache import EPS, Norm, check_shape, check_weight, fold_normed, physical
from examples.serving.window import plan_row


def make_hca_norm_rope_scatter(*, D=512, RD=64, ratio=128, k_per_block):
    """Return the launcher for rows of D channels, RD of them rotated, to blocks of ``k_per_block`` tokens.

    Its arguments are (kv_compressed, stride, plan, rms_weight, cos, sin, kv_cache, block_stride, token_stride,
    block_table, seq_stride, plan_capacity, stream).  Raises ``ValueError``.
    """
    check_shape(D, RD, ratio, k_per_block)
    tables = dt.Tensor[dt.bf16] if RD else dt.Tensor | None

    @dt.kernel
    def scatter_kernel(
        kv_compressed: dt.Tensor,
        stride: dt.Int32,
        plan: dt.Tensor,
        rms_weight: dt.Tensor,
        cos: dt.Tensor | None,
        sin: dt.Tensor | None,
        kv_cache: dt.Tensor,
        block_stride: dt.Int32,
        token_stride: dt.Int32,
        block_table: dt.Tensor,
        seq_stride: dt.Int32,
    ):
        number = dt.block_idx.x
        row = plan_row(plan, number)
        if row.pos < 0:
            return
        z = kv_compressed.data_ptr()
        start = number * stride
        squares = dt.fold(D, dt.Float32(0.0), lambda d, total: total + z[start + d] * z[start + d])
        rstd = dt.rsqrt(dt.block_sum(squares) / D + EPS)

        ci = row.pos // ratio
        phys, j = physical(block_table.data_ptr(), seq_stride, row.b, ci, k_per_block)
        tables = (cos.data_ptr(), sin.data_ptr()) if RD else (None, None)
        norm = Norm(rstd, rms_weight.data_ptr(), *tables, ci * ratio)
        target = kv_cache.data_ptr()
        token_start = phys * block_stride + j * token_stride

        def store(channel, values, carried):
            target.store(token_start + channel, [dt.BFloat16(value) for value in values])
            return carried

        fold_normed(z, start, norm, D, RD, None, store)

    @dt.jit
    def hca_norm_rope_scatter(
        kv_compressed: dt.Tensor[dt.f32],
        stride: dt.Int32,
        plan: dt.Tensor[dt.i32],
        rms_weight: dt.Tensor,
        cos: tables,
        sin: tables,
        kv_cache: dt.Tensor[dt.bf16],
        block_stride: dt.Int32,
        token_stride: dt.Int32,
        block_table: dt.Tensor[dt.i32],
        seq_stride: dt.Int32,
        plan_capacity: dt.Int32,
        stream: dt.Stream = None,
    ):
        check_weight(rms_weight)
        threads = min(512, dt.cdiv(D, dt.warp_size) * dt.warp_size) if dt.on_gpu() else dt.warp_size
        scatter_kernel(
            kv_compressed,
            stride,
            plan,
            rms_weight,
            cos if RD else None,
            sin if RD else None,
            kv_cache,
            block_stride,
            token_stride,
            block_table,
            seq_stride,
        ).launch(grid=plan_capacity, block=threads, stream=stream)

    return hca_norm_rope_scatter
