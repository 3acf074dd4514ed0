"""Conditions, loops and early exits, against plain numpy."""

from __future__ import annotations

import numpy as np
import pytest

import darter.lang as dt
from darter.dtypes import Float32, Int32, Int64
from darter.errors import KernelNameError, KernelTypeError
from darter.lang.kernel_function import KernelFunction as kernel
from darter.lang.library.reductions import block_sum, warp_sum
from tests.unit.frontend import harness

run, launcher = harness.run, harness.launcher


def _x(n=40):
    return np.linspace(-3, 5, n).astype(np.float32)


def test_an_early_return_masks_what_follows():
    @kernel
    def k(x, out):
        i = dt.thread_idx.x
        if i >= x.shape[0]:
            return
        if x[i] < 0:
            out[i] = -1.0
            return
        out[i] = x[i] * 2

    x, out = _x(20), np.full(20, 9, np.float32)
    run(launcher(k), x, out)
    np.testing.assert_array_equal(out, np.where(x < 0, np.float32(-1), x * 2))


def test_names_bound_on_both_sides_merge_and_weak_numbers_take_the_other_type():
    @kernel
    def k(x, out):
        i = dt.thread_idx.x
        if x[i] > 0:
            v = x[i]
            w = 1
        else:
            v = 0
            w = 2
        out[i] = v + w

    x, out = _x(32), np.zeros(32, np.float32)
    run(launcher(k), x, out)
    np.testing.assert_array_equal(out, np.where(x > 0, x + 1, np.float32(2)))


def test_a_range_loop_carries_a_python_number_as_the_type_that_it_meets():
    @kernel
    def k(x, out):
        total = 0
        for i in range(x.shape[0]):
            total += x[i]
        out[dt.thread_idx.x] = total

    x, out = _x(), np.zeros(32, np.float32)
    run(launcher(k), x, out)
    expected = np.float32(0)
    for v in x:
        expected += v
    np.testing.assert_array_equal(out, expected)


def test_break_and_continue_in_a_range_loop():
    @kernel
    def k(x, out):
        t = dt.thread_idx.x
        count = 0
        total = Float32(0)
        for i in range(0, x.shape[0], 2):
            if x[i] < 0:
                continue
            if count > t:
                break
            total = total + x[i]
            count = count + 1
        out[t] = total + Float32(count)

    x, out = _x(), np.zeros(32, np.float32)
    run(launcher(k), x, out)
    for t in range(32):
        count, total = 0, np.float32(0)
        for i in range(0, 40, 2):
            if x[i] < 0:
                continue
            if count > t:
                break
            total, count = total + x[i], count + 1
        assert out[t] == total + np.float32(count)


def test_a_while_loop_with_a_return_inside_a_helper():
    def first_above(x, limit):
        i = 0
        while i < x.shape[0]:
            if x[i] > limit:
                return Int32(i)
            i += 1
        return Int32(-1)

    @kernel
    def k(x, out):
        t = dt.thread_idx.x
        out[t] = first_above(x, Float32(t) - 3)

    x, out = _x(), np.zeros(32, np.int32)
    run(launcher(k), x, out)
    for t in range(32):
        above = np.nonzero(x > t - 3)[0]
        assert out[t] == (above[0] if len(above) else -1)


def test_while_true_with_break():
    @kernel
    def k(x, out):
        n = Int64(dt.thread_idx.x) + 1
        steps = 0
        while True:
            if n == 1:
                break
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        out[dt.thread_idx.x] = Int32(steps)

    x, out = _x(), np.zeros(32, np.int32)
    run(launcher(k), x, out)
    for t in range(32):
        n, steps = t + 1, 0
        while n != 1:
            n, steps = n // 2 if n % 2 == 0 else 3 * n + 1, steps + 1
        assert out[t] == steps


def test_static_loops_unroll_and_runtime_breaks_guard_the_rest():
    @kernel
    def k(x, out):
        t = dt.thread_idx.x
        total = Float32(0)
        for j in dt.static_range(4):
            if x[t] > j:
                break
            total += j + 1
        out[t] = total

    x, out = _x(32), np.zeros(32, np.float32)
    run(launcher(k), x, out)
    for t in range(32):
        total = 0.0
        for j in range(4):
            if x[t] > j:
                break
            total += j + 1
        assert out[t] == total


def test_register_arrays_are_carried_and_merged():
    @kernel
    def k(x, out):
        t = dt.thread_idx.x
        acc = dt.array(Float32, 4, 0.0)
        for i in range(8):
            for j in dt.static_range(4):
                if x[i] > j:
                    acc[j] += x[i] + t
        if t > 3:
            acc[0] = 1.0
        out[t] = acc[0] + acc[1] + acc[2] + acc[3]

    x, out = _x(32), np.zeros(32, np.float32)
    x[:8] = np.arange(8)
    run(launcher(k), x, out)
    for t in range(32):
        acc = [sum(x[i] + t for i in range(8) if x[i] > j) for j in range(4)]
        if t > 3:
            acc[0] = 1.0
        assert out[t] == np.float32(sum(acc))


