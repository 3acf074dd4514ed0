"""Elementwise kernels: guards, tails of blocks and warps, dtypes, run as compiled code."""

from __future__ import annotations

import numpy as np
import pytest

from darter.dtypes import ScalarType, bf16, f16, f32, f64, i8, i32, i64, u64
from darter.ir import nodes as ir
from tests.ir_builder import Builder, pointer_type
from tests.unit.codegen.cpu.harness import Compiled


def add_kernel(dtype: ScalarType, block: int, warp_size: int = 32) -> ir.Kernel:
    b = Builder()
    x, y, out = (ir.Value(pointer_type(dtype), name) for name in ("x", "y", "out"))
    n = ir.Value(i64, "n")
    i = b.add(b.mul(b.index(ir.Index.BLOCK_IDX), b.const(i64, block)), b.cast(i64, b.index(ir.Index.THREAD_IDX)))
    b.if_(b.compare(ir.CompareOp.LT, i, n), lambda: b.store(out, i, b.add(b.load(x, i), b.load(y, i))))
    return ir.Kernel("add", (x, y, out, n), b.block, (block, 1, 1), warp_size)


@pytest.mark.parametrize("warp_size", [32, 64])
@pytest.mark.parametrize("block", [20, 32, 100, 256])
def test_guarded_add_writes_its_elements_and_no_other(block: int, warp_size: int) -> None:
    add = Compiled(add_kernel(f32, block, warp_size))
    for n in (1, 31, 33, 1000):
        x, y = np.random.default_rng(n).random((2, n), np.float32)
        out = np.zeros(n + 300, np.float32)
        add([-(-n // block)], x, y, out, n)
        np.testing.assert_array_equal(out[:n], x + y)
        assert not out[n:].any()


@pytest.mark.parametrize("dtype", [i8, i32, u64, f16, bf16, f64], ids=lambda dtype: dtype.name)
def test_add_of_each_kind_of_type(dtype: ScalarType) -> None:
    add = Compiled(add_kernel(dtype, 64))
    x, y = (np.random.default_rng(seed).integers(-100, 100, 777).astype(dtype.numpy()) for seed in (1, 2))
    out = np.zeros_like(x)
    add([13], x, y, out, 777)
    np.testing.assert_array_equal(out, x + y)


def test_grid_of_three_axes_reaches_every_block() -> None:
    b = Builder()
    out = ir.Value(pointer_type(i32), "out")
    x, y, z = (b.index(ir.Index.BLOCK_IDX, axis) for axis in range(3))
    gx, gy = (b.index(ir.Index.GRID_DIM, axis) for axis in range(2))
    position = b.add(x, b.mul(gx, b.add(y, b.mul(gy, z))))
    value = b.cast(i32, b.add(b.add(x, b.mul(y, b.const(i64, 10))), b.mul(z, b.const(i64, 100))))
    b.store(out, position, value)
    kernel = Compiled(ir.Kernel("grid", (out,), b.block, (1, 1, 1), 32))
    found = np.zeros((4, 3, 2), np.int32)
    kernel([2, 3, 4], found)
    z_, y_, x_ = np.indices(found.shape)
    np.testing.assert_array_equal(found, x_ + 10 * y_ + 100 * z_)


@pytest.mark.parametrize("block", [(16, 16, 1), (7, 3, 5), (64, 2, 2), (8, 4, 1)])
def test_thread_index_of_blocks_of_several_axes(block: tuple[int, int, int]) -> None:
    b = Builder()
    out = ir.Value(pointer_type(i32), "out")
    x, y, z = (b.index(ir.Index.THREAD_IDX, axis) for axis in range(3))
    bx, by = (b.const(i32, extent) for extent in block[:2])
    position = b.add(x, b.mul(bx, b.add(y, b.mul(by, z))))
    value = b.add(b.add(x, b.mul(y, b.const(i32, 100))), b.mul(z, b.const(i32, 10000)))
    b.store(out, position, value)
    kernel = Compiled(ir.Kernel("threads", (out,), b.block, block, 32))
    found = np.zeros(block[::-1], np.int32)
    kernel([1], found)
    z_, y_, x_ = np.indices(found.shape)
    np.testing.assert_array_equal(found, x_ + 100 * y_ + 10000 * z_)


@pytest.mark.parametrize("dtype", [f32, f64, f16, bf16, i32], ids=lambda dtype: dtype.name)
def test_a_choice_of_one_constant_is_that_constant(dtype: ScalarType) -> None:
    b = Builder()
    out = ir.Value(pointer_type(dtype), "out")
    i, half = b.index(ir.Index.THREAD_IDX), b.const(dtype, 1.5 if dtype.is_float else 7)
    odd = b.compare(ir.CompareOp.LT, i, b.const(i32, 9))
    chosen = b.select(odd, half, half)
    b.store(out, i, b.add(chosen, b.if_(odd, lambda: [half], lambda: [half])[0]))
    found = np.zeros(32, dtype.numpy())
    Compiled(ir.Kernel("choice", (out,), b.block, (32, 1, 1), 32))([1], found)
    assert (found == (3 if dtype.is_float else 14)).all()
