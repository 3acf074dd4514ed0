"""The levels of x86-64: with AVX2 alone, gathers, scatters and narrow masks go lane by lane; below, nothing is made."""

from __future__ import annotations

import numpy as np
import pytest

from darter.codegen.cpu import compile_kernels
from darter.codegen.cpu.features import features_of
from darter.dtypes import ScalarType, bf16, f16, f32, f64, i8, i16, i32
from darter.errors import CompileError
from darter.ir import nodes as ir
from darter.target import Target
from tests.ir_builder import Builder, pointer_type
from tests.unit.codegen.cpu.harness import Compiled, host_target

_V3 = Target("cpu", "x86-64-v3", "", 32)


def permute_kernel(dtype: ScalarType) -> ir.Kernel:
    """``out[to[tid]] = x[from[tid]]`` for the threads below n, then a masked contiguous copy."""
    b = Builder()
    x, out, copy = (ir.Value(pointer_type(dtype), name) for name in ("x", "out", "copy"))
    places, n = ir.Value(pointer_type(i16), "places"), ir.Value(i16, "n")
    tid = b.index(ir.Index.THREAD_IDX)

    def body() -> None:
        wide = b.cast(i32, b.load(places, tid))
        b.store(out, tid, b.load(x, wide))
        b.store(copy, wide, b.load(x, tid))

    b.if_(b.compare(ir.CompareOp.LT, tid, b.cast(i32, n)), body)
    return ir.Kernel("permute", (x, out, copy, places, n), b.block, (64, 1, 1), 32)


@pytest.mark.parametrize("target", [_V3, host_target()], ids=["x86-64-v3", "host"])
@pytest.mark.parametrize("dtype", [i8, f16, bf16, f32, f64], ids=lambda dtype: dtype.name)
def test_masked_gathers_and_scatters(dtype: ScalarType, target: Target) -> None:
    kernel = Compiled(permute_kernel(dtype), target)
    random = np.random.default_rng(2)
    x = random.integers(-100, 100, 64).astype(dtype.numpy())
    places = random.permutation(64).astype(np.int16)
    out, copy = np.zeros_like(x), np.zeros_like(x)
    kernel([1], x, out, copy, places, 45)
    expected_out, expected_copy = np.zeros_like(x), np.zeros_like(x)
    expected_out[:45] = x[places[:45]]
    expected_copy[places[:45]] = x[:45]
    np.testing.assert_array_equal(out, expected_out)
    np.testing.assert_array_equal(copy, expected_copy)


def test_features_are_those_of_the_level_and_those_named() -> None:
    assert "avx512bw" in features_of(Target("cpu", "x86-64-v4", "", 32))
    assert "avx512f" not in features_of(_V3)
    assert "avx512vbmi" in features_of(Target("cpu", "x86-64-v4", "+avx512vbmi,-avx512fp16", 32))


def test_a_processor_without_fused_multiply_add_is_refused() -> None:
    with pytest.raises(CompileError, match="needs x86-64-v3"):
        compile_kernels([permute_kernel(f32)], Target("cpu", "x86-64-v2", "", 32))
