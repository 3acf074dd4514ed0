"""Rotary embedding of the last channels of a row: neighbours (e, o) become (e·c − o·s, e·s + o·c)."""

import numpy as np

import darter as dt


def angles(cos, sin, position, j, RD):
    """Return the cosine and sine of pair ``j`` at a position: Float32, from bf16 tables of RD/2 columns."""
    place = dt.Int64(position) * (RD // 2) + j
    return dt.Float32(cos[place]), dt.Float32(sin[place])


def rotated(own, other, channel, first, cos, sin, position, RD):
    """Return a channel's value after rotation; ``other`` is its neighbour's, ``first`` the first channel rotated."""
    c, s = angles(cos, sin, position, (channel - first) // 2, RD)
    return own * c + dt.where((channel - first) % 2 == 0, -s, s) * other


def rotate_pairs(values, channel, first, cos, sin, position, RD):
    """Rotate a register array of whole pairs that begins at ``channel``, in place."""
    for i in dt.static_range(0, len(values), 2):
        c, s = angles(cos, sin, position, (channel - first) // 2 + i // 2, RD)
        e, o = values[i], values[i + 1]
        values[i] = e * c - o * s
        values[i + 1] = e * s + o * c


def reference(y, cos, sin, positions):
    """Return the rows of ``y``, [..., D], rotated in float64; positions [...] index the tables [max_pos, RD/2]."""
    y = np.array(y, np.float64)
    half = cos.shape[-1]
    if half:
        c, s = (np.asarray(table[positions], np.float64) for table in (cos, sin))
        first = y.shape[-1] - 2 * half
        e, o = y[..., first::2].copy(), y[..., first + 1 :: 2].copy()
        y[..., first::2], y[..., first + 1 :: 2] = e * c - o * s, e * s + o * c
    return y
