"""Divergence: masks, loops whose lanes leave at different turns, results blended from both sides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from darter.dtypes import i32, i64
from darter.ir import nodes as ir
from tests.ir_builder import Builder, pointer_type
from tests.unit.codegen.cpu.harness import Compiled

Op, Cmp = ir.BinaryOp, ir.CompareOp
Array = NDArray[Any]


class Scene:
    """A kernel of one block: ``out[tid] = body(x[tid])`` over i32."""

    def __init__(self, threads: int, body: Callable[[Builder, ir.Value, ir.Value], ir.Value], warp: int = 32) -> None:
        b = Builder()
        x, out = (ir.Value(pointer_type(i32), name) for name in ("x", "out"))
        tid = b.index(ir.Index.THREAD_IDX)
        b.store(out, tid, body(b, tid, b.load(x, tid)))
        self.compiled = Compiled(ir.Kernel("scene", (x, out), b.block, (threads, 1, 1), warp))

    def __call__(self, x: Sequence[int] | Array) -> Array:
        values = np.array(x, np.int32)
        out = np.zeros_like(values)
        self.compiled([1], values, out)
        return out


def const(b: Builder, value: int) -> ir.Value:
    return b.const(i32, value)


@pytest.mark.parametrize(("threads", "warp"), [(32, 32), (50, 32), (64, 64), (7, 64)])
def test_divergent_if_blends_its_results(threads: int, warp: int) -> None:
    def body(b: Builder, tid: ir.Value, x: ir.Value) -> ir.Value:
        positive = b.compare(Cmp.GT, x, const(b, 0))
        (result,) = b.if_(positive, lambda: (b.mul(x, const(b, 3)),), lambda: (b.binary(Op.SUB, const(b, 0), x),))
        return result

    x = np.random.default_rng(0).integers(-9, 9, threads)
    np.testing.assert_array_equal(Scene(threads, body, warp)(x), np.where(x > 0, 3 * x, -x))


@pytest.mark.parametrize("threads", [32, 45])
def test_loop_with_a_bound_of_each_lane(threads: int) -> None:
    def body(b: Builder, tid: ir.Value, x: ir.Value) -> ir.Value:
        (total,) = b.for_(const(b, 0), x, const(b, 1), (const(b, 0),), lambda k, total: (b.add(total, b.mul(k, k)),))
        return total

    x = np.random.default_rng(1).integers(-3, 20, threads)
    expected = [sum(k * k for k in range(v)) for v in x]
    np.testing.assert_array_equal(Scene(threads, body)(x), expected)


@pytest.mark.parametrize("step", [1, 3, 32, 64, -1, -5])
@pytest.mark.parametrize("bound", [-4, 0, 1, 31, 32, 33, 100, 250])
def test_loop_from_the_lane_counts_like_range(step: int, bound: int) -> None:
    def body(b: Builder, tid: ir.Value, x: ir.Value) -> ir.Value:
        loop = b.for_(tid, x, const(b, step), (const(b, 0),), lambda k, total: (b.add(total, k),))
        return loop[0]

    def uniform_bound(b: Builder, tid: ir.Value, x: ir.Value) -> ir.Value:
        loop = b.for_(tid, const(b, bound), const(b, step), (x,), lambda k, total: (b.add(total, k),))
        return loop[0]

    expected = np.array([sum(range(lane, bound, step)) for lane in range(40)])
    np.testing.assert_array_equal(Scene(40, body)(np.full(40, bound)), expected)
    np.testing.assert_array_equal(Scene(40, uniform_bound)(np.full(40, 7)), expected + 7)


@pytest.mark.parametrize("bounds", [(2**31 - 5, 2**31 - 1, 3), (-(2**31) + 4, -(2**31), -3), (0, 2**31 - 1, 2**30)])
def test_loop_index_does_not_run_past_the_ends_of_its_type(bounds: tuple[int, int, int]) -> None:
    def body(b: Builder, tid: ir.Value, x: ir.Value) -> ir.Value:
        lower, upper, step = (const(b, value) for value in bounds)
        one = const(b, 1)
        return b.for_(lower, upper, step, (x,), lambda k, count: (b.add(count, one),))[0]

    np.testing.assert_array_equal(Scene(32, body)(np.zeros(32)), len(range(*bounds)))


def test_while_runs_each_lane_to_its_own_end() -> None:
    def body(b: Builder, tid: ir.Value, x: ir.Value) -> ir.Value:
        def odd_or_half(value: ir.Value, turns: ir.Value) -> tuple[ir.Value, ir.Value]:
            odd = b.compare(Cmp.NE, b.binary(Op.MOD, value, const(b, 2)), const(b, 0))
            (following,) = b.if_(
                odd,
                lambda: (b.add(b.mul(value, const(b, 3)), const(b, 1)),),
                lambda: (b.binary(Op.FLOORDIV, value, const(b, 2)),),
            )
            return following, b.add(turns, const(b, 1))

        _, turns = b.while_((x, const(b, 0)), lambda value, _: b.compare(Cmp.GT, value, const(b, 1)), odd_or_half)
        return turns

    def collatz(value: int) -> int:
        turns = 0
        while value > 1:
            value, turns = (3 * value + 1 if value % 2 else value // 2), turns + 1
        return turns

    x = np.arange(1, 65)
    np.testing.assert_array_equal(Scene(64, body)(x), [collatz(int(v)) for v in x])


@pytest.mark.parametrize("threads", [32, 40])
def test_memory_is_touched_by_active_lanes_only(threads: int) -> None:
    b = Builder()
    x, out = (ir.Value(pointer_type(i64), name) for name in ("x", "out"))
    tid = b.index(ir.Index.THREAD_IDX)
    far = b.mul(tid, b.const(i32, 1 << 20))
    valid = b.compare(Cmp.LT, b.binary(Op.MOD, tid, b.const(i32, 7)), b.const(i32, 1))
    nothing = b.compare(Cmp.LT, tid, b.const(i32, 1))

    def write() -> None:
        b.store(out, tid, b.add(b.load(x, tid), b.const(i64, 1)))

    def write_far() -> None:
        b.store(out, far, b.load(x, far))

    b.if_(valid, write)
    b.if_(nothing, write_far)
    kernel = Compiled(ir.Kernel("masked", (x, out), b.block, (threads, 1, 1), 32))
    found, source = np.zeros(threads, np.int64), np.arange(threads, dtype=np.int64) + 5
    kernel([1], source, found)
    lanes = np.arange(threads)
    np.testing.assert_array_equal(found, np.where(lanes == 0, 5, np.where(lanes % 7 == 0, source + 1, 0)))


@pytest.mark.parametrize("width", [2, 4, 8])
def test_vector_accesses_and_strides(width: int) -> None:
    b = Builder()
    x, out = (ir.Value(pointer_type(i32), name) for name in ("x", "out"))
    n = ir.Value(i32, "n")
    tid = b.index(ir.Index.THREAD_IDX)
    start = b.mul(tid, b.const(i32, width))

    def body() -> None:
        parts = b.load_vector(x, start, width, 4)
        b.store(out, start, *reversed(parts), align_bytes=4)

    b.if_(b.compare(Cmp.LT, start, n), body)
    kernel = Compiled(ir.Kernel("vectors", (x, out, n), b.block, (64, 1, 1), 32))
    source = np.arange(64 * width, dtype=np.int32)
    found = np.zeros_like(source)
    kernel([1], source, found, 50 * width)
    expected = source.reshape(64, width)[:, ::-1].copy()
    expected[50:] = 0
    np.testing.assert_array_equal(found.reshape(64, width), expected)
