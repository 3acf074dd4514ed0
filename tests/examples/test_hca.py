"""The two halves of compressed attention: each against float64, and both together against the fused launcher."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from examples.serving.fused_compress_attn import make_fused_compress_attn
from examples.serving.hca_compress_forward import make_hca_compress_forward
from examples.serving.hca_norm_rope_scatter import make_hca_norm_rope_scatter
from tests.examples.arrays import FULL, spread
from tests.examples.compress_case import Case, Geometry, plan_of
from tests.examples.tolerances import BF16, check_bf16

LARGE = Geometry(512, 64, 128, False, 128, 4)
SMALL = [Geometry(33, 0, 5, False, 8, 3), Geometry(96, 96, 8, False, 9, 16), Geometry(130, 20, 1, False, 1, 7)]


def launchers(g: Geometry) -> tuple[Any, Any]:
    compress = make_hca_compress_forward(D=g.D, ratio=g.ratio, S=g.S)
    return compress, make_hca_norm_rope_scatter(D=g.D, RD=g.RD, ratio=g.ratio, k_per_block=g.k_per_block)


def run(g: Geometry, case: Case, compress: Any, scatter: Any) -> None:
    compress(*case.compress())
    case.check_compressed()
    scatter(*case.scatter())
    case.check_cache()


@pytest.mark.parametrize("weight_dtype", [np.float32, BF16])
def test_long_windows(weight_dtype: Any) -> None:
    both = launchers(LARGE)
    for rows in (0, 1, 5, 20 if not FULL else 60):
        run(LARGE, Case(LARGE, plan_of(LARGE, rows, longest=9000), weight_dtype, longest=9000), *both)


@pytest.mark.parametrize("g", SMALL)
def test_other_geometries(g: Geometry) -> None:
    run(g, Case(g, plan_of(g, 13), BF16, pad=5, beyond=2), *launchers(g))


def test_the_defaults_are_the_large_geometry() -> None:
    case = Case(LARGE, plan_of(LARGE, 2, longest=2000), longest=2000)
    run(LARGE, case, make_hca_compress_forward(S=128), make_hca_norm_rope_scatter(k_per_block=4))


def test_together_they_equal_the_fused_launcher() -> None:
    case = Case(LARGE, plan_of(LARGE, 12, longest=9000), longest=9000)
    compress, scatter = launchers(LARGE)
    compress(*case.compress())
    scatter(*case.scatter())
    halves = case.arrays["kv_cache"].copy()
    case.arrays["kv_cache"][...] = 1
    make_fused_compress_attn(**LARGE.options())(*case.fused())
    check_bf16(halves, case.arrays["kv_cache"].astype(np.float64))


def test_offsets_over_2_31_through_the_compressed_rows() -> None:
    g = Geometry(64, 64, 4, False, 8, 4)
    case = Case(g, plan_of(g, 6))
    near, stride = case.arrays["kv_compressed"], 2**29 + 1
    memory, far = spread(near, (stride, 1))
    assert (len(near) - 1) * stride > 2**31
    case.strides["kv_compressed"], case.flat["kv_compressed"] = (stride,), memory[:16]
    compress, scatter = launchers(g)
    compress(*case.compress())
    case.arrays["kv_compressed"] = np.array(far)
    case.check_compressed()
    scatter(*case.scatter())
    case.check_cache()


def test_what_they_do_not_take() -> None:
    for options in ({"D": 0}, {"ratio": 0}, {"S": 127}):
        with pytest.raises(ValueError, match="accepted"):
            make_hca_compress_forward(**{"S": 128, **options})
    for options in ({"D": 0}, {"RD": 7}, {"k_per_block": 0}):
        with pytest.raises(ValueError, match="accepted"):
            make_hca_norm_rope_scatter(**{"k_per_block": 4, **options})
    case = Case(LARGE, plan_of(LARGE, 1), np.float64)
    with pytest.raises(TypeError, match="argument 'rms_weight'"):
        make_hca_norm_rope_scatter(k_per_block=4)(*case.scatter())


def test_long_windows_of_like_values_keep_their_digits() -> None:
    g = Geometry(33, 0, 3000, False, 3000, 3)
    case = Case(g, np.array([[5999, 0, 5999, 1500]], np.int32), longest=6000)
    for name in ("kv_in", "kv_state"):
        case.arrays[name][...] = 0.3
    for name in ("score_in", "score_state", "ape"):
        case.arrays[name][...] = 0.0
    run(g, case, *launchers(g))
