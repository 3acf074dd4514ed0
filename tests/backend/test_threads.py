"""Threads together: shuffles, votes, reductions, atomics, on each backend."""

from __future__ import annotations

import numpy as np
import pytest

import darter as dt
from tests.backend.single_kernel import BLOCK, N, result

pytestmark = pytest.mark.usefixtures("backend")


@dt.kernel
def warp_operations(x: dt.Tensor, out: dt.Tensor):
    i = dt.thread_idx.x
    v = x[i]
    out[0, i] = dt.shuffle_xor(v, 1)
    out[1, i] = dt.shuffle_up(v, 1)
    out[2, i] = dt.shuffle_down(v, 1)
    out[3, i] = dt.shuffle_idx(v, 3)
    out[4, i] = dt.i32(dt.vote_any(v == 5))
    out[5, i] = dt.i32(dt.vote_all(v < 32))
    out[6, i] = dt.i32(dt.ballot(v % 2 == 0) & 0xFF)


@dt.kernel
def reductions(x: dt.Tensor, out: dt.Tensor):
    i = dt.thread_idx.x
    v = x[i]
    out[0, i] = dt.warp_sum(v)
    out[1, i] = dt.warp_max(v)
    out[2, i] = dt.block_sum(v)
    out[3, i] = dt.block_min(v)
    out[4, i] = dt.warp_scan(v)
    out[5, i] = dt.warp_scan_exclusive(v)
    out[6, i] = dt.block_scan(v)
    out[7, i] = dt.block_scan_exclusive(v)
    out[8, i] = dt.i32(dt.block_any(v == 200))
    out[9, i] = dt.i32(dt.block_all(v >= 0))


def test_shuffles_and_votes() -> None:
    x = np.arange(N, dtype=np.int32)
    out = result(warp_operations, x, np.zeros((7, N), np.int32))
    warps = x.reshape(-1, 32)
    expected = [
        warps ^ 1,
        np.concatenate([warps[:, :1], warps[:, :-1]], 1),
        np.concatenate([warps[:, 1:], warps[:, -1:]], 1),
        np.repeat(warps[:, 3:4], 32, 1),
        np.repeat((warps == 5).any(1, keepdims=True), 32, 1),
        np.repeat((warps < 32).all(1, keepdims=True), 32, 1),
        np.full_like(warps, 0x55),
    ]
    np.testing.assert_array_equal(out, [each.ravel() for each in expected])


def test_reductions_and_scans_of_the_device_library() -> None:
    x = np.random.default_rng(0).integers(0, 100, N).astype(np.int32)
    out = result(reductions, x, np.zeros((10, N), np.int32))
    warps, ones = x.reshape(-1, 32), np.ones(N, np.int32)
    inclusive = np.cumsum(warps, 1)
    expected = [
        np.repeat(warps.sum(1), 32), np.repeat(warps.max(1), 32), x.sum() * ones, x.min() * ones,
        inclusive.ravel(), (inclusive - warps).ravel(), np.cumsum(x), np.cumsum(x) - x, 0 * ones, ones,
    ]  # fmt: skip
    np.testing.assert_array_equal(out, expected)


@dt.kernel
def counted(x: dt.Tensor, out: dt.Tensor):
    v = x[dt.block_idx.x * dt.block_dim.x + dt.thread_idx.x]
    dt.atomic_add(out, v, 1)
    dt.atomic_max(out, 16, v, order="acq_rel", scope="device")
    dt.atomic_min(out, 17, v, order="release", scope="system")
    if dt.atomic_cas(out, 18, 0, 7, order="acquire", scope="device") == 0:
        dt.atomic_add(out, 19, 1)
    inside = dt.shared(dt.i32, 1)
    if dt.thread_idx.x == 0:
        inside[0] = 0
    dt.barrier()
    dt.atomic_add(inside, 0, v, scope="block")
    dt.barrier()
    if dt.thread_idx.x == 0:
        dt.atomic_add(out, 20, inside[0])


def test_atomics_with_order_and_scope() -> None:
    x = np.random.default_rng(0).integers(0, 16, 4 * BLOCK).astype(np.int32)
    out = np.zeros(21, np.int32)
    out[17] = 99
    result(counted, x, out, grid=4, block=BLOCK)
    expected = [*np.bincount(x, minlength=16), x.max(), x.min(), 7, 1, x.sum()]
    np.testing.assert_array_equal(out, expected)
