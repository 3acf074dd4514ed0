"""Shared memory, vector accesses, gather and scatter, on each backend."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import darter as dt
from tests.backend.single_kernel import N, result

pytestmark = pytest.mark.usefixtures("backend")


@dt.kernel
def reverse(x: dt.Tensor, out: dt.Tensor):
    tile = dt.shared(dt.f32, (2, N // 2))
    i = dt.thread_idx.x
    tile[i // 64, i % 64] = x[i]
    dt.barrier()
    last = dt.block_dim.x - 1 - i
    out[i] = tile[last // 64, last % 64]


@dt.kernel
def running_sum(x: dt.Tensor, out: dt.Tensor):
    sums = dt.dynamic_shared(dt.f32)
    i = dt.thread_idx.x
    sums[i] = x[i]
    step = 1
    while step < x.shape[0]:  # the same for the whole block, so barriers may stand in it
        dt.barrier()
        below = sums[i - step] if i >= step else 0.0
        dt.barrier()
        sums[i] = sums[i] + below
        step *= 2
    out[i] = sums[i]


@dt.kernel
def doubled_by_eights(x: dt.Tensor, out: dt.Tensor):
    i = dt.thread_idx.x * 8
    if i < x.shape[0]:
        values = x.load(i, width=8)
        for j in dt.static_range(8):
            values[j] = values[j] * 2
        out.store(i, values)


@dt.kernel
def permuted(x: dt.Tensor, out: dt.Tensor):
    i = dt.thread_idx.x
    at = dt.i32(x[i])
    out[at] = dt.f32(x[at])


def test_static_shared_memory() -> None:
    x = np.arange(N, dtype=np.float32)
    np.testing.assert_array_equal(result(reverse, x, np.zeros_like(x)), x[::-1])


def test_dynamic_shared_memory_and_barriers_in_a_uniform_loop() -> None:
    x = np.arange(N, dtype=np.float32)
    np.testing.assert_array_equal(result(running_sum, x, np.zeros_like(x), shared=4 * N), np.cumsum(x))


@pytest.mark.parametrize("kind", [ml_dtypes.bfloat16, np.float32, np.int8])
@pytest.mark.parametrize("start", [0, 1])
def test_vector_loads_and_stores_of_aligned_and_other_memory(kind: Any, start: int) -> None:
    x = (np.arange(N + 1) % 60).astype(kind)[start : start + N - 8]
    out = np.zeros(N, kind)
    result(doubled_by_eights, x, out)
    np.testing.assert_array_equal(out, np.concatenate([x + x, np.zeros(8, kind)]))


def test_gather_and_scatter() -> None:
    x = np.random.default_rng(0).permutation(N).astype(np.float32)
    np.testing.assert_array_equal(result(permuted, x, np.zeros_like(x)), x)
