"""The launchers as they are traced for a GPU, run by the reference interpreter: no GPU is needed, races are found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from darter.codegen.nvptx import compile_kernels
from darter.target import Target
from examples.serving import rmsnorm, softmax
from examples.serving.fused_compress_attn import make_fused_compress_attn
from examples.serving.hca_compress_forward import make_hca_compress_forward
from examples.serving.hca_norm_rope_scatter import make_hca_norm_rope_scatter
from examples.serving.qk_norm_rope_quant import make_qk_norm_rope_quant
from tests.examples.arrays import FULL, normal
from tests.examples.compress_case import Case, Geometry, plan_of
from tests.examples.test_qk_norm_rope_quant import Case as QkCase
from tests.examples.tolerances import BF16, check_bf16, check_f32
from tests.unit.frontend import harness

WIDE = Target("hip", "gfx942", "", 64)
"""A GPU whose warps have 64 lanes."""


def run(launcher: Any, *arguments: Any, target: Target = harness.GPU) -> Any:
    return harness.run(launcher.__wrapped__, *arguments, target=target)


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("N", [33, 1000, 4096, 20000, 50000])
def test_rows(N: int, dtype: str) -> None:
    element: Any = np.float32 if dtype == "f32" else BF16
    check = check_f32 if dtype == "f32" else check_bf16
    x, w = normal(N, 3, N, dtype=element), normal(1, N, dtype=element)
    out = np.full_like(x, 7)
    run(softmax.make_softmax(N, dtype), x, out, 2, None)
    check(out[:2], softmax.reference(x[:2]))
    assert (out[2] == 7).all()
    run(rmsnorm.make_rmsnorm(N, dtype), x, w, out, 3, None)
    check(out, rmsnorm.reference(x, w))


@pytest.mark.parametrize(
    ("quant", "fp8", "group", "q_weighted"),
    [
        (False, "none", 0, False), (True, "e4m3fn", 32, True), (True, "e4m3fnuz", 64, False),
        (True, "e4m3fn", 128, True), (True, "e4m3fn", 512, True),
    ],
)  # fmt: skip
def test_qk(quant: bool, fp8: str, group: int, q_weighted: bool) -> None:
    case = QkCase(3, 2, quant, fp8, group, q_weighted)
    run(make_qk_norm_rope_quant(2, quant, fp8, group, q_weighted), *case.arguments())
    case.check()


@pytest.mark.parametrize(
    "geometry",
    [
        Geometry(),
        Geometry(128, 64, 4, True, 8, 32, "fp8", "e4m3fnuz", True, True),
        Geometry(47, 8, 5, True, 11, 7, "fp8", "e4m3fn", False, False),
        Geometry(700, 0, 1, False, 1, 3, "bf16"),
    ],
)
def test_fused(geometry: Geometry) -> None:
    case = Case(geometry, plan_of(geometry, 6), BF16, pad=2)
    run(make_fused_compress_attn(**geometry.options()), *case.fused())
    case.check_cache()


LONG = [Geometry(130, 20, 20, False, 21, 7), Geometry(512, 64, 128, False, 128, 4)]


@pytest.mark.parametrize("g", LONG if FULL else LONG[:1])
def test_halves(g: Geometry) -> None:
    case = Case(g, plan_of(g, 5))
    run(make_hca_compress_forward(D=g.D, ratio=g.ratio, S=g.S), *case.compress())
    case.check_compressed()
    run(make_hca_norm_rope_scatter(D=g.D, RD=g.RD, ratio=g.ratio, k_per_block=g.k_per_block), *case.scatter())
    case.check_cache()


@pytest.mark.parametrize(("N", "dtype", "vectors"), [(8192, "bf16", 4), (8192, "f32", 8), (1024, "bf16", 4)])
def test_rows_are_read_and_written_once_16_bytes_at_a_time(N: int, dtype: str, vectors: int) -> None:
    x = np.zeros((4, N), np.float32 if dtype == "f32" else BF16)
    module = harness.traced(softmax.make_softmax(N, dtype).__wrapped__, x, x, 4, None, target=harness.GPU)
    ptx, _ = compile_kernels(module.kernels, harness.GPU)
    assert ptx.count("ld.global.v4") == ptx.count("ld.global") == vectors
    assert ptx.count("st.global.v4") == ptx.count("st.global") == vectors


def test_compile_time_words_are_not_run_time_code() -> None:
    """A bf16 cache has no trace of scales: the kernel's parameters are those that it uses."""
    g = replace(Geometry(), D=64)
    case = Case(g, plan_of(g, 1))
    module = harness.traced(make_fused_compress_attn(**g.options()).__wrapped__, *case.fused(), target=harness.GPU)
    names = {value.hint for value in module.kernels[0].parameters}
    assert "kv_cache" in names
    assert not any("cache_scale" in name for name in names)


def test_warps_of_64_lanes() -> None:
    x, w = normal(0, 5, 1000), normal(1, 1000)
    out = np.empty_like(x)
    run(softmax.make_softmax(1000, "f32"), x, out, 5, None, target=WIDE)
    check_f32(out, softmax.reference(x))
    run(rmsnorm.make_rmsnorm(1000, "f32"), x, w, out, 5, None, target=WIDE)
    check_f32(out, rmsnorm.reference(x, w))
    for group in (32, 512):
        qk = QkCase(2, 1, True, "e4m3fnuz", group, True)
        run(make_qk_norm_rope_quant(1, True, "e4m3fnuz", group, True), *qk.arguments(), target=WIDE)
        qk.check()
    g = Geometry(128, 64, 4, True, 8, 32, "fp8", "e4m3fnuz", True, True)
    case = Case(g, plan_of(g, 4))
    run(make_fused_compress_attn(**g.options()), *case.fused(), target=WIDE)
    case.check_cache()
