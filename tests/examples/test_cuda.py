"""The launchers on a CUDA device, against the same float64 references as on the CPU."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples.serving import rmsnorm, softmax
from examples.serving.fused_compress_attn import make_fused_compress_attn
from examples.serving.hca_compress_forward import make_hca_compress_forward
from examples.serving.hca_norm_rope_scatter import make_hca_norm_rope_scatter
from examples.serving.qk_norm_rope_quant import make_qk_norm_rope_quant
from tests.examples import on_cuda
from tests.examples.arrays import normal
from tests.examples.compress_case import SKIPPED, Case, Geometry, plan_of
from tests.examples.test_fused_compress_attn import FAR, MEASURED, OTHERS
from tests.examples.test_hca import LARGE, SMALL
from tests.examples.test_qk_norm_rope_quant import QUANT, Case as QkCase
from tests.examples.tolerances import BF16, check_bf16, check_f32

pytestmark = pytest.mark.skipif(
    not Path("/dev/nvidiactl").exists() or importlib.util.find_spec("torch") is None,
    reason="needs an NVIDIA GPU and torch",
)
TYPES: dict[str, Any] = {"f32": np.float32, "bf16": BF16}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("N", [1, 7, 33, 1000, 1024, 4097, 8192, 32768, 32776, 49152, 65536, 1 << 17])
def test_rows(N: int, dtype: str) -> None:
    check = check_f32 if dtype == "f32" else check_bf16
    x, w = normal(N, 7, N, dtype=TYPES[dtype]), normal(1, N, dtype=TYPES[dtype])
    x[1, : N // 2] = -np.inf
    launchers = softmax.make_softmax(N, dtype), rmsnorm.make_rmsnorm(N, dtype)
    for m in (0, 1, 5):
        out = np.full_like(x, 7)
        on_cuda.call(launchers[0], [x, out, m, None])
        if m:
            check(out[:m], softmax.reference(x[:m]))
        assert (out[m:] == 7).all()
    x[1] = 1
    for m in (0, 1, 5):
        out = np.full_like(x, 7)
        on_cuda.call(launchers[1], [x, w, out, m, None])
        if m:
            check(out[:m], rmsnorm.reference(x[:m], w))
        assert (out[m:] == 7).all()
    in_place = x.copy()
    on_cuda.call(launchers[0], [in_place, in_place, 7, None])
    check(in_place, softmax.reference(x))


@pytest.mark.parametrize(
    ("quant", "fp8", "group", "q_weighted"),
    [(False, "none", 0, True), (False, "none", 0, False), *((True, *options) for options in QUANT)],
)
def test_qk(quant: bool, fp8: str, group: int, q_weighted: bool) -> None:
    launcher = make_qk_norm_rope_quant(4, quant, fp8, group, q_weighted)
    for tokens, pad in ((0, 0), (1, 3), (5, 24), (100, 0)):
        case = QkCase(tokens, 4, quant, fp8, group, q_weighted, pad)
        on_cuda.call(launcher, case.arguments())
        case.check()


@pytest.mark.parametrize("geometry", MEASURED + OTHERS)
def test_fused(geometry: Geometry) -> None:
    launcher = make_fused_compress_attn(**geometry.options())
    for rows in (0, 1, 5, 40):
        case = Case(geometry, plan_of(geometry, rows, seed=rows))
        on_cuda.call(launcher, case.fused())
        case.check_cache()
    case = Case(geometry, plan_of(geometry, 9), BF16, pad=8, beyond=4)
    on_cuda.call(launcher, case.fused())
    case.check_cache()


def test_infinities_and_skipped_rows() -> None:
    g = Geometry()
    case = Case(g, plan_of(g, 12))
    a = case.arrays
    a["score_in"][::2], a["kv_in"][::2] = -np.inf, np.nan
    a["score_state"][:, ::3], a["kv_state"][:, ::3] = -np.inf, np.inf
    case.plan[0], case.plan[-1] = (0, 0, 0, 0), SKIPPED
    launcher = make_fused_compress_attn(**g.options())
    on_cuda.call(launcher, case.fused())
    case.check_cache()


@pytest.mark.parametrize("name", FAR)
def test_offsets_over_2_31(name: str) -> None:
    import torch

    g = Geometry(64, 64, 4, True, 8, 4, "fp8")
    launcher = make_fused_compress_attn(**g.options())
    case = Case(g, plan_of(g, 13, longest=100), longest=100)
    near, strides = case.arrays[name], (*FAR[name], 1)
    shape = (len(near), g.k_per_block, g.D) if name == "kv_cache" else near.shape
    memory, far = on_cuda.spread_on_device(near.reshape(shape), strides)
    case.strides[name], case.flat[name] = FAR[name], memory[:16]
    # The others are kept: on a second use they would be other arrays.
    on_cuda.call(launcher, case.fused())
    back = np.empty(shape, near.dtype)
    on_cuda.copy_back(far.contiguous(), back)
    case.arrays[name] = back.reshape(near.shape)
    case.check_cache()
    del memory, far
    case.flat.clear()
    torch.cuda.empty_cache()


@pytest.mark.parametrize("g", [LARGE, *SMALL])
def test_halves(g: Geometry) -> None:
    compress = make_hca_compress_forward(D=g.D, ratio=g.ratio, S=g.S)
    scatter = make_hca_norm_rope_scatter(D=g.D, RD=g.RD, ratio=g.ratio, k_per_block=g.k_per_block)
    for rows, pad in ((0, 0), (1, 0), (5, 6), (13, 0)):
        case = Case(g, plan_of(g, rows), BF16, pad=pad)
        on_cuda.call(compress, case.compress())
        case.check_compressed()
        on_cuda.call(scatter, case.scatter())
        case.check_cache()


def test_a_torch_stream() -> None:
    import torch

    x = torch.randn(64, 1024, device="cuda")
    out, stream = torch.empty_like(x), torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    softmax.make_softmax(1024, "f32")(x, out, 64, stream)
    stream.synchronize()
    check_f32(out.cpu().numpy(), softmax.reference(x.cpu().numpy()))
