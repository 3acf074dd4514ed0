"""Elementwise kernels: ranks, strides, broadcasts, dtypes, early exits, grids."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import darter as dt
from darter.dtypes import ALL

BLOCK = 64


@dt.kernel
def scale_kernel(x, out, n):
    i = dt.block_idx.x * BLOCK + dt.thread_idx.x
    if i >= n:
        return
    out[i] = x[i] * 2


@dt.jit
def scale(x: dt.Tensor["n"], out: dt.Tensor["n"]):
    scale_kernel(x, out, x.shape[0]).launch(grid=dt.cdiv(x.shape[0], BLOCK), block=BLOCK)


@dt.kernel
def add3_kernel(x, y, out, rows, columns):
    i, j, k = dt.block_idx.y, dt.block_idx.z, dt.thread_idx.x
    if i < rows and k < columns:
        out[i, j, k] = x[i, j, k] + y[i, j, k]


@dt.jit
def add3(x: dt.Tensor["a", "b", "c"], y: dt.Tensor["a", "b", "c"], out: dt.Tensor["a", "b", "c"]):
    add3_kernel(x, y, out, x.shape[0], x.shape[2]).launch(grid=(1, x.shape[0], x.shape[1]), block=64)


@pytest.mark.parametrize("size", [1, 63, 64, 65, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.uint16, np.int64, np.float16])
def test_one_dimension(machine, size, dtype):
    x = np.arange(size).astype(dtype)
    argument, out = machine.put(x), machine.put(np.zeros(size, dtype))
    scale(argument, out)
    np.testing.assert_array_equal(machine.take(out), (x * 2).astype(dtype))


def test_an_empty_tensor_launches_nothing(machine):
    out = machine.put(np.zeros(0, np.float32))
    scale(out, out)
    assert machine.take(out).size == 0


def test_views_of_three_dimensions(machine):
    base = np.arange(5 * 6 * 40, dtype=np.float32).reshape(5, 6, 40)
    views = [base[:, :, :33], base[::2, ::3, ::2], base.transpose(1, 0, 2), np.broadcast_to(base[:1, :1], (3, 4, 40))]
    for x in views:
        y = np.broadcast_to(x[:, :, :1], x.shape)
        out = machine.put(np.zeros(x.shape, np.float32))
        add3(machine.put(x), machine.put(y), out)
        np.testing.assert_array_equal(machine.take(out), x + y)


@pytest.mark.parametrize("source", [d for d in ALL if not d.is_float or d.bits > 8], ids=lambda d: d.name)
def test_casts_to_every_dtype_are_the_interpreters(machine, source, monkeypatch):
    values = _values(source)
    cast = make_cast()
    for target in ALL:
        found = machine.put(np.zeros(values.size, target.numpy()))
        cast(machine.put(values), found, target)
        result = machine.take(found)
        with monkeypatch.context() as patch:
            patch.setenv("DARTER_INTERPRET", "1")
            expected = np.zeros(values.size, target.numpy())
            cast(values, expected, target)
        same = result.view(f"u{target.size_bytes}") == expected.view(f"u{target.size_bytes}")
        if target.is_float:
            wide = [each.astype(np.float64) for each in (result, expected)]
            same |= np.isnan(wide[0]) & np.isnan(wide[1])
        assert same.all(), (source.name, target.name, values[~same][:4], result[~same][:4], expected[~same][:4])


@dt.kernel
def cast_kernel(x, out, n, T: dt.Constexpr):
    i = dt.block_idx.x * BLOCK + dt.thread_idx.x
    if i < n:
        out[i] = T(x[i])


def make_cast():
    @dt.jit
    def cast(x: dt.Tensor["n"], out: dt.Tensor["n"], T: dt.Constexpr):
        cast_kernel(x, out, x.shape[0], T).launch(grid=dt.cdiv(x.shape[0], BLOCK), block=BLOCK)

    return cast


def _values(dtype):
    if dtype is dt.Bool:
        return np.array([False, True] * 8)
    kind = dtype.numpy()
    if not dtype.is_float:
        edges = [0, 1, 2, 3, 100, 127, dtype.max, dtype.min, dtype.max - 1, dtype.max // 2 + 1]
        return np.array(edges, kind)
    with np.errstate(over="ignore"):
        limits = [ml_dtypes.finfo(kind).max, ml_dtypes.finfo(kind).tiny, ml_dtypes.finfo(kind).smallest_subnormal]
        wide = [
            0.0,
            -0.0,
            0.5,
            -0.5,
            1.5,
            2.5,
            255.5,
            -129.0,
            448.0,
            464.0,
            57344.0,
            3e4,
            1e-3,
            1e9,
            -3e9,
            np.inf,
            -np.inf,
            np.nan,
        ]
        return np.array([*limits, *wide], np.float64).astype(kind)
