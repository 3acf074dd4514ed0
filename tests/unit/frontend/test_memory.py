"""Tensors of any rank and stride, shared memory, vectors, atomics, warps; each run in the reference interpreter."""

from __future__ import annotations

from typing import NamedTuple

import ml_dtypes
import numpy as np
import pytest

import darter.lang as dt
from darter.dtypes import BFloat16, Float8E4M3FN, Float32, Int32, Int64, UInt32
from darter.errors import KernelTypeError
from darter.ir import nodes as n
from darter.lang.kernel_function import KernelFunction as kernel
from darter.signature.annotations import Constexpr, Pointer, Tensor
from tests.unit.frontend import harness

run, launcher, traced = harness.run, harness.launcher, harness.traced


def _nodes(block):
    for node in block.nodes:
        yield node
        for child in n.children(node):
            yield from _nodes(child)


def test_strided_and_transposed_tensors():
    @kernel
    def k(x, out):
        j = dt.thread_idx.x
        for i in range(x.shape[0]):
            if j < x.shape[1]:
                out[i, j] = x[i, j] * 2

    base = np.arange(6 * 20, dtype=np.float32).reshape(6, 20)
    for x in (base, base[:, ::2], base.T[:6, :6].copy().T, base[::-1], base[:, :1]):
        out = np.zeros(x.shape, np.float32)
        run(launcher(k), x, out)
        np.testing.assert_array_equal(out, x * 2)


def test_narrow_tensors_take_i32_strides_and_wide_ones_i64():
    @kernel
    def k(x, out):
        out[dt.block_idx.x, dt.thread_idx.x] = x[dt.block_idx.x, dt.thread_idx.x]

    small = np.zeros((4, 64), np.float32)[:, ::2]
    wide = np.lib.stride_tricks.as_strided(np.zeros(40, np.float32), (2, 32), (2**31, 4))
    types = [[p.type for p in traced(launcher(k), x, x).kernels[0].parameters[1:3]] for x in (small, wide)]
    assert types[0] == [Int32, Int32]
    assert types[1][0] is Int64


def test_extents_are_int64_whatever_the_index_width():
    @kernel
    def k(x, out):
        out[0] = x.shape[0] * x.strides[0]

    out = np.zeros(1, np.int64)
    run(launcher(k, block=1), np.zeros(12, np.float32)[::3], out)
    assert out[0] == 12


def test_only_parameters_in_use_are_passed_and_written_tensors_are_known():
    @kernel
    def k(x, y, out):
        out[dt.thread_idx.x] = x[dt.thread_idx.x]

    a = np.zeros((32, 2), np.float32)[:, 0]
    module = traced(launcher(k), a, a, a)
    assert len(module.kernels[0].parameters) == 4  # two pointers, two strides
    assert module.written == (2,)


def test_vector_loads_and_stores():
    @kernel
    def k(x, out):
        i = dt.thread_idx.x * 4
        v = x.load(i, width=4)
        out.store(i, [a + 1 for a in v])

    x, out = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    module = run(launcher(k), x, out)
    np.testing.assert_array_equal(out, x + 1)
    loads = [node for node in _nodes(module.kernels[0].body) if isinstance(node, n.Load)]
    assert [len(load.results) for load in loads] == [4]
    if x.ctypes.data % 16 == 0:
        assert loads[0].align_bytes == 16


def test_a_block_reduction_through_shared_memory():
    @kernel
    def k(x, out):
        t = dt.thread_idx.x
        s = dt.shared(Float32, 64)
        s[t] = x[t]
        dt.barrier()
        step = 32
        while step > 0:
            if t < step:
                s[t] = s[t] + s[t + step]
            dt.barrier()
            step //= 2
        if t == 0:
            out[0] = s[0]

    x, out = np.arange(64, dtype=np.float32), np.zeros(1, np.float32)
    run(launcher(k, block=64), x, out)
    assert out[0] == x.sum()


def test_dynamic_shared_memory_and_a_barrier_in_a_uniform_loop():
    @kernel
    def k(x, out):
        t = dt.thread_idx.x
        s = dt.dynamic_shared(Float32)
        s[t] = x[t]
        for _ in range(3):
            dt.barrier()
            v = s[(t + 1) % dt.block_dim.x]
            dt.barrier()
            s[t] = v
        out[t] = s[t]

    x, out = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    run(launcher(k, shared=128), x, out)
    np.testing.assert_array_equal(out, np.roll(x, -3))


def test_shuffles_votes_and_atomics():
    @kernel
    def k(x, out):
        t = dt.thread_idx.x
        v = x[t]
        step = dt.warp_size // 2
        for _ in dt.static_range(5):
            v += dt.shuffle_xor(v, step)
            step //= 2
        if dt.lane_id == 0:
            dt.atomic_add(out, 0, v)
        if dt.vote_any(x[t] > 62):
            dt.atomic_max(out, 1, Float32(dt.warp_id))
        n = dt.ballot(x[t] > 3)
        if t == 0 and n == 0xFFFFFFF0:
            out[2] = 1.0

    x, out = np.arange(64, dtype=np.float32), np.zeros(3, np.float32)
    run(launcher(k, block=64), x, out)
    assert out.tolist() == [x.sum(), 1, 1]


