"""Compressed attention in one kernel: pool a window, norm, rotate, and store to the paged cache in bf16 or fp8."""

import darter as dt
from examples.serving.cache import EPS, Norm, check_shape, check_weight, fold_normed, physical, shuffled
from examples.serving.options import code_type, largest_code
from examples.serving.window import Memory, plan_row, pooled

FLOOR = 1e-4


def make_fused_compress_attn(D, RD, ratio, overlap, S, k_per_block, cache, fp8, pow2, preshuffle):
    """Return the launcher for rows of D channels, RD of them rotated, over windows of ratio·(1 + overlap) tokens.

    Its arguments are (kv_in, row_stride, score_in, row_stride, plan, kv_state, slot_stride, pos_stride, score_state,
    slot_stride, pos_stride, state_slot_mapping, ape, rms_weight, cos, sin, kv_cache, block_stride, token_stride,
    cache_scale, block_stride, block_table, seq_stride, plan_capacity, stream).  Raises ``ValueError``.
    """
    check_shape(D, RD, ratio, k_per_block, ratio * (1 + overlap), S)
    if cache not in ("bf16", "fp8"):
        raise ValueError(f"cache is {cache!r}; accepted: 'bf16', 'fp8'")
    if preshuffle and (cache != "fp8" or D % 16 or k_per_block % 16):
        raise ValueError("preshuffle takes an fp8 cache, and D and k_per_block that are multiples of 16")
    quantised = cache == "fp8"
    element = code_type(fp8) if quantised else dt.bf16
    largest = largest_code(fp8) if quantised else 0.0
    tables = dt.Tensor[dt.bf16] if RD else dt.Tensor | None
    scales = dt.Tensor[dt.f32] if quantised else dt.Tensor | None

    @dt.kernel
    def fused_kernel(
        kv_in: dt.Tensor,
        kv_in_row_stride: dt.Int32,
        score_in: dt.Tensor,
        score_in_row_stride: dt.Int32,
        plan: dt.Tensor,
        kv_state: dt.Tensor,
        kv_state_slot_stride: dt.Int32,
        kv_state_pos_stride: dt.Int32,
        score_state: dt.Tensor,
        score_state_slot_stride: dt.Int32,
        score_state_pos_stride: dt.Int32,
        state_slot_mapping: dt.Tensor,
        ape: dt.Tensor,
        rms_weight: dt.Tensor,
        cos: dt.Tensor | None,
        sin: dt.Tensor | None,
        kv_cache: dt.Tensor,
        kv_cache_block_stride: dt.Int32,
        token_stride: dt.Int32,
        cache_scale: dt.Tensor | None,
        cache_scale_block_stride: dt.Int32,
        block_table: dt.Tensor,
        seq_stride: dt.Int32,
    ):
        row = plan_row(plan, dt.block_idx.x)
        if row.pos < 0:
            return
        slot = dt.Int64(state_slot_mapping.data_ptr()[row.b])
        kv = Memory(kv_in.data_ptr(), kv_in_row_stride, kv_state.data_ptr(), kv_state_slot_stride, kv_state_pos_stride)
        score = Memory(
            score_in.data_ptr(),
            score_in_row_stride,
            score_state.data_ptr(),
            score_state_slot_stride,
            score_state_pos_stride,
        )
        biases = ape.data_ptr()
        z = dt.shared(dt.f32, D)

        def pool(d, total):
            value = pooled(kv, score, biases, slot, row, d, D, ratio, overlap, S)
            z[d] = value
            return total + value * value

        squares = dt.fold(D, dt.Float32(0.0), pool)
        rstd = dt.rsqrt(dt.block_sum(squares) / D + EPS)
        dt.barrier()

        ci = row.pos // ratio
        phys, j = physical(block_table.data_ptr(), seq_stride, row.b, ci, k_per_block)
        tables = (cos.data_ptr(), sin.data_ptr()) if RD else (None, None)
        norm = Norm(rstd, rms_weight.data_ptr(), *tables, ci * ratio)
        target = kv_cache.data_ptr()
        block_start = phys * kv_cache_block_stride
        token_start = block_start + j * token_stride

        if not quantised:

            def store(channel, values, carried):
                target.store(token_start + channel, [element(value) for value in values])
                return carried

            fold_normed(z.data_ptr(), 0, norm, D, RD, None, store)
            return

        def measure(channel, values, most):
            z.store(channel, values)
            for value in values:
                most = max(most, abs(value))
            return most

        most = dt.block_max(fold_normed(z.data_ptr(), 0, norm, D, RD, dt.Float32(0.0), measure))
        scale = dt.group_scale(most, largest, FLOOR, pow2)
        if dt.thread_idx.x == 0:
            cache_scale.data_ptr()[phys * cache_scale_block_stride + j] = scale
        dt.barrier()

        def quantise(d):
            place = block_start + shuffled(j, d, D) if preshuffle else token_start + d
            target[place] = element(z[d] / scale)

        dt.each(D, quantise)

    @dt.jit
    def fused_compress_attn(
        kv_in: dt.Tensor[dt.bf16],
        kv_in_row_stride: dt.Int32,
        score_in: dt.Tensor[dt.bf16],
        score_in_row_stride: dt.Int32,
        plan: dt.Tensor[dt.i32],
        kv_state: dt.Tensor[dt.f32],
        kv_state_slot_stride: dt.Int32,
        kv_state_pos_stride: dt.Int32,
        score_state: dt.Tensor[dt.f32],
        score_state_slot_stride: dt.Int32,
        score_state_pos_stride: dt.Int32,
        state_slot_mapping: dt.Tensor[dt.i32],
        ape: dt.Tensor[dt.f32],
        rms_weight: dt.Tensor,
        cos: tables,
        sin: tables,
        kv_cache: dt.Tensor[element],
        kv_cache_block_stride: dt.Int32,
        token_stride: dt.Int32,
        cache_scale: scales,
        cache_scale_block_stride: dt.Int32,
        block_table: dt.Tensor[dt.i32],
        seq_stride: dt.Int32,
        plan_capacity: dt.Int32,
        stream: dt.Stream = None,
    ):
        check_weight(rms_weight)
        threads = min(512, dt.cdiv(D, dt.warp_size) * dt.warp_size) if dt.on_gpu() else dt.warp_size
        fused_kernel(
            kv_in,
            kv_in_row_stride,
            score_in,
            score_in_row_stride,
            plan,
            kv_state,
            kv_state_slot_stride,
            kv_state_pos_stride,
            score_state,
            score_state_slot_stride,
            score_state_pos_stride,
            state_slot_mapping,
            ape,
            rms_weight,
            cos if RD else None,
            sin if RD else None,
            kv_cache,
            kv_cache_block_stride,
            token_stride,
            cache_scale if quantised else None,
            cache_scale_block_stride,
            block_table,
            seq_stride,
        ).launch(grid=plan_capacity, block=threads, stream=stream)

    return fused_compress_attn
