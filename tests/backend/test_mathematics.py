"""Mathematical functions in kernels, on every backend there is: values, small types, errors in ulps on CUDA."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import darter as dt
from darter.artifacts import cuda_toolkit
from darter.codegen.common.mathematics import LARGEST_ERROR_ULPS
from darter.codegen.nvptx import libdevice
from darter.dtypes import Float32, Float64
from darter.ir.arithmetic import wide_math
from darter.ir.operations import BINARY_MATH, LIBRARY_MATH, MathOp

COUNT = 4096
OPERATIONS = sorted(LIBRARY_MATH - {MathOp.LGAMMA}, key=lambda op: op.value)


def make(op: MathOp) -> Any:
    function, binary = getattr(dt, op.value), op in BINARY_MATH

    @dt.kernel
    def kernel(x: dt.Tensor, y: dt.Tensor, out: dt.Tensor):
        i = dt.block_idx.x * 128 + dt.thread_idx.x
        if i < x.shape[0]:
            if binary:
                out[i] = function(x[i], y[i])
            else:
                out[i] = function(x[i])

    @dt.jit
    def launch(x: dt.Tensor["n"], y: dt.Tensor["n"], out: dt.Tensor["n"]):
        kernel(x, y, out).launch(grid=dt.cdiv(x.shape[0], 128), block=128)

    return launch


def samples(op: MathOp, kind: Any) -> Any:
    """Return arguments spread over the range in which results are finite and, for lgamma, well conditioned."""
    rng = np.random.default_rng(11)
    wide = np.finfo(kind).bits == 64 if kind in (np.float32, np.float64) else False
    low, high = {
        MathOp.ASIN: (-1, 1), MathOp.ACOS: (-1, 1), MathOp.ATANH: (-0.9999, 0.9999), MathOp.ACOSH: (1.001, 50),
        MathOp.LOG10: (1e-3, 50), MathOp.LOG1P: (-0.999, 50), MathOp.TGAMMA: (0.1, 160 if wide else 30),
        MathOp.ERFC: (-5, 20 if wide else 8), MathOp.SINH: (-80, 80), MathOp.COSH: (-80, 80), MathOp.EXPM1: (-80, 80),
        MathOp.LGAMMA: (2.5, 500),
    }.get(op, (-50, 50))  # fmt: skip
    return rng.uniform(low, high, COUNT).astype(kind)


def lgamma(x: Any) -> Any:
    """Return log Γ(x) in numpy's long double: Python's own is up to 10 ulp off."""
    mpmath = pytest.importorskip("mpmath")
    return np.array([np.longdouble(mpmath.nstr(mpmath.loggamma(mpmath.mpf(float(each))), 25)) for each in x])


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("op", [*OPERATIONS, MathOp.LGAMMA], ids=lambda op: op.value)
def test_functions_keep_to_their_documented_errors(machine: Any, op: MathOp, kind: Any) -> None:
    count = 64 if machine.name == "interpret" else COUNT
    x = samples(op, kind)[:count]
    y = np.random.default_rng(2).permutation(x)
    out = machine.put(np.zeros_like(x))
    make(op)(machine.put(x), machine.put(y), out)
    dtype = Float64 if kind is np.float64 else Float32
    expected = lgamma(x) if op is MathOp.LGAMMA else wide_math(op, (x, y) if op in BINARY_MATH else (x,), dtype)
    found = machine.take(out)
    assert np.isfinite(found).all()
    by_library = machine.name == "cuda" and cuda_toolkit.libdevice() is not None
    bound = (libdevice.LARGEST_ERROR_ULPS if by_library else LARGEST_ERROR_ULPS)[op][kind is np.float64]
    # The reference of f64 is numpy's long double, or Python's double where numpy has none: one more ulp.
    errors = np.abs(found - expected) / np.spacing(np.abs(expected).astype(kind))
    assert errors.max() <= bound + 1, f"{errors.max()} at {x[errors.argmax()]}"


@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("op", [MathOp.TAN, MathOp.ATAN2, MathOp.FMOD], ids=lambda op: op.value)
def test_small_floats_compute_in_single_precision_and_round_once(machine: Any, op: MathOp, kind: Any) -> None:
    x = np.random.default_rng(1).uniform(-1.5, 1.5, 256).astype(kind)
    y = np.random.default_rng(2).uniform(0.5, 1.5, 256).astype(kind)
    out = machine.put(np.zeros_like(x))
    make(op)(machine.put(x), machine.put(y), out)
    wide = [a.astype(np.float64) for a in (x, y)]
    expected = {MathOp.TAN: lambda a, b: np.tan(a), MathOp.ATAN2: np.arctan2, MathOp.FMOD: np.fmod}[op](*wide)
    np.testing.assert_array_equal(machine.take(out), expected.astype(np.float32).astype(kind))


@dt.kernel
def static_kernel(out: dt.Tensor):
    out[0] = dt.tgamma(5.0) + dt.hypot(3, 4) + dt.cbrt(27) + dt.atan2(0, -1)


@dt.jit
def static_launch(out: dt.Tensor):
    static_kernel(out).launch(grid=1, block=1)


def test_of_static_numbers_they_run_at_compile_time(machine: Any) -> None:
    out = machine.put(np.zeros(1))
    static_launch(out)
    assert machine.take(out)[0] == pytest.approx(24 + 5 + 3 + math.pi, rel=1e-15)
