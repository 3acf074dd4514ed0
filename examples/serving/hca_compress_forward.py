"""The first half of compressed attention: pool each window to one row of float32."""

import darter as dt
from examples.serving.cache import check_shape
from examples.serving.window import Memory, plan_row, pooled


def make_hca_compress_forward(*, D=512, ratio=128, S):
    """Return the launcher for rows of D channels over windows of ``ratio`` tokens; S is the ring's length.

    Its arguments are (kv_in, row_stride, score_in, row_stride, plan, kv_state, slot_stride, pos_stride, score_state,
    slot_stride, pos_stride, state_slot_mapping, ape, kv_compressed, stride, plan_capacity, stream).  Raises
    ``ValueError``.
    """
    check_shape(D, 0, ratio, 1, ratio, S)

    @dt.kernel
    def compress_kernel(
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
        kv_compressed: dt.Tensor,
        stride: dt.Int32,
    ):
        number = dt.block_idx.x
        row = plan_row(plan, number)
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
        target = kv_compressed.data_ptr()
        start = number * stride

        def pool(d):
            target[start + d] = pooled(kv, score, biases, slot, row, d, D, ratio, False, S)

        if dt.on_gpu():
            d = dt.block_idx.y * dt.block_dim.x + dt.thread_idx.x
            if d < D:
                pool(d)
        else:
            dt.each(D, pool)

    @dt.jit
    def hca_compress_forward(
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
        kv_compressed: dt.Tensor[dt.f32],
        stride: dt.Int32,
        plan_capacity: dt.Int32,
        stream: dt.Stream = None,
    ):
        # Long windows keep few blocks busy for long: on a GPU a row's channels are divided among blocks.
        threads = 128 if dt.on_gpu() else dt.warp_size
        compress_kernel(
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
            kv_compressed,
            stride,
        ).launch(grid=(plan_capacity, dt.cdiv(D, threads) if dt.on_gpu() else 1), block=threads, stream=stream)

    return hca_compress_forward
