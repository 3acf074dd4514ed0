"""The serving launchers with empty kernels: the same names and argument lists as those of ``examples/serving``.

What is left of a call is what the host does.  One block of one warp runs, whatever the arguments say.
"""

import darter as dt


@dt.kernel
def softmax_kernel(A: dt.Tensor, C: dt.Tensor, m: dt.Int32):
    pass


@dt.kernel
def qk_kernel(
    q_in: dt.Pointer[dt.bf16],
    kv_in: dt.Pointer[dt.bf16],
    q_weight: dt.Tensor,
    kv_weight: dt.Tensor,
    cos: dt.Tensor,
    sin: dt.Tensor,
    positions: dt.Pointer[dt.i64],
    q_out: dt.Pointer[dt.bf16],
    kv_out: dt.Pointer[dt.bf16],
    kv_in_row_stride: dt.Int32,
    num_tokens: dt.Int32,
):
    pass


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
    cos: dt.Tensor,
    sin: dt.Tensor,
    kv_cache: dt.Tensor,
    kv_cache_block_stride: dt.Int32,
    token_stride: dt.Int32,
    cache_scale: dt.Tensor | None,
    cache_scale_block_stride: dt.Int32,
    block_table: dt.Tensor,
    seq_stride: dt.Int32,
    plan_capacity: dt.Int32,
):
    pass


@dt.kernel
def forward_kernel(
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
    plan_capacity: dt.Int32,
):
    pass


@dt.kernel
def scatter_kernel(
    kv_compressed: dt.Tensor,
    stride: dt.Int32,
    plan: dt.Tensor,
    rms_weight: dt.Tensor,
    cos: dt.Tensor,
    sin: dt.Tensor,
    kv_cache: dt.Tensor,
    block_stride: dt.Int32,
    token_stride: dt.Int32,
    block_table: dt.Tensor,
    seq_stride: dt.Int32,
    plan_capacity: dt.Int32,
):
    pass


def make_softmax():
    """Return ``softmax`` (A, C, m, stream)."""

    @dt.jit
    def softmax(A: dt.Tensor[dt.f32], C: dt.Tensor[dt.f32], m: dt.Int32, stream: dt.Stream = None):
        softmax_kernel(A, C, m).launch(grid=1, block=32, stream=stream)

    return softmax


def make_qk_norm_rope_quant():
    """Return ``qk_norm_rope_quant`` without quantisation, its Q weighted."""

    @dt.jit
    def qk_norm_rope_quant(
        q_in: dt.Pointer[dt.bf16],
        kv_in: dt.Pointer[dt.bf16],
        q_weight: dt.Tensor[dt.bf16],
        kv_weight: dt.Tensor[dt.bf16],
        cos: dt.Tensor[dt.bf16],
        sin: dt.Tensor[dt.bf16],
        positions: dt.Pointer[dt.i64],
        q_out: dt.Pointer[dt.bf16],
        kv_out: dt.Pointer[dt.bf16],
        q_scale: dt.Pointer[dt.f32] | None,
        kv_scale: dt.Pointer[dt.f32] | None,
        kv_in_row_stride: dt.Int32,
        num_tokens: dt.Int32,
        stream: dt.Stream = None,
    ):
        qk_kernel(
            q_in,
            kv_in,
            q_weight,
            kv_weight,
            cos,
            sin,
            positions,
            q_out,
            kv_out,
            kv_in_row_stride,
            num_tokens,
        ).launch(grid=1, block=32, stream=stream)

    return qk_norm_rope_quant


def make_fused_compress_attn(cache):
    """Return ``fused_compress_attn`` for a cache of the scalar type ``cache``."""

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
        cos: dt.Tensor[dt.bf16],
        sin: dt.Tensor[dt.bf16],
        kv_cache: dt.Tensor[cache],
        kv_cache_block_stride: dt.Int32,
        token_stride: dt.Int32,
        cache_scale: dt.Tensor | None,
        cache_scale_block_stride: dt.Int32,
        block_table: dt.Tensor[dt.i32],
        seq_stride: dt.Int32,
        plan_capacity: dt.Int32,
        stream: dt.Stream = None,
    ):
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
            cos,
            sin,
            kv_cache,
            kv_cache_block_stride,
            token_stride,
            cache_scale,
            cache_scale_block_stride,
            block_table,
            seq_stride,
            plan_capacity,
        ).launch(grid=1, block=32, stream=stream)

    return fused_compress_attn


def make_hca_compress_forward():
    """Return ``hca_compress_forward``."""

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
        forward_kernel(
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
            plan_capacity,
        ).launch(grid=1, block=32, stream=stream)

    return hca_compress_forward


def make_hca_norm_rope_scatter():
    """Return ``hca_norm_rope_scatter``."""

    @dt.jit
    def hca_norm_rope_scatter(
        kv_compressed: dt.Tensor[dt.f32],
        stride: dt.Int32,
        plan: dt.Tensor[dt.i32],
        rms_weight: dt.Tensor,
        cos: dt.Tensor[dt.bf16],
        sin: dt.Tensor[dt.bf16],
        kv_cache: dt.Tensor[dt.bf16],
        block_stride: dt.Int32,
        token_stride: dt.Int32,
        block_table: dt.Tensor[dt.i32],
        seq_stride: dt.Int32,
        plan_capacity: dt.Int32,
        stream: dt.Stream = None,
    ):
        scatter_kernel(
            kv_compressed,
            stride,
            plan,
            rms_weight,
            cos,
            sin,
            kv_cache,
            block_stride,
            token_stride,
            block_table,
            seq_stride,
            plan_capacity,
        ).launch(grid=1, block=32, stream=stream)

    return hca_norm_rope_scatter
