"""From pooled rows to the paged cache: RMS norm, rotary embedding, and where a token's channels are stored."""

from typing import Any, NamedTuple

import numpy as np

import darter as dt
from examples.serving import rope

EPS = 1e-6


class Norm(NamedTuple):
    """What a pooled row is normed and rotated with: 1/rms, weights, tables, the position of the rotation."""

    rstd: Any
    weight: Any
    cos: Any
    sin: Any
    position: Any


def check_weight(weight):
    """Refuse norm weights that are neither f32 nor bf16; for launchers."""
    if weight.dtype is not dt.f32 and weight.dtype is not dt.bf16:
        raise TypeError("argument 'rms_weight' is neither f32 nor bf16")


def fold_normed(z, start, norm, D, RD, initial, body):
    """Fold ``body(channel, values, carried)`` over this thread's channels of the row at ``z[start]``.

    ``values`` are, normed and rotated, the next one channel or pair of channels, Float32.
    """
    first = D - RD

    def scaled(channel, width):
        values = z.load(start + channel, width=width)
        weights = norm.weight.load(channel, width=width)
        return [value * norm.rstd * dt.Float32(w) for value, w in zip(values, weights, strict=True)]

    def plain(channel, carried):
        return body(channel, scaled(channel, 1), carried)

    def pair(j, carried):
        channel = first + 2 * j
        e, o = scaled(channel, 2)
        c, s = rope.angles(norm.cos, norm.sin, norm.position, j, RD)
        return body(channel, [e * c - o * s, e * s + o * c], carried)

    return dt.fold(RD // 2, dt.fold(first, initial, plain), pair)


def physical(block_table, seq_stride, b, ci, k_per_block):
    """Return the physical block of compressed token ``ci`` of sequence ``b``, and its place there: Int64."""
    ci = dt.Int64(ci)
    return dt.Int64(block_table[dt.Int64(b) * seq_stride + ci // k_per_block]), ci % k_per_block


def shuffled(j, d, D):
    """Return the place of channel ``d`` of token ``j`` in a block that holds tiles of 16 tokens by 16 channels."""
    return (j // 16) * (16 * D) + (d // 16) * 256 + (j % 16) * 16 + d % 16


def check_shape(D, RD, ratio, k_per_block, K=1, S=1):
    """Raise ``ValueError`` for sizes outside their limits."""
    limits = {
        "D": (D, D >= 1, "1 and more"),
        "RD": (RD, 0 <= RD <= D and RD % 2 == 0, "even, 0 … D"),
        "ratio": (ratio, ratio >= 1, "1 and more"),
        "k_per_block": (k_per_block, k_per_block >= 1, "1 and more"),
        "S": (S, S >= K, f"{K} (the window) and more"),
    }
    for name, (value, inside, accepted) in limits.items():
        if not inside:
            raise ValueError(f"{name} is {value}; accepted: {accepted}")


def reference_norm(z, plan, rms_weight, cos, sin, ratio):
    """Return y [plan rows, D] in float64 from z: normed, weighted, and rotated by ⌊pos/ratio⌋·ratio."""
    pos = np.maximum(np.asarray(plan)[:, 2], 0)
    y = z / np.sqrt(np.mean(z * z, axis=-1, keepdims=True) + EPS) * np.asarray(rms_weight, np.float64)
    return rope.reference(y, cos, sin, pos // ratio * ratio)


def reference_place(plan, block_table, ratio, k_per_block):
    """Return per plan row the physical block and the place in it, [plan rows] each; skipped rows give 0."""
    plan = np.asarray(plan).astype(np.int64)
    active = plan[:, 2] >= 0
    ci = np.where(active, plan[:, 2], 0) // ratio
    return np.asarray(block_table)[np.where(active, plan[:, 1], 0), ci // k_per_block].astype(
        np.int64
    ), ci % k_per_block