def test_nested_loops_lists_and_structs_are_carried():
    @kernel
    def k(x, out):
        t = dt.thread_idx.x
        pair = (0, Float32(1))
        acc = [Float32(0), Float32(0)]
        for i in range(3):
            for _ in range(t):
                pair = (pair[0] + 1, pair[1] * 1.5)
                acc = [a + v for a, v in zip(acc, (x[i], 1.0), strict=True)]
        out[t] = pair[0] + pair[1] + acc[0] + acc[1]

    x, out = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    run(launcher(k, block=8), x, out)
    for t in range(8):
        p1 = np.float32(1)
        a0 = np.float32(0)
        for i in range(3):
            for _ in range(t):
                p1 *= np.float32(1.5)
                a0 += x[i]
        assert out[t] == np.float32(3 * t) + p1 + a0 + np.float32(3 * t)


def test_a_return_inside_a_runtime_loop_of_the_kernel():
    @kernel
    def k(x, out):
        t = dt.thread_idx.x
        for i in range(x.shape[0]):
            if i > t:
                return
            out[t] = x[i]

    x, out = _x(32), np.zeros(32, np.float32)
    run(launcher(k), x, out)
    np.testing.assert_array_equal(out, x)


def test_lazy_operators_mask_loads():
    @kernel
    def k(x, out):
        t = dt.thread_idx.x
        inside = t < x.shape[0] and x[t] > 0
        out[t] = (x[t] if inside else 7.0) + (0 if t > 0 or x[t] > 9 else 1)

    x, out = _x(16), np.zeros(32, np.float32)
    run(launcher(k), x, out)
    expected = np.full(32, 7, np.float32)
    expected[:16] = np.where(x > 0, x, 7)
    expected[0] += 1
    np.testing.assert_array_equal(out, expected)


def test_a_negative_and_a_runtime_step():
    @kernel
    def k(x, out):
        t = dt.thread_idx.x
        total = 0
        for i in range(t, -1, -1):
            total += i
        for i in range(t, -1, -(t % 3) - 1):
            if i == 2:
                break
            total += 100 * i
        out[t] = total

    x, out = _x(32), np.zeros(32, np.int32)
    run(launcher(k), x, out)
    for t in range(32):
        total = sum(range(t + 1))
        for i in range(t, -1, -(t % 3) - 1):
            if i == 2:
                break
            total += 100 * i
        assert out[t] == total


def test_a_name_that_a_loop_assigns_anew_may_have_another_type_there():
    @kernel
    def k(x, out):
        t = dt.thread_idx.x
        v = x[t]
        label, total = "before", v
        for i in range(3):
            for v, label in ((i, "a"), (i + 1, "b")):
                if x[t] > 2:
                    break
                total += Float32(v) if label == "b" else x[v]
            v = Int32(0)
            while v < t % 3:
                v += 1
            total += Float32(v)
        out[t] = total

    x, out = _x(32), np.zeros(32, np.float32)
    run(launcher(k), x, out)
    turned = [0 if x[t] > 2 else x[0] + 1 + x[1] + 2 + x[2] + 3 for t in range(32)]
    np.testing.assert_allclose(out, [x[t] + turned[t] + 3 * (t % 3) for t in range(32)], rtol=1e-5)


def _read_before_it_is_assigned(x, t, v):
    for i in range(3):
        x[t] = Float32(v)
        v = (i, v)


def _read_after_the_loop(x, t, v):
    for i in range(3):
        v = (i, i)
    x[t] = Float32(v)


def _assigned_on_one_path(x, t, v):
    for i in range(3):
        if x[i] > 0:
            v = (i, i)
        x[t] = Float32(v)


@pytest.mark.parametrize("body", [_read_before_it_is_assigned, _read_after_the_loop, _assigned_on_one_path])
def test_a_name_that_a_loop_cannot_carry_is_refused_where_it_is_read(body):
    @kernel
    def k(x):
        body(x, dt.thread_idx.x, x[0])

    with pytest.raises((KernelTypeError, KernelNameError), match=r"'v' (is carried by this loop|cannot be used here)"):
        run(launcher(k), _x(32))


@pytest.mark.parametrize("block", [32, 64, 40])
def test_what_a_reduction_decides_may_hold_barriers(block):
    @kernel
    def k(x, out):
        t = dt.thread_idx.x
        v, turns = x[t], 0
        while block_sum(v) > 1 and turns < 9:
            v = v / 2
            turns += 1
            if warp_sum(v) < 0:
                v = dt.shuffle_xor(v, 0)
        out[t] = Float32(turns)

    x, out = np.full(block, 4, np.float32), np.zeros(block, np.float32)
    run(launcher(k, block=block), x, out)
    assert (out == np.ceil(np.log2(4 * block))).all()


def test_the_index_after_a_loop_is_the_last_one_or_what_the_name_was_before():
    @kernel
    def k(x, out):
        t = dt.thread_idx.x
        i = -1
        for i in range(t % 5):
            if x[t] > 2 and i == 2:
                break
        out[t, 0] = i
        for i in range(2, 6):
            i = i * 2
        out[t, 1] = Int32(i)
        for j in range(3):
            i += Int32(j)

    x, out = _x(32), np.zeros((32, 2), np.int32)
    run(launcher(k), x, out)
    for t in range(32):
        last = min(t % 5 - 1, 2) if x[t] > 2 else t % 5 - 1
        assert out[t].tolist() == [last, 10]


def test_the_index_of_a_loop_that_bound_its_name_is_not_known_after_it():
    @kernel
    def k(x, out):
        for i in range(dt.thread_idx.x):
            out[i] = x[i]
        out[0] = x[i]

    with pytest.raises(KernelNameError, match="bound inside a loop that may run zero times"):
        run(launcher(k), _x(32), _x(32))
