"""Launchers: host arithmetic, conditions, raising, contracts of kernels, choices among kernels."""

from __future__ import annotations

import numpy as np
import pytest

import darter.lang as dt
from darter.dtypes import Float16, Float32, Int32, Int64, Scalar
from darter.errors import KernelValueError
from darter.ir import nodes as n
from darter.kernel import jit
from darter.lang.kernel_function import KernelFunction as kernel
from darter.signature.annotations import Constexpr, Stream, Tensor
from tests.unit.frontend import harness

run, traced, Raised = harness.run, harness.traced, harness.Raised


@kernel
def scale(x: Tensor, out: Tensor, factor: Float32, n: Int64, BLOCK: Constexpr[int]):
    i = dt.block_idx.x * BLOCK + dt.thread_idx.x
    if i < n:
        out[i] = x[i] * factor


def test_grid_from_shapes_and_several_launches():
    def launch(x: Tensor["n"], out: Tensor["n"], factor: Float32, BLOCK: Constexpr[int] = 32, stream: Stream = None):
        n = x.shape[0]
        scale(x, out, factor, n, BLOCK).launch(grid=dt.cdiv(n, BLOCK), block=BLOCK, stream=stream)
        scale(out, out, 2, n=n, BLOCK=BLOCK).launch((max(n // BLOCK, 1) + 1, 1), block=(BLOCK, 1, 1))

    x, out = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    module = run(launch, x, out, 1.5)
    np.testing.assert_array_equal(out, x * 3)
    assert len(module.kernels) == 1


def test_runtime_choice_among_kernels_compiles_all_of_them():
    @kernel
    def one(out):
        out[dt.thread_idx.x] = 1.0

    @kernel
    def two(out):
        out[dt.thread_idx.x] = 2.0

    def launch(out: Tensor, n: Int32):
        if n > 3 and n < 10:
            one(out).launch(grid=1, block=32)
        else:
            two(out).launch(grid=1, block=32)

    for value in (2, 5, 20):
        out = np.zeros(32, np.float32)
        module = run(launch, out, value)
        assert len(module.kernels) == 2
        assert (out == (1 if value == 5 else 2)).all()


def test_raise_with_values_and_assert():
    launch = harness.asserting_launcher(scale)
    x = np.ones(32, np.float32)
    run(launch, x, 4)
    with pytest.raises(Raised, match=r"\('ValueError', '32 is no multiple of 5'\)"):
        run(launch, x, 5)
    with pytest.raises(Raised, match=r"AssertionError.*too many"):
        run(launch, x, 8)


def test_an_unconditional_raise_is_the_launchers_own():
    def launch(x: Tensor, MODE: Constexpr[str]):
        if MODE not in ("a", "b"):
            raise ValueError("unknown mode " + MODE)
        scale(x, x, 1, 1, 32).launch(grid=1, block=32)

    with pytest.raises(Raised, match="unknown mode c"):
        run(launch, np.ones(4, np.float32), "c")


def test_contracts_of_kernels_are_checked_at_compile_time_or_at_the_launch():
    @kernel
    def k(x: Tensor["n", 8], y: Tensor["n"]):
        y[0] = x[0, 0]

    def launch(x: Tensor, y: Tensor):
        k(x, y).launch(grid=1, block=1)

    def fixed(x: Tensor["n", 4], y: Tensor["n"]):
        k(x, y).launch(grid=1, block=1)

    y = np.zeros(3, np.float32)
    run(launch, np.ones((3, 8), np.float32), y)
    assert y[0] == 1
    with pytest.raises(Raised, match="argument 'x' of the kernel, axis 1: the extent is 4; accepted: 8"):
        run(launch, np.ones((3, 4), np.float32), y)
    with pytest.raises(Raised, match="argument 'y' of the kernel, axis 0: the extent is 3; accepted: 'n', which is 2"):
        run(launch, np.ones((2, 8), np.float32), y)
    with pytest.raises(KernelValueError, match="the extent is 4"):
        run(fixed, np.ones((3, 4), np.float32), y)


def test_names_that_the_launcher_has_checked_are_not_checked_again():
    @kernel
    def k(x: Tensor["n"], y: Tensor["n"]):
        y[0] = x[0]

    def launch(x: Tensor["m"], y: Tensor["m"]):
        k(x, y).launch(grid=1, block=1)

    module = traced(launch, np.zeros(3, np.float32), np.zeros(3, np.float32))
    assert not any(isinstance(node, n.If) for node in module.body.nodes)


def test_a_runtime_scalar_out_of_range_raises_at_the_launch():
    @kernel
    def k(x: Tensor, m: Int32):
        x[0] = m

    def launch(x: Tensor, m: Int64):
        k(x, m).launch(grid=1, block=1)

    x = np.zeros(1, np.int32)
    run(launch, x, 7)
    assert x[0] == 7
    with pytest.raises(Raised, match="argument 'm' of the kernel is 4294967296, which does not fit i32"):
        run(launch, x, 2**32)


def test_optional_tensors_types_and_static_branches():
    @kernel
    def k(x, bias, T: type[Scalar], out):
        t = dt.thread_idx.x
        v = T(x[t])
        if bias is not None:
            v = v + T(bias[t])
        out[t] = Float32(v)

    def launch(x: Tensor, bias: Tensor | None, T: type[Scalar], out: Tensor):
        k(x, bias, T, out).launch(grid=1, block=32)

    x, out = np.linspace(0, 1, 32, dtype=np.float32), np.zeros(32, np.float32)
    run(launch, x, None, Float16, out)
    np.testing.assert_array_equal(out, x.astype(np.float16).astype(np.float32))
    run(launch, x, x, Float32, out)
    np.testing.assert_array_equal(out, x + x)


@jit
def doubled(x: Tensor, times: Int32 = 2):
    scale(x, x, Float32(times), x.shape[0], 32).launch(grid=dt.cdiv(x.shape[0], 32), block=32)


def test_a_launcher_calls_another_one():
    def launch(x: Tensor):
        doubled(x)
        doubled(x, times=3)

    x = np.ones(40, np.float32)
    run(launch, x)
    assert (x == 6).all()


def test_a_factory_captures_by_closure():
    def make(n, f):
        @kernel
        def k(x):
            x[dt.thread_idx.x] = f(n)

        def launch(x: Tensor):
            k(x).launch(grid=1, block=4)

        return launch

    x = np.zeros(4, np.float32)
    for size, expected in ((2, 4), (3, 9)):
        run(make(size, lambda v: float(v * v)), x)
        assert (x == expected).all()
    run(make(5, lambda v: v + 0.5), x)
    assert (x == 5.5).all()


def test_helpers_run_in_launchers_too():
    def checked(n, limit=100):
        if n > limit:
            raise ValueError("too long")
        return dt.cdiv(n, 32)

    def launch(x: Tensor):
        blocks = checked(x.shape[0])
        scale(x, x, 3.0, x.shape[0], 32).launch(grid=blocks, block=32)

    x = np.ones(70, np.float32)
    run(launch, x)
    assert (x == 3).all()
    with pytest.raises(Raised, match="too long"):
        run(launch, np.ones(101, np.float32))
