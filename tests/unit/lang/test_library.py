"""The device library in the reference interpreter: full and partial warps, several warps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import darter.lang as dt
from darter.dtypes import Float32, Int32, Int64
from darter.errors import StaticEvaluationError
from darter.lang.kernel_function import KernelFunction as kernel
from darter.lang.library.reductions import (
    block_all,
    block_any,
    block_max,
    block_min,
    block_reduce,
    block_sum,
    group_reduce,
    warp_reduce,
    warp_sum,
)
from darter.lang.library.rows import (
    Sum,
    added,
    group_scale,
    reciprocal_rms,
    rms_norm_row,
    scaled,
    softmax_row,
    sum_of_none,
)
from darter.lang.library.scans import block_scan, block_scan_exclusive, warp_scan, warp_scan_exclusive
from darter.lang.library.tiles import each, fold, row_plan
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


ROWS = (1, 5, 64, 100, 1000, 4100)


@pytest.mark.parametrize("target", [harness.TARGET, harness.GPU], ids=["cpu", "gpu"])
@pytest.mark.parametrize("n", ROWS)
def test_softmax_of_rows(n, target):
    def launch(x, out):
        plan = row_plan(n, 4)
        k(x, out).launch(grid=dt.cdiv(3, plan.rows), block=(plan.threads, plan.rows), shared=plan.shared_bytes)

    @kernel
    def k(x, out):
        plan = row_plan(n, 4)
        row = dt.block_idx.x * plan.rows + dt.thread_idx.y
        if row < 3:
            softmax_row(x.data_ptr(), out.data_ptr(), row * n, plan)

    x = np.linspace(-30, 30, 3 * n, dtype=np.float32).reshape(3, n)
    x[1, : n // 2], x[2] = -np.inf, -np.inf
    out = np.full((4, n), 7, np.float32)
    run(launch, x, out, target=target)
    exact = np.exp(x[:2].astype(np.float64) - x[:2].max(axis=1, keepdims=True))
    np.testing.assert_allclose(out[:2], exact / exact.sum(axis=1, keepdims=True), rtol=1e-5)
    assert (out[2] == 0).all()
    assert (out[3] == 7).all()


@pytest.mark.parametrize("target", [harness.TARGET, harness.GPU], ids=["cpu", "gpu"])
@pytest.mark.parametrize("n", ROWS)
def test_rms_norm_of_a_row(n, target):
    def launch(x, w, out):
        plan = row_plan(n, 4)
        k(x, w, out).launch(grid=1, block=(plan.threads, plan.rows), shared=plan.shared_bytes)

    @kernel
    def k(x, w, out):
        if dt.thread_idx.y == 0:
            rms_norm_row(x.data_ptr(), w.data_ptr(), out.data_ptr(), 0, row_plan(n, 4))

    x, w = np.linspace(-3, 2, n, dtype=np.float32), np.linspace(1, 2, n, dtype=np.float32)
    out = np.zeros(n, np.float32)
    run(launch, x, w, out, target=target)
    np.testing.assert_allclose(out, x / np.sqrt(np.mean(x.astype(np.float64) ** 2) + 1e-6) * w, rtol=1e-5)


@pytest.mark.parametrize(
    ("n", "item_bytes", "expected"),
    [
        (1024, 4, (1024, 4, 32, 4, 8, 0)),
        (1002, 2, (1002, 2, 32, 4, 16, 0)),
        (8192, 2, (8192, 8, 256, 1, 4, 0)),
        (1 << 15, 2, (1 << 15, 8, 512, 1, 8, 65536)),
        (1 << 15, 4, (1 << 15, 4, 1024, 1, 8, 0)),
        (1 << 16, 4, (1 << 16, 4, 1024, 1, 0, 0)),
    ],
)
def test_plans_of_rows(n, item_bytes, expected):
    @kernel
    def k(out):
        for i, part in enumerate(row_plan(n, item_bytes)):
            out[i] = part

    out = np.zeros(6, np.int64)
    run(launcher(k, block=1), out, target=harness.GPU)
    assert tuple(out) == expected
    run(launcher(k, block=1), out)
    assert tuple(out) == (n, 1, 32, 1, 0, 0)


def test_group_reduction_stays_in_its_group():
    @kernel
    def k(x, out):
        t = dt.thread_idx.x
        out[t, 0] = group_reduce(x[t], dt.max, 4)
        out[t, 1] = group_reduce(x[t], dt.max, 64)

    x, out = (np.arange(64, dtype=np.float32) * 37) % 64, np.zeros((64, 2), np.float32)
    run(launcher(k, block=64), x, out)
    np.testing.assert_array_equal(out[:, 0], np.repeat(x.reshape(-1, 4).max(axis=1), 4))
    assert (out[:, 1] == 63).all()


@pytest.mark.parametrize("n", [1, 31, 32, 33, 64, 100])
def test_fold_meets_each_index_once(n):
    @kernel
    def k(out, sums):
        def visit(i, total):
            out[i] = out[i] + 1
            return total + i

        sums[dt.thread_idx.x] = fold(n, Int64(0), visit)
        each(n, lambda i: out.store(i + n, out[i]))

    out, sums = np.zeros(2 * n + 1, np.int32), np.zeros(32, np.int64)
    run(launcher(k), out, sums)
    assert out.tolist() == [1] * (2 * n) + [0]
    assert sums.tolist() == [sum(range(lane, n, 32)) for lane in range(32)]


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


def test_a_compensated_sum_keeps_its_digits_and_infinities():
    @kernel
    def k(x, out):
        total, infinite = sum_of_none(), Sum(Float32(1.0), Float32(0.0))
        for _ in range(10000):
            total = added(total, x[0])
            infinite = added(infinite, x[1])
        out[0], out[1], out[2] = total.total, infinite.total, scaled(total, 2.0).total

    out = np.zeros(3, np.float32)
    run(launcher(k, block=1), np.array([0.3, np.inf], np.float32), out)
    exact = 10000 * float(np.float32(0.3))
    np.testing.assert_allclose(out, [exact, np.inf, 2 * exact], rtol=6e-8)


class Normaliser(NamedTuple):
    largest: Any
    total: Any


def joined(a, b):
    largest = dt.max(a.largest, b.largest)
    return Normaliser(largest, a.total * dt.exp(a.largest - largest) + b.total * dt.exp(b.largest - largest))


def first_largest(a, b):
    return dt.where((a[0] > b[0]) | ((a[0] == b[0]) & (a[1] < b[1])), a, b)


@pytest.mark.parametrize("block", BLOCKS)
def test_tuples_are_reduced_and_scanned_whole(block):
    @kernel
    def k(x, out):
        t = _linear()
        mine = (x[t], Int32(t))
        out[t, 0] = block_reduce(mine, first_largest)[1]
        out[t, 1] = block_scan(mine, first_largest)[1]
        out[t, 2] = block_scan_exclusive(mine, first_largest, (Float32(-9), -1))[1]
        out[t, 3] = warp_reduce(mine, first_largest)[1]

    threads = _threads(block)
    x = np.random.default_rng(threads).integers(0, 6, threads).astype(np.float32)
    out = np.zeros((threads, 4), np.int32)
    run(launcher(k, block=block), x, out)
    for t in range(threads):
        warp = t // 32 * 32
        before = int(x[:t].argmax()) if t else -1
        assert out[t].tolist() == [x.argmax(), x[: t + 1].argmax(), before, warp + x[warp : warp + 32].argmax()]


@pytest.mark.parametrize("block", BLOCKS)
def test_structs_are_reduced_whole(block):
    @kernel
    def k(x, out):
        t = _linear()
        all_of_them = block_reduce(Normaliser(x[t], Float32(1)), joined)
        out[t] = dt.exp(x[t] - all_of_them.largest) / all_of_them.total

    x = np.random.default_rng(0).normal(0, 3, _threads(block)).astype(np.float32)
    out = np.zeros_like(x)
    run(launcher(k, block=block), x, out)
    exact = np.exp(x.astype(np.float64) - x.max())
    np.testing.assert_allclose(out, exact / exact.sum(), rtol=1e-5)


@pytest.mark.parametrize(("threads", "block"), [(3, 96), (0, 32), (64, 128), (16, 40)])
def test_groups_that_warps_do_not_hold_are_refused(threads, block):
    @kernel
    def k(x, out):
        out[dt.thread_idx.x] = group_reduce(x[dt.thread_idx.x], dt.max, threads)

    x = np.zeros(block, np.float32)
    with pytest.raises(StaticEvaluationError, match=f"groups of {threads} threads in a block of {block}"):
        run(launcher(k, block=block), x, x)
