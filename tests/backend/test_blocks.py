"""Threads of a block together: barriers, shared memory, shuffles, votes, atomics."""

from __future__ import annotations

import numpy as np
import pytest

import darter as dt


@dt.kernel
def row_sum_kernel(x, out, n, BLOCK: dt.Constexpr[int]):
    t = dt.thread_idx.x
    partial = dt.shared(dt.f32, BLOCK)
    total = dt.Float32(0.0)
    for i in range(t, n, BLOCK):
        total += x[dt.block_idx.x, i]
    partial[t] = total
    dt.barrier()
    for step in dt.static_range(1, 8):
        if t < BLOCK >> step:
            partial[t] = partial[t] + partial[t + (BLOCK >> step)]
        dt.barrier()
    if t == 0:
        out[dt.block_idx.x] = partial[0] + partial[1]


@dt.jit
def row_sum(x: dt.Tensor["rows", "columns"], out: dt.Tensor["rows"]):
    row_sum_kernel(x, out, x.shape[1], 256).launch(grid=x.shape[0], block=256)


def test_reduction_through_shared_memory(machine):
    x = np.arange(4 * 1000, dtype=np.float32).reshape(4, 1000) % 17
    out = machine.put(np.zeros(4, np.float32))
    row_sum(machine.put(x), out)
    np.testing.assert_array_equal(machine.take(out), x.sum(axis=1))


@dt.kernel
def reverse_kernel(x, n):
    s = dt.dynamic_shared(dt.f32)
    t = dt.thread_idx.x
    s[t] = x[t]
    dt.barrier()
    x[t] = s[n - 1 - t]


@dt.jit
def reverse(x, shared: dt.Int32):
    reverse_kernel(x, x.shape[0]).launch(grid=1, block=128, shared=shared)


@pytest.mark.parametrize("shared", [512, 96 * 1024])
def test_dynamic_shared_memory(machine, shared):
    x = np.arange(128, dtype=np.float32)
    argument = machine.put(x.copy())
    reverse(argument, shared)
    np.testing.assert_array_equal(machine.take(argument), x[::-1])


@dt.kernel
def shuffles_kernel(x, out):
    t = dt.thread_idx.x
    v = x[t]
    out[0, t] = dt.shuffle_xor(v, 5)
    out[1, t] = dt.shuffle_up(v, 3)
    out[2, t] = dt.shuffle_down(v, 7)
    out[3, t] = dt.shuffle_idx(v, 9)


@dt.jit
def shuffles(x, out):
    shuffles_kernel(x, out).launch(grid=1, block=64)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.float16, np.int8])
def test_shuffles(machine, dtype):
    x = np.arange(64).astype(dtype)
    out = machine.put(np.zeros((4, 64), dtype))
    shuffles(machine.put(x), out)
    lane, base = np.arange(64) % 32, np.arange(64) // 32 * 32
    expected = [
        base + (lane ^ 5),
        base + np.where(lane >= 3, lane - 3, lane),
        base + np.where(lane + 7 < 32, lane + 7, lane),
        base + 9,
    ]
    np.testing.assert_array_equal(machine.take(out), x[np.array(expected)])


@dt.kernel
def votes_kernel(x, out):
    t = dt.thread_idx.x
    holds = x[t] > 3
    bits = dt.ballot(holds)
    some, every = dt.vote_any(holds), dt.vote_all(holds)
    if t % 32 == 0:
        out[t // 32, 0] = dt.Int64(bits)
        out[t // 32, 1] = dt.Int64(some)
        out[t // 32, 2] = dt.Int64(every)


@dt.jit
def votes(x, out):
    votes_kernel(x, out).launch(grid=1, block=96)


def test_votes(machine):
    x = np.zeros(96, np.int32)
    x[[5, 31]] = 9
    x[64:] = 4
    out = machine.put(np.zeros((3, 3), np.int64))
    votes(machine.put(x), out)
    np.testing.assert_array_equal(machine.take(out), [[1 << 31 | 1 << 5, 1, 0], [0, 0, 0], [0xFFFFFFFF, 1, 1]])


@dt.kernel
def atomics_kernel(x, out, n):
    i = dt.block_idx.x * 64 + dt.thread_idx.x
    if i < n:
        dt.atomic_add(out, 0, x[i])
        dt.atomic_max(out, 1, x[i])
        dt.atomic_min(out, 2, x[i], order="acq_rel")


@dt.jit
def atomics(x, out):
    atomics_kernel(x, out, x.shape[0]).launch(grid=dt.cdiv(x.shape[0], 64), block=64)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.float32, np.float64])
def test_atomics(machine, dtype):
    x = (np.arange(1000) % 50 + 1).astype(dtype)
    out = machine.put(np.array([0, 0, 100], dtype))
    atomics(machine.put(x), out)
    np.testing.assert_array_equal(machine.take(out), [x.sum(), 50, 1])


@dt.kernel
def vector_kernel(x, out, n, W: dt.Constexpr[int]):
    i = (dt.block_idx.x * 32 + dt.thread_idx.x) * W
    if i < n:
        out.store(i, x.load(i, width=W))


@dt.jit
def vector_copy(x: dt.Tensor["n"], out: dt.Tensor["n"], W: dt.Constexpr[int]):
    vector_kernel(x, out, x.shape[0], W).launch(grid=dt.cdiv(x.shape[0], 32 * W), block=32)


@pytest.mark.parametrize(("dtype", "width"), [(np.float32, 4), (np.float16, 8), (np.int8, 16), (np.float64, 2)])
def test_wide_loads_and_stores(machine, dtype, width):
    x = np.arange(width * 100).astype(dtype)
    out = machine.put(np.zeros(x.size, dtype))
    vector_copy(machine.put(x), out, width)
    np.testing.assert_array_equal(machine.take(out), x)


@dt.kernel
def rotate_kernel(x, BLOCK: dt.Constexpr[int]):
    t = dt.thread_idx.x
    room = dt.shared(dt.f32, BLOCK * 8)
    room[t * 8] = x[t]
    dt.barrier()
    x[t] = room[(t + 1) % BLOCK * 8]


@dt.jit
def rotate_twice(x, y):
    rotate_kernel(x, 32).launch(grid=1, block=32)
    rotate_kernel(y, 512).launch(grid=1, block=512)


def test_one_kernel_in_two_shapes_has_shared_memory_for_each(machine):
    x, y = np.arange(32, dtype=np.float32), np.arange(512, dtype=np.float32)
    arguments = [machine.put(x.copy()), machine.put(y.copy())]
    rotate_twice(*arguments)
    np.testing.assert_array_equal(machine.take(arguments[0]), np.roll(x, -1))
    np.testing.assert_array_equal(machine.take(arguments[1]), np.roll(y, -1))