def test_bf16_and_fp8_need_casts_to_store():
    @kernel
    def k(x, out, codes):
        t = dt.thread_idx.x
        v = x[t] * 1.5
        out[t] = v
        codes[t] = Float8E4M3FN(Float32(v) + 1)

    x = np.arange(32).astype(ml_dtypes.bfloat16)
    out, codes = np.zeros(32, ml_dtypes.bfloat16), np.zeros(32, ml_dtypes.float8_e4m3fn)
    run(launcher(k), x, out, codes)
    np.testing.assert_array_equal(
        out.astype(np.float32), (x.astype(np.float32) * 1.5).astype(out.dtype).astype(np.float32)
    )
    expected = (out.astype(np.float32) + 1).astype(codes.dtype)
    np.testing.assert_array_equal(codes.view(np.uint8), expected.view(np.uint8))

    @kernel
    def bad(x, out):
        out[0] = Float32(x[0])

    with pytest.raises(KernelTypeError, match=r"dt\.BFloat16\(v\)"):
        traced(launcher(bad), x, out)


def test_pointers_offsets_and_casts():
    @kernel
    def k(p: Pointer[Float32], out: Pointer[UInt32], n: Int64):
        t = dt.thread_idx.x
        q = p + n
        for _ in range(2):
            q = q + 1
        out[t] = q.cast(UInt32)[t]

    def launch(x: Pointer[Float32], out: Pointer[UInt32], n: Int32):
        k(x, out, n).launch(grid=1, block=8)

    x, out = np.arange(32, dtype=np.float32), np.zeros(8, np.uint32)
    module = harness.traced(launch, x, out, 3)
    assert module.written == (1,)
    assert len(module.kernels[0].parameters) == 3


class Pair(NamedTuple):
    a: Tensor
    scale: Float32


def test_struct_arguments_and_structs_made_in_kernels():
    @kernel
    def k(pair, out):
        t = dt.thread_idx.x
        moved = pair._asdict() if False else Pair(pair.a, pair.scale + 1)
        out[t] = moved.a[t] * moved.scale

    def launch(pair: Pair, out: Tensor):
        k(pair, out).launch(grid=1, block=32)

    x, out = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    run(launch, Pair(x, 2.0), out)
    np.testing.assert_array_equal(out, x * 3)


class Scaler:
    factor: Constexpr[int]
    offset = 5

    def __init__(self, factor):
        self.factor = factor

    @property
    def shift(self):
        return self.offset + 0

    def apply(self, v):
        return v * self.factor + self.shift

    @kernel
    def k(self, x, out):
        t = dt.thread_idx.x
        out[t] = self.apply(x[t])

    def launch(self, x: Tensor, out: Tensor):
        self.k(x, out).launch(grid=1, block=32)


class Shifted(Scaler):
    offset = 7


@pytest.mark.parametrize(("cls", "offset"), [(Scaler, 5), (Shifted, 7)])
def test_method_kernels_read_constexpr_fields_and_class_attributes(cls, offset):
    x, out = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    run(cls.launch, cls(3), x, out, owner=cls)
    np.testing.assert_array_equal(out, x * 3 + offset)


def test_a_bounds_check_reports_and_masks():
    @kernel
    def k(x, out):
        i = dt.thread_idx.x + 30
        out[dt.thread_idx.x] = x[i]

    x, out = np.ones(32, np.float32), np.zeros(32, np.float32)
    module = run(launcher(k), x, out, options=n.KernelOptions(bounds_check=True))
    assert out.tolist() == [1, 1] + [0] * 30
    asserts = [node for node in _nodes(module.kernels[0].body) if isinstance(node, n.Assert)]
    assert any("'x'" in node.message and "axis 0" in node.message for node in asserts)


def test_equal_launches_share_a_kernel_and_others_do_not():
    @kernel
    def k(x, n: Constexpr):
        x[dt.thread_idx.x] = n

    def launch(x: Tensor):
        for value in (1, 1, True, 1.0):
            k(x, value).launch(grid=1, block=32)
        k(x, 1).launch(grid=1, block=64)

    module = traced(launch, np.zeros(64, np.float32))
    assert [kernel.name for kernel in module.kernels] == ["k", "k_1", "k_2", "k_3"]
    assert len({kernel.name for kernel in module.kernels}) == 4


def test_a_tensor_of_rank_0():
    @kernel
    def k(x, out):
        out[()] = x[()] + BFloat16(1)

    x = np.array(3, ml_dtypes.bfloat16)
    out = np.array(0, ml_dtypes.bfloat16)
    run(launcher(k, block=1), x, out)
    assert float(out) == 4
