"""Python numbers whose type is found late: after a loop carried them, or conditions chose them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import darter.lang as dt
from darter.dtypes import Float64
from darter.errors import KernelTypeError
from darter.lang.kernel_function import KernelFunction
from tests.unit.frontend import harness

THREADS = 32
X = np.linspace(-2, 2, THREADS)
CHOSEN = np.where(X > 1, 0.1, np.where(X > 0, 0.2, 0.3))


def _of_a_helper(v: Any) -> Any:
    if v > 1:
        return 0.1
    if v > 0:
        return 0.2
    return 0.3


def returned(x, i):
    return _of_a_helper(x[i])


def assigned(x, i):
    if x[i] > 1:
        c = 0.1
    elif x[i] > 0:
        c = 0.2
    else:
        c = 0.3
    return c


def expression(x, i):
    return 0.1 if x[i] > 1 else 0.2 if x[i] > 0 else 0.3


def selected(x, i):
    return dt.where(x[i] > 1, 0.1, dt.where(x[i] > 0, 0.2, 0.3))


def computed(x, i):
    c = 0.05 if x[i] > 1 else 0.1 if x[i] > 0 else 0.15
    return -(c * 2.0) / -1


def carried(x, i):
    c = 0.3
    for _ in range(dt.where(x[i] > 0, 1, 0)):
        c = 0.2
        if x[i] > 1:
            c = 0.1
    return c


def returned_from_a_loop(x, i):
    for j in range(3):
        if x[i] > 1 - j:
            return dt.where(j == 0, 0.1, 0.2) if j < 2 else 0.3
    return 0.3


def in_a_tuple(x, i):
    state = (0, 0.3)
    for _ in range(dt.where(x[i] > 0, 1, 0)):
        state = (state[0] + 1, 0.1 if x[i] > 1 else 0.2)
    return state[1]


SOURCES = (returned, assigned, expression, selected, computed, carried, returned_from_a_loop, in_a_tuple)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_float_has_all_digits_of_what_it_meets(source: Any, dtype: Any) -> None:
    @KernelFunction
    def kernel(x, out):
        i = dt.thread_idx.x
        out[i] = x[i] * source(x, i)

    x, out = X.astype(dtype), np.empty(THREADS, dtype)
    harness.run(harness.launcher(kernel), x, out)
    assert (out == x * CHOSEN.astype(dtype)).all()


def test_a_float_that_a_loop_computes_is_computed_in_the_type_that_it_meets_after() -> None:
    @KernelFunction
    def kernel(x, out):
        i = dt.thread_idx.x
        factor, total, rounds = 0.1, 0.0, 0
        while rounds < 3:
            rounds += 1
            for _ in range(2):
                factor = factor * 0.3 + 0.1
                if factor > 0.14:
                    break
            total += factor
        out[i] = x[i] * total

    out = np.empty(THREADS)
    harness.run(harness.launcher(kernel), X, out)
    factor, total = 0.1, 0.0
    for _ in range(3):
        for _ in range(2):
            factor = factor * 0.3 + 0.1
            if factor > 0.14:
                break
        total += factor
    assert (out == X * total).all()


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64])
def test_a_count_has_the_type_of_the_memory_that_it_is_stored_to(dtype: Any) -> None:
    @KernelFunction
    def kernel(x, out):
        i = dt.thread_idx.x
        count = 0
        for j in range(x.shape[0]):
            if x[j] > x[i]:
                count += 1
        out[i] = count * 2 + 1

    out = np.empty(THREADS, dtype)
    harness.run(harness.launcher(kernel), X, out)
    assert out.tolist() == [2 * int((x < X).sum()) + 1 for x in X]


def test_an_integer_stays_64_bits_wide_where_that_compiles() -> None:
    @KernelFunction
    def kernel(x, out):
        i = dt.thread_idx.x
        product = 1
        for _ in range(40):
            product *= 2
        out[i] = product + i

    out = np.empty(THREADS, np.int64)
    harness.run(harness.launcher(kernel), X, out)
    assert (out == 2**40 + np.arange(THREADS)).all()


@pytest.mark.parametrize("dtype", [np.int8, np.uint16])
def test_a_count_does_not_become_narrow_by_itself(dtype: Any) -> None:
    @KernelFunction
    def kernel(x, out):
        i = dt.thread_idx.x
        count = 0
        for _ in range(x.shape[0]):
            count += 1
        out[i] = count

    with pytest.raises(KernelTypeError, match="an i64 value is stored to memory of"):
        harness.run(harness.launcher(kernel), X, np.empty(THREADS, dtype))


def test_a_number_that_meets_two_types_is_refused_as_it_stands() -> None:
    @KernelFunction
    def kernel(x, y, z):
        i = dt.thread_idx.x
        count = 0
        for _ in range(x.shape[0]):
            count += 1
        y[i] = count
        z[i] = count

    with pytest.raises(KernelTypeError, match="an i64 value is stored to memory of i32"):
        harness.run(harness.launcher(kernel), X, np.empty(THREADS, np.int32), np.empty(THREADS, np.uint32))


def test_each_call_of_a_helper_has_types_of_its_own() -> None:
    @KernelFunction
    def kernel(x, y, out):
        i = dt.thread_idx.x
        out[i] = x[i] * assigned(x, i) + Float64(y[i] * assigned(x, i))

    y = X.astype(np.float32)
    out = np.empty(THREADS)
    harness.run(harness.launcher(kernel), X, y, out)
    assert (out == X * CHOSEN + (y * CHOSEN.astype(np.float32)).astype(np.float64)).all()
