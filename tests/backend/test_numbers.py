"""Casts, mathematics and the types that Python numbers take, on each backend."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import darter as dt
from tests.backend.single_kernel import BLOCK, N, result

FLOAT8 = {
    dt.e4m3fn: ml_dtypes.float8_e4m3fn,
    dt.e5m2: ml_dtypes.float8_e5m2,
    dt.e4m3fnuz: ml_dtypes.float8_e4m3fnuz,
    dt.e5m2fnuz: ml_dtypes.float8_e5m2fnuz,
}
OTHERS = {
    dt.Bool: np.bool_, dt.i8: np.int8, dt.i16: np.int16, dt.i32: np.int32, dt.i64: np.int64, dt.u8: np.uint8,
    dt.u16: np.uint16, dt.u32: np.uint32, dt.u64: np.uint64, dt.f16: np.float16, dt.bf16: ml_dtypes.bfloat16,
    dt.f32: np.float32, dt.f64: np.float64,
}  # fmt: skip

pytestmark = pytest.mark.usefixtures("backend")


@dt.kernel
def cast(x: dt.Tensor, out: dt.Tensor):
    i = dt.thread_idx.x
    out[i] = out.dtype(x[i])


@pytest.mark.parametrize("dtype", FLOAT8, ids=lambda dtype: dtype.name)
def test_float8_conversions_saturate_and_come_back(dtype: Any) -> None:
    kind = FLOAT8[dtype]
    largest = float(ml_dtypes.finfo(kind).max)
    x = np.linspace(-1.5 * largest, 1.5 * largest, N).astype(np.float32)
    x[:4] = math.inf, -math.inf, math.nan, -0.0
    narrow = result(cast, x, np.zeros(N, kind))
    expected = np.clip(x, -largest, largest).astype(kind)
    same = (narrow.view(np.uint8) == expected.view(np.uint8)) | (np.isnan(x) & np.isnan(narrow.astype(np.float32)))
    assert same.all()
    np.testing.assert_array_equal(result(cast, narrow, np.zeros(N, np.float32)), narrow.astype(np.float32))


@pytest.mark.parametrize("source", OTHERS, ids=lambda dtype: dtype.name)
def test_every_type_becomes_every_other(source: Any, backend: str) -> None:
    x = (np.arange(BLOCK) % 100).astype(OTHERS[source])
    for target in list(OTHERS)[:: 1 if backend == "interpreter" else 3]:
        found = result(cast, x, np.zeros(BLOCK, OTHERS[target]), block=BLOCK)
        np.testing.assert_array_equal(found, x.astype(OTHERS[target]), err_msg=target.name)


@pytest.mark.parametrize(
    "operation",
    [
        lambda a, b: a + b,
        lambda a, b: a / b,
        lambda a, b: a < b,
        lambda a, b: a**b,
        lambda a, b: -a,
        lambda a, b: a % b,
    ],
)
def test_float8_values_are_cast_before_anything_is_computed(operation: Any) -> None:
    @dt.kernel
    def k(x: dt.Tensor, out: dt.Tensor):
        out[0] = dt.f32(operation(x[0], x[1]))

    with pytest.raises(dt.KernelTypeError, match="float8 values must be cast first"):
        result(k, np.ones(2, FLOAT8[dt.e4m3fn]), np.ones(1, np.float32), block=1)


@dt.kernel
def mathematics(x: dt.Tensor, out: dt.Tensor):
    i = dt.thread_idx.x
    v = x[i]
    results = (
        dt.exp(v), dt.exp2(v), dt.log(v), dt.log2(v), dt.sqrt(v), dt.rsqrt(v), dt.tanh(v), dt.erf(v), dt.sin(v),
        dt.cos(v), dt.pow(v, 1.5), dt.fma(v, v, 1.0), dt.floor(v), dt.ceil(v), dt.trunc(v), dt.rint(v), dt.abs(-v),
        dt.where(v > 1, v, 0.5), dt.min(v, 1.0), dt.max(v, 1.0, 2.0),
    )  # fmt: skip
    for row in dt.static_range(len(results)):
        out[row, i] = results[row]


fast_mathematics = dt.kernel(fast_math=True)(mathematics.__wrapped__)


@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
@pytest.mark.parametrize("kernel", [mathematics, fast_mathematics], ids=["exact", "fast"])
def test_mathematics(kind: Any, kernel: Any) -> None:
    x = np.linspace(0.1, 5, BLOCK).astype(kind)
    out = result(kernel, x, np.zeros((20, BLOCK), kind), block=BLOCK)
    v = x.astype(np.float64)
    expected = [
        np.exp(v), np.exp2(v), np.log(v), np.log2(v), np.sqrt(v), 1 / np.sqrt(v), np.tanh(v),
        [math.erf(e) for e in v], np.sin(v), np.cos(v), v**1.5, v * v + 1, np.floor(v), np.ceil(v), np.trunc(v),
        np.rint(v), v, np.where(v > 1, v, 0.5), np.minimum(v, 1), np.maximum(v, 2),
    ]  # fmt: skip
    tolerance = 3 * float(ml_dtypes.finfo(kind).eps)
    np.testing.assert_allclose(out.astype(np.float64), expected, rtol=tolerance, atol=tolerance)


@dt.kernel
def weak_numbers(x: dt.Tensor, out: dt.Tensor):
    i = dt.thread_idx.x
    chosen = 0.1 if i % 2 == 0 else 0.3
    total = 0
    for _ in range(3):
        total = total + x[i] * chosen
    total = total + dt.where(i % 2 == 0, 0.7, 1)
    out[i] = (total + 1) / 3


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_python_numbers_take_the_type_that_they_meet(kind: Any) -> None:
    x = np.arange(BLOCK).astype(kind)
    chosen = np.where(np.arange(BLOCK) % 2 == 0, kind(0.1), kind(0.3)).astype(kind)
    term = x * chosen
    more = np.where(np.arange(BLOCK) % 2 == 0, kind(0.7), kind(1)).astype(kind)
    expected = (term + term + term + more + kind(1)) / kind(3)
    np.testing.assert_array_equal(result(weak_numbers, x, np.zeros_like(x), block=BLOCK), expected)


@dt.kernel
def chosen_integer(x: dt.Tensor, out: dt.Tensor):
    i = dt.thread_idx.x
    out[i] = (1 if x[i] > 3 else -1) + x[i]
    out[i + BLOCK] = 300 if x[i] > 3 else 1


def test_a_chosen_integer_takes_the_type_that_it_meets_or_is_refused() -> None:
    x = np.arange(BLOCK, dtype=np.int16)
    out = result(chosen_integer, x, np.zeros(2 * BLOCK, np.int16), block=BLOCK)
    np.testing.assert_array_equal(out[:BLOCK], x + np.where(x > 3, 1, -1))
    np.testing.assert_array_equal(out[BLOCK:], np.where(x > 3, 300, 1))
    with pytest.raises(dt.KernelValueError, match="Python int 300 does not fit i8"):
        result(chosen_integer, x.astype(np.int8), np.zeros(2 * BLOCK, np.int8), block=BLOCK)
