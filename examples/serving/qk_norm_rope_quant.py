"""Queries and the shared key-value row: RMS norm, rotary embedding, and bf16 or fp8 with a scale per group."""

import math
from typing import Any, NamedTuple

import numpy as np

import darter as dt
from darter.lang.library.tiles import access_width
from examples.serving import rope
from examples.serving.options import code_type, largest_code

D = 512
RD = 64
FIRST = D - RD
EPS = 1e-6
FLOOR = 1e-12
SQRT2 = math.sqrt(2.0)


class Row(NamedTuple):
    """One row of D channels on its way: where it comes from and goes to; ``weight`` and ``scales`` may be None."""

    source: Any
    start: Any
    weight: Any
    target: Any
    target_start: Any
    scales: Any
    scales_start: Any


def make_qk_norm_rope_quant(H, quant, fp8, group, q_weighted):
    """Return the launcher for H query heads and one key-value head of 512 channels, 64 of them rotated.

    Its arguments are (q_in, kv_in, q_weight, kv_weight, cos, sin, positions, q_out, kv_out, q_scale, kv_scale,
    kv_in_row_stride, num_tokens, stream); ``fp8`` and ``group`` count with ``quant`` only.  Raises ``ValueError``.
    """
    if not 1 <= H <= 65534:
        raise ValueError(f"H is {H}; accepted: 1 … 65534")
    if quant and group not in (32, 64, 128, 512):
        raise ValueError(f"group is {group}; accepted: 32, 64, 128, 512")
    out = code_type(fp8) if quant else dt.bf16
    largest = largest_code(fp8) if quant else 0.0
    size = group if quant else 0
    bf16_or_unused = dt.Tensor[dt.bf16] if q_weighted else dt.Tensor | None
    scale_or_unused = dt.Pointer[dt.f32] if quant else dt.Pointer[dt.f32] | None

    @dt.kernel
    def qk_kernel(
        q_in: dt.Pointer[dt.bf16],
        kv_in: dt.Pointer[dt.bf16],
        q_weight: dt.Tensor | None,
        kv_weight: dt.Tensor,
        cos: dt.Tensor,
        sin: dt.Tensor,
        positions: dt.Pointer[dt.i64],
        q_out: dt.Pointer[out],
        kv_out: dt.Pointer[out],
        q_scale: dt.Pointer[dt.f32] | None,
        kv_scale: dt.Pointer[dt.f32] | None,
        kv_in_row_stride: dt.Int32,
    ):
        token, head = dt.block_idx.x, dt.block_idx.y
        angles = cos.data_ptr(), sin.data_ptr(), positions[token]
        if head < H:
            number = token * H + head
            weight = q_weight.data_ptr() if q_weighted else None
            groups = number * (D // size) if quant else 0
            prepare(Row(q_in, number * D, weight, q_out, number * D, q_scale, groups), angles)
        else:
            start = token * dt.Int64(kv_in_row_stride)
            groups = token * (D // size) if quant else 0
            prepare(Row(kv_in, start, kv_weight.data_ptr(), kv_out, token * D, kv_scale, groups), angles)

    def prepare(row, angles):
        """Norm, rotate and store one row; ``angles`` are the two tables and the position."""
        width = access_width(D, 2)
        span = dt.block_dim.x * width
        steps = D // span
        # A row that the block holds at once is read once; a cache holds the others.
        held = weighted(row, 0, width) if steps == 1 else None

        total = dt.Float32(0.0)
        for step in range(steps):
            x, _ = held if steps == 1 else weighted(row, step * span, width)
            for value in x:
                total = total + value * value
        rstd = dt.rsqrt(dt.block_sum(total) / D + EPS)

        if not quant:
            for step in range(steps):
                _, u = held if steps == 1 else weighted(row, step * span, width)
                finish(row, step * span, u, rstd, angles)
            return
        turns = max(size // span, 1)
        for first in range(0, steps, turns):
            a = dt.Float32(FLOOR)
            for step in range(first, first + turns):
                _, u = held if steps == 1 else weighted(row, step * span, width)
                for value in u:
                    a = max(a, abs(value))
            a = dt.group_reduce(a, dt.max, min(size // width, dt.block_dim.x))
            channel = first * span + dt.thread_idx.x * width
            if channel % size == 0:
                row.scales[row.scales_start + channel // size] = a * rstd * (SQRT2 / largest)
            factor = (largest / SQRT2) / a
            for step in range(first, first + turns):
                _, u = held if steps == 1 else weighted(row, step * span, width)
                finish(row, step * span, u, factor, angles)

    def weighted(row, base, width):
        """Return this thread's channels of the step at ``base``: x and x·w, register arrays of Float32."""
        channel = base + dt.thread_idx.x * width
        x = [dt.Float32(v) for v in row.source.load(row.start + channel, width=width)]
        if row.weight is None:
            return x, x
        w = [dt.Float32(v) for v in row.weight.load(channel, width=width)]
        return x, [a * b for a, b in zip(x, w, strict=True)]

    def finish(row, base, u, factor, angles):
        """Scale, rotate and store this thread's channels of the step at ``base``."""
        cos, sin, position = angles
        width = len(u)
        channel = base + dt.thread_idx.x * width
        y = dt.array(dt.f32, width, [value * factor for value in u])
        if width == 1:
            # A warp's channels are rotated all or none, so its lanes may exchange values.
            if base >= FIRST:
                other = dt.shuffle_xor(y[0], 1)
                y[0] = rope.rotated(y[0], other, channel, FIRST, cos, sin, position, RD)
        elif channel >= FIRST:
            rope.rotate_pairs(y, channel, FIRST, cos, sin, position, RD)
        row.target.store(row.target_start + channel, [out(value) for value in y])

    @dt.jit
    def qk_norm_rope_quant(
        q_in: dt.Pointer[dt.bf16],
        kv_in: dt.Pointer[dt.bf16],
        q_weight: bf16_or_unused,
        kv_weight: dt.Tensor[dt.bf16],
        cos: dt.Tensor[dt.bf16],
        sin: dt.Tensor[dt.bf16],
        positions: dt.Pointer[dt.i64],
        q_out: dt.Pointer[out],
        kv_out: dt.Pointer[out],
        q_scale: scale_or_unused,
        kv_scale: scale_or_unused,
        kv_in_row_stride: dt.Int32,
        num_tokens: dt.Int32,
        stream: dt.Stream = None,
    ):
        weight = q_weight if q_weighted else None
        scales = (q_scale, kv_scale) if quant else (None, None)
        threads = 64 if dt.on_gpu() else dt.warp_size
        qk_kernel(q_in, kv_in, weight, kv_weight, cos, sin, positions, q_out, kv_out, *scales, kv_in_row_stride).launch(
            grid=(num_tokens, H + 1), block=threads, stream=stream
        )

    return qk_norm_rope_quant


def reference(q_in, kv_in, q_weight, kv_weight, cos, sin, positions):
    """Return q [T, H, D] and kv [T, D] in float64 before any rounding, and their unrotated u and rstd for the scales.

    ``q_weight`` None stands for ones.
    """
    results = []
    for x, w, p in ((q_in, q_weight, positions[:, None]), (kv_in, kv_weight, positions)):
        x = np.asarray(x, np.float64)
        u = x if w is None else x * np.asarray(w, np.float64)
        rstd = 1 / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + EPS)
        p = np.broadcast_to(p, x.shape[:-1])
        results.append((rope.reference(u * rstd, cos, sin, p), u, rstd))
    return results


def reference_scales(u, rstd, group, largest):
    """Return the float64 scales [..., D/group] of what :func:`reference` gave."""
    a = np.maximum(np.abs(u).reshape(*u.shape[:-1], -1, group).max(-1), FLOOR)
    return a * rstd * SQRT2 / largest
