"""Errors of the mathematical functions in units in the last place, against numpy's long double and mpmath."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from darter.codegen.common.mathematics import LARGEST_ERROR_ULPS
from darter.dtypes import ScalarType, f32, f64, i64
from darter.ir import nodes as ir
from darter.ir.arithmetic import math_function
from tests.ir_builder import Builder, pointer_type
from tests.unit.codegen.cpu.harness import Compiled

mpmath = pytest.importorskip("mpmath")

Array = NDArray[Any]
Op = ir.MathOp
REFERENCE: dict[ir.MathOp, Callable[..., Any]] = {
    Op.EXP: mpmath.exp,
    Op.EXP2: lambda x: mpmath.mpf(2) ** x,
    Op.LOG: mpmath.log,
    Op.LOG2: lambda x: mpmath.log(x, 2),
    Op.RSQRT: lambda x: 1 / mpmath.sqrt(x),
    Op.TANH: mpmath.tanh,
    Op.ERF: mpmath.erf,
    Op.SIN: mpmath.sin,
    Op.COS: mpmath.cos,
    Op.POW: mpmath.power,
    Op.LOG10: mpmath.log10,
    Op.EXPM1: mpmath.expm1,
    Op.LOG1P: mpmath.log1p,
    Op.TAN: mpmath.tan,
    Op.ASIN: mpmath.asin,
    Op.ACOS: mpmath.acos,
    Op.ATAN: mpmath.atan,
    Op.ATAN2: mpmath.atan2,
    Op.SINH: mpmath.sinh,
    Op.COSH: mpmath.cosh,
    Op.ASINH: mpmath.asinh,
    Op.ACOSH: mpmath.acosh,
    Op.ATANH: mpmath.atanh,
    Op.ERFC: mpmath.erfc,
    Op.TGAMMA: mpmath.gamma,
    Op.LGAMMA: lambda x: mpmath.log(abs(mpmath.gamma(x))),
    Op.CBRT: lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    Op.HYPOT: mpmath.hypot,
}
SAMPLES = 1500


def math_kernel(op: ir.MathOp, dtype: ScalarType, fast: bool = False) -> Compiled:
    b = Builder()
    x, y, out = (ir.Value(pointer_type(dtype), name) for name in ("x", "y", "out"))
    n = ir.Value(i64, "n")
    i = b.add(b.mul(b.index(ir.Index.BLOCK_IDX), b.const(i64, 64)), b.cast(i64, b.index(ir.Index.THREAD_IDX)))

    def body() -> None:
        operands = [b.load(x, i), b.load(y, i)] if op in ir.BINARY_MATH else [b.load(x, i)]
        b.store(out, i, b.math(op, *operands))

    b.if_(b.compare(ir.CompareOp.LT, i, n), body)
    return Compiled(ir.Kernel(op.value, (x, y, out, n), b.block, (64, 1, 1), 32, ir.KernelOptions(fast_math=fast)))


def run(kernel: Compiled, x: Array, y: Array | None = None) -> Array:
    out = np.zeros_like(x)
    kernel([-(-len(x) // 64)], x, x if y is None else y, out, len(x))
    return out


def samples(op: ir.MathOp, dtype: ScalarType) -> tuple[Array, Array]:
    rng, wide = np.random.default_rng(7), dtype is f64
    uniform, n = rng.uniform, SAMPLES
    match op:
        case Op.EXP | Op.EXP2:
            parts = [uniform(-740 if wide else -103, 700 if wide else 88, n), uniform(-1, 1, n)]
        case Op.LOG | Op.LOG2 | Op.LOG10 | Op.RSQRT:
            parts = [uniform(0.4, 2.5, n), np.exp(uniform(-740 if wide else -103, 700 if wide else 88, n))]
        case Op.EXPM1 | Op.SINH | Op.COSH:
            parts = [
                uniform(-700 if wide else -87, 700 if wide else 88, n),
                uniform(-2, 2, n),
                np.exp(uniform(-40, 2, n)),
            ]
        case Op.LOG1P:
            parts = [uniform(-0.999, 2, n), np.exp(uniform(-40, 80, n)), -np.exp(uniform(-40, -1e-3, n))]
        case Op.ASIN | Op.ACOS | Op.ATANH:
            parts = [uniform(-0.9999, 0.9999, n), np.exp(uniform(-40, -1e-4, n)), 1 - np.exp(uniform(-15, -2, n))]
        case Op.ATAN | Op.ASINH | Op.CBRT:
            parts = [uniform(-6, 6, n), np.exp(uniform(-80, 80, n)), -np.exp(uniform(-700 if wide else -80, 80, n))]
        case Op.ATAN2 | Op.HYPOT:
            parts = [uniform(-6, 6, n), np.exp(uniform(-30, 30, n)), -np.exp(uniform(-30, 30, n))]
        case Op.ACOSH:
            parts = [uniform(1, 3, n), 1 + np.exp(uniform(-15, 30, n)), np.exp(uniform(1, 80, n))]
        case Op.ERFC:
            parts = [uniform(-6, 26.5 if wide else 10, n), uniform(-1, 1, n), np.exp(uniform(-40, 1, n))]
        case Op.TGAMMA:
            parts = [
                uniform(0.1, 170 if wide else 34, n),
                uniform(-0.9, 4, n),
                np.exp(uniform(-40, 1, n)),
                uniform(-29.9, 0, n),
            ]
        case Op.LGAMMA:
            parts = [uniform(2.2, 1000, n), np.exp(uniform(-40, -1, n)), np.exp(uniform(1, 60, n))]
        case Op.TANH | Op.ERF:
            parts = [uniform(-6, 6, n), uniform(-1, 1, n), np.exp(uniform(-40, 2, n))]
        case Op.POW:
            parts = [np.exp(uniform(-5, 5, n)), 1 + uniform(-1e-3, 1e-3, n)]
        case _:
            large = np.exp(uniform(20, 700 if wide else 88, n))
            parts = [uniform(-10, 10, n), large, np.round(uniform(-1e5, 1e5, n)) * (np.pi / 2)]
    x = np.concatenate(parts).astype(dtype.numpy())
    if op is Op.POW:
        y = np.concatenate([uniform(-15, 15, n), uniform(-1e4, 1e4, n)])
    else:
        y = rng.permutation(x)
    return x, y.astype(dtype.numpy())


def ulps(found: Array, op: ir.MathOp, *operands: Array) -> Array:
    info = np.finfo(found.dtype)
    errors = []
    with mpmath.workprec(200):
        for value, *arguments in zip(found, *operands, strict=True):
            exact = REFERENCE[op](*(mpmath.mpf(float(argument)) for argument in arguments))
            exponent = max(int(mpmath.floor(mpmath.log(abs(exact), 2))) if exact else info.minexp, info.minexp)
            errors.append(float(abs(mpmath.mpf(float(value)) - exact) / mpmath.mpf(2) ** (exponent - info.nmant)))
    return np.array(errors)


@pytest.mark.parametrize("dtype", [f32, f64], ids=["f32", "f64"])
@pytest.mark.parametrize("op", list(REFERENCE), ids=lambda op: op.value)
def test_error_stays_below_the_documented_bound(op: ir.MathOp, dtype: ScalarType) -> None:
    x, y = samples(op, dtype)
    found = run(math_kernel(op, dtype), x, y)
    assert np.isfinite(found).all()
    errors = ulps(found, op, *((x, y) if op in ir.BINARY_MATH else (x,)))
    assert errors.max() <= LARGEST_ERROR_ULPS[op][dtype is f64], f"{errors.max()} at {x[errors.argmax()]}"


@pytest.mark.parametrize("op", list(REFERENCE), ids=lambda op: op.value)
def test_fast_functions_keep_the_bound_where_results_are_normal(op: ir.MathOp) -> None:
    x, y = samples(op, f32)
    found = run(math_kernel(op, f32, fast=True), x, y)
    normal = (np.abs(found) >= np.finfo(np.float32).tiny) & np.isfinite(found)
    assert normal.mean() > 0.7
    operands = (x[normal], y[normal]) if op in ir.BINARY_MATH else (x[normal],)
    assert ulps(found[normal], op, *operands).max() <= LARGEST_ERROR_ULPS[op][0]


def test_fast_exponentials_end_at_zero_and_infinity() -> None:
    inf, nan = np.inf, np.nan
    for op, below, above in ((Op.EXP, -87.8, 88.6), (Op.EXP2, -126.6, 127.9)):
        x = np.array([below, above, -inf, inf, nan, -1e30, 1e30, 0.0], np.float32)
        expected = np.array([0.0, inf, 0.0, inf, nan, 0.0, inf, 1.0], np.float32)
        np.testing.assert_array_equal(run(math_kernel(op, f32, fast=True), x), expected)


@pytest.mark.parametrize("dtype", [f32, f64], ids=["f32", "f64"])
def test_edges(dtype: ScalarType) -> None:
    inf, nan = np.inf, np.nan
    edges = {
        Op.EXP: ([0.0, -inf, inf, nan, -1e4, 1e4], [1.0, 0.0, inf, nan, 0.0, inf]),
        Op.LOG: ([0.0, -0.0, -1.0, inf, nan, 1.0], [-inf, -inf, nan, inf, nan, 0.0]),
        Op.LOG2: ([0.0, -0.0, -1.0, inf, nan, 8.0], [-inf, -inf, nan, inf, nan, 3.0]),
        Op.TANH: ([0.0, -0.0, inf, -inf, nan, -50.0], [0.0, -0.0, 1.0, -1.0, nan, -1.0]),
        Op.ERF: ([0.0, -0.0, inf, -inf, nan, -50.0], [0.0, -0.0, 1.0, -1.0, nan, -1.0]),
        Op.SIN: ([0.0, -0.0, inf, nan], [0.0, -0.0, nan, nan]),
        Op.COS: ([0.0, -0.0, -inf, nan], [1.0, 1.0, nan, nan]),
    }
    for op, (x, expected) in edges.items():
        found = run(math_kernel(op, dtype), np.array(x, dtype.numpy()))
        np.testing.assert_array_equal(found, np.array(expected, dtype.numpy()), err_msg=op.value)
        np.testing.assert_array_equal(np.signbit(found[:2]), np.signbit(expected[:2]), err_msg=op.value)


@pytest.mark.parametrize("dtype", [f32, f64], ids=["f32", "f64"])
def test_power_has_the_edges_of_c(dtype: ScalarType) -> None:
    values = np.array([0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, np.inf, -np.inf, np.nan], dtype.numpy())
    x, y = (grid.ravel() for grid in np.meshgrid(values, values))
    found = run(math_kernel(Op.POW, dtype), x.copy(), y.copy())
    with np.errstate(all="ignore"):
        expected = np.power(x, y)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


_EDGES = [
    0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, np.inf, -np.inf, np.nan, 1e-310, 1e-40, 1e308, -1e308,
    171.7, -171.5, -200.5, 27.0, 710.0, -710.0, 1e5, -1e5,
]  # fmt: skip


@pytest.mark.parametrize("dtype", [f32, f64], ids=["f32", "f64"])
@pytest.mark.parametrize("op", sorted({*ir.LIBRARY_MATH, Op.FMOD}, key=lambda op: op.value), ids=lambda op: op.value)
def test_edges_are_those_of_c(op: ir.MathOp, dtype: ScalarType) -> None:
    with np.errstate(all="ignore"):
        x = np.array(_EDGES).astype(dtype.numpy())
        x, y = (grid.ravel().copy() for grid in np.meshgrid(x, x)) if op in ir.BINARY_MATH else (x, x)
        expected = math_function(op, (x, y)[: 1 + (op in ir.BINARY_MATH)], dtype)
    found = run(math_kernel(op, dtype), x, y)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


def test_fmod_is_exact() -> None:
    rng = np.random.default_rng(3)
    x, y = (np.exp(rng.uniform(-300, 300, 2000)) * rng.choice([-1, 1], 2000) for _ in range(2))
    np.testing.assert_array_equal(run(math_kernel(Op.FMOD, f64), x, y), np.fmod(x, y))


@pytest.mark.parametrize(("low", "high"), [(0.4, 2.2), (-3.0, 0.0), (-30.0, -3.0)])
def test_lgamma_near_its_zeros_is_good_to_an_absolute_error(low: float, high: float) -> None:
    x = np.random.default_rng(5).uniform(low, high, 1000)
    found = run(math_kernel(Op.LGAMMA, f64), x)
    for value, argument in zip(found, x, strict=True):
        exact = mpmath.log(abs(mpmath.gamma(mpmath.mpf(float(argument)))))
        largest = abs(float(mpmath.loggamma(1 + abs(argument)).real))
        assert abs(value - exact) <= max(2e-15, 4 * np.spacing(largest)), argument


def test_lgamma_of_single_precision_is_good_near_its_zeros_too() -> None:
    x = np.random.default_rng(5).uniform(-10, 3, 2000).astype(np.float32)
    assert ulps(run(math_kernel(Op.LGAMMA, f32), x), Op.LGAMMA, x).max() <= LARGEST_ERROR_ULPS[Op.LGAMMA][0]
