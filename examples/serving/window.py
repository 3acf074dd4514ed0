"""The window of compressed attention: a softmax over the last K tokens of a sequence, channel by channel.

Entry k of a plan row (r, b, pos, wl) comes from the ring of the sequence's state while k < wl, else from the input.
"""

import math
from typing import Any, NamedTuple

import numpy as np

import darter as dt
from darter.lang.library.rows import added, inverse_or_zero, scaled, sum_of_none, weight_of


class Memory(NamedTuple):
    """Values or scores: the input with its row stride, the ring [slots, S, W] with its strides (elements)."""

    entries: Any
    row_stride: Any
    state: Any
    slot_stride: Any
    pos_stride: Any


class PlanRow(NamedTuple):
    """A row of the plan: input row of the last token, sequence, its position, leading entries that the ring holds."""

    r: Any
    b: Any
    pos: Any
    wl: Any


def plan_row(plan, row):
    """Return row ``row`` of the plan, i32 [plan_capacity, 4] contiguous."""
    r, b, pos, wl = plan.data_ptr().load(dt.Int64(row) * 4, width=4)
    return PlanRow(r, b, pos, wl)


def pooled(kv, score, ape, slot, plan, d, D, ratio, overlap, S):
    """Return z[d] = Σ softmaxₖ(g)·v over the K entries, Float32; 0 where every g is −∞."""
    K = ratio * (1 + overlap)
    # Entries that are taken together share one change of the largest score; on a GPU their loads are under way
    # together, too.  On a CPU that is worth its code in long windows only.
    together = min(8, K) if dt.on_gpu() else (4 if K > 16 else 1)
    largest = dt.Float32(-math.inf)
    weights, values = sum_of_none(), sum_of_none()
    for first in range(0, K, together):
        entries = [
            entry(kv, score, ape, slot, plan, dt.Int32(first) + i, d, D, ratio, overlap, S)
            for i in dt.static_range(together)
        ]
        above = largest
        for g, _ in entries:
            above = max(above, g)
        scale = weight_of(largest, above)
        weights, values = scaled(weights, scale), scaled(values, scale)
        for g, v in entries:
            weight = weight_of(g, above)
            weights, values = added(weights, weight), added(values, weight * v)
        largest = above
    return values.total * inverse_or_zero(weights.total)


def entry(kv, score, ape, slot, plan, k, d, D, ratio, overlap, S):
    """Return (g, v) of entry ``k``; v is 0 where g is −∞, whatever it is in memory."""
    K = ratio * (1 + overlap)
    position = plan.pos - (K - 1) + k
    column = dt.Int64(d)
    if overlap:
        column = column + dt.where(k >= ratio, dt.Int64(D), dt.Int64(0))
    from_ring = (k < plan.wl) & (position >= 0)
    from_input = (k >= plan.wl) & (k < K)
    g, v = dt.Float32(-math.inf), dt.Float32(0.0)
    if from_ring:
        place = dt.Int64(position % S)
        g = score.state[slot * score.slot_stride + place * score.pos_stride + column]
        v = kv.state[slot * kv.slot_stride + place * kv.pos_stride + column]
    raw_g, raw_v, bias = dt.BFloat16(0.0), dt.BFloat16(0.0), dt.Float32(0.0)
    if from_input:
        row = dt.Int64(max(plan.r - (K - 1) + k, 0))
        raw_g = score.entries[row * score.row_stride + column]
        raw_v = kv.entries[row * kv.row_stride + column]
        bias = ape[dt.Int64(k % ratio) * (D * (1 + overlap)) + column]
    g = dt.where(from_input, dt.Float32(raw_g) + bias, g)
    v = dt.where(from_input, dt.Float32(raw_v), v)
    return g, dt.where(g == -math.inf, 0.0, v)


def reference(kv_in, score_in, plan, kv_state, score_state, state_slot_mapping, ape, D, ratio, overlap, S):
    """Return z [plan rows, D] in float64; rows with pos < 0 are 0.  Arrays of any strides."""
    K = ratio * (1 + overlap)
    z = np.zeros((len(plan), D))
    for number, (r, b, pos, wl) in enumerate(np.asarray(plan).tolist()):
        if pos < 0:
            continue
        g, v = np.full((K, D), -np.inf), np.zeros((K, D))
        for k in range(K):
            columns = slice(D, 2 * D) if overlap and k >= ratio else slice(0, D)
            s = pos - K + 1 + k
            if k >= wl:
                i = max(r - K + 1 + k, 0)
                v[k] = np.asarray(kv_in[i, columns], np.float64)
                g[k] = np.asarray(score_in[i, columns], np.float64) + ape[k % ratio, columns]
            elif s >= 0:
                v[k] = kv_state[state_slot_mapping[b], s % S, columns]
                g[k] = score_state[state_slot_mapping[b], s % S, columns]
        z[number] = _softmax_sum(g, v)
    return z


def _softmax_sum(g, v):
    v = np.where(g == -np.inf, 0.0, v)
    largest = g.max(axis=0)
    weights = np.exp(g - np.where(largest == -np.inf, 0.0, largest))
    total = weights.sum(axis=0)
    return (weights * v).sum(axis=0) / np.where(total == 0, 1.0, total)
