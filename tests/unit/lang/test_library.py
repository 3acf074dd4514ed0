"""The device library in the reference interpreter: full and partial warps, several warps."""

from __future__ import annotations

import numpy as np
import pytest

import darter.lang as dt
from darter.dtypes import Float32, Int32
from darter.lang.kernel_function import KernelFunction as kernel
from darter.lang.library.reductions import block_all, block_any, block_max, block_min, block_sum, warp_sum
from darter.lang.library.rows import group_scale, reciprocal_rms, softmax_row
from darter.lang.library.scans import block_scan, block_scan_exclusive, warp_scan, warp_scan_exclusive
from tests.unit.frontend import harness

run, launcher = harness.run, harness.launcher
BLOCKS = (32, 128, (16, 8), 40, 20)


def _threads(block):
    return int(np.prod(block))


def _linear():
    return dt.thread_idx.x + dt.block_dim.x * dt.thread_idx.y


@pytest.mark.parametrize("block", BLOCKS)
def test_block_reductions(block):
    @kernel
    def k(x, out):
        t = _linear()
        out[t, 0] = block_sum(x[t])
        out[t, 1] = block_max(x[t])
        out[t, 2] = block_min(x[t])
        out[t, 3] = Float32(block_any(x[t] > 18)) + 2 * Float32(block_all(x[t] < 18))

    n = _threads(block)
    x, out = np.arange(n, dtype=np.float32) - 3, np.zeros((n, 4), np.float32)
    run(launcher(k, block=block), x, out)
    expected = [x.sum(), x.max(), x.min(), (x > 18).any() + 2 * (x < 18).all()]
    np.testing.assert_array_equal(out, np.tile(np.array(expected, np.float32), (n, 1)))


@pytest.mark.parametrize("block", BLOCKS)
def test_scans(block):
    @kernel
    def k(x, out):
        t = _linear()
        out[t, 0] = block_scan(x[t])
        out[t, 1] = block_scan_exclusive(x[t])
        out[t, 2] = block_scan_exclusive(x[t], dt.max, -100)
        out[t, 3] = warp_scan(x[t])
        out[t, 4] = warp_scan_exclusive(x[t])
        out[t, 5] = warp_sum(x[t])

    n = _threads(block)
    x, out = (np.arange(n, dtype=np.int32) * 7) % 13, np.zeros((n, 6), np.int32)
    run(launcher(k, block=block), x, out)
    inclusive = np.cumsum(x)
    np.testing.assert_array_equal(out[:, 0], inclusive)
    np.testing.assert_array_equal(out[:, 1], inclusive - x)
    np.testing.assert_array_equal(out[:, 2], np.concatenate([[-100], np.maximum.accumulate(x)[:-1]]))
    for start in range(0, n, 32):
        part, rows = x[start : start + 32], slice(start, start + 32)
        np.testing.assert_array_equal(out[rows, 3], np.cumsum(part))
        np.testing.assert_array_equal(out[rows, 4], np.cumsum(part) - part)
        np.testing.assert_array_equal(out[rows, 5], part.sum())


@pytest.mark.parametrize("n", [5, 64, 100])
def test_softmax_of_a_row(n):
    @kernel
    def k(x, out):
        def write(i, p):
            out[i] = p

        softmax_row(lambda i: x[i], write, x.shape[0])

    x = np.linspace(-30, 30, n, dtype=np.float32)
    x[1] = -np.inf
    out = np.zeros(n, np.float32)
    run(launcher(k, block=64), x, out)
    exact = np.exp(x.astype(np.float64) - x.max())
    np.testing.assert_allclose(out, exact / exact.sum(), rtol=1e-5)
    assert out[1] == 0


def test_rms_and_group_scales():
    @kernel
    def k(x, out):
        t = dt.thread_idx.x
        out[t, 0] = reciprocal_rms(x[t] * x[t], 64)
        out[t, 1] = group_scale(block_max(dt.abs(x[t])), 448.0, 1e-4)
        out[t, 2] = group_scale(block_max(dt.abs(x[t])), 448.0, 1e-4, power_of_two=True)
        out[t, 3] = group_scale(Float32(448.0 * 0.25), 448.0, 1e-4, power_of_two=True)
        out[t, 4] = Float32(block_max(Int32(t)))

    x, out = np.linspace(-3, 2, 64, dtype=np.float32), np.zeros((64, 5), np.float32)
    run(launcher(k, block=64), x, out)
    np.testing.assert_allclose(out[:, 0], 1 / np.sqrt(np.mean(x.astype(np.float64) ** 2) + 1e-6), rtol=1e-5)
    np.testing.assert_allclose(out[:, 1], 3 / 448, rtol=1e-6)
    np.testing.assert_array_equal(out[:, 2], np.float32(2.0**-7))
    np.testing.assert_array_equal(out[:, 3], np.float32(0.25))
    assert (out[:, 4] == 63).all()
