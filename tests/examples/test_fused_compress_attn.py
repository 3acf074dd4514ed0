"""The fused launcher against float64: geometries, plans, strides, −∞ and NaN, both caches, offsets over 2³¹."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from examples.serving.fused_compress_attn import make_fused_compress_attn
from tests.examples.arrays import FULL, sparse, spread
from tests.examples.compress_case import SKIPPED, Case, Geometry, plan_of
from tests.examples.tolerances import BF16

FIRST = Geometry()
SECOND = Geometry(128, 64, 4, True, 8, 32, "fp8", "e4m3fn", True, True)
MEASURED = [FIRST, SECOND, replace(SECOND, fp8="e4m3fnuz")]
OTHERS = [
    Geometry(96, 32, 3, True, 7, 5, "fp8", "e4m3fn", False, False),
    Geometry(100, 100, 1, False, 1, 1, "fp8", "e4m3fnuz", True, False),
    Geometry(33, 0, 5, False, 8, 3, "bf16"),
    Geometry(47, 8, 4, True, 11, 7, "fp8", "e4m3fnuz", False, False),
    Geometry(64, 64, 2, True, 4, 16, "fp8", "e4m3fn", False, True),
    Geometry(1, 0, 2, True, 4, 2, "bf16"),
]


def drawn(seed: int) -> Geometry:
    """Return some geometry within the limits."""
    random = np.random.default_rng(seed)
    D, ratio, overlap = int(random.integers(1, 200)), int(random.integers(1, 20)), bool(random.integers(2))
    shuffle = bool(random.integers(3) == 0)
    D = -(-D // 16) * 16 if shuffle else D
    S = ratio * (1 + overlap) + int(random.integers(5))
    per_block = int(random.integers(1, 4)) * 16 if shuffle else int(random.integers(1, 40))
    cache = "fp8" if shuffle or random.integers(2) else "bf16"
    fp8 = ("e4m3fn", "e4m3fnuz")[int(random.integers(2))]
    RD = 2 * int(random.integers(D // 2 + 1))
    return Geometry(D, RD, ratio, overlap, S, per_block, cache, fp8, bool(random.integers(2)), shuffle)


def run(launcher: Any, case: Case) -> None:
    launcher(*case.fused())
    case.check_cache()


@pytest.mark.parametrize("geometry", MEASURED, ids=["bf16", "e4m3fn", "e4m3fnuz"])
def test_measured_geometries(geometry: Geometry) -> None:
    launcher = make_fused_compress_attn(**geometry.options())
    for rows in (0, 1, 5, 40):
        run(launcher, Case(geometry, plan_of(geometry, rows, seed=rows)))
    run(launcher, Case(geometry, plan_of(geometry, 9), weight_dtype=BF16, pad=8, beyond=4))


@pytest.mark.parametrize("geometry", OTHERS + [drawn(seed) for seed in range(200 if FULL else 2)])
def test_other_geometries(geometry: Geometry) -> None:
    launcher = make_fused_compress_attn(**geometry.options())
    run(launcher, Case(geometry, plan_of(geometry, 13), weight_dtype=BF16, pad=3, beyond=2))


def test_every_wl_at_positions_around_the_window() -> None:
    g = Geometry(32, 8, 4, True, 9, 4)
    launcher = make_fused_compress_attn(**g.options())
    for wl in range(g.K + 1):
        # One position a window and sequence: before, at and after the first full window, and after the ring wraps.
        plan = [(wl, 0, 0, wl), (3, 0, 6, wl), (55, 1, 7, wl), (20, 1, 8, wl), (0, 2, 17, wl), (54, 2, 700, wl)]
        run(launcher, Case(g, np.array(plan, np.int32)))


def test_all_rows_skipped_and_rows_beyond_the_capacity() -> None:
    launcher = make_fused_compress_attn(**FIRST.options())
    run(launcher, Case(FIRST, np.array([SKIPPED] * 3, np.int32)))
    case = Case(FIRST, plan_of(FIRST, 5), beyond=len(plan_of(FIRST, 5)))
    run(launcher, case)
    assert (case.arrays["kv_cache"].astype(np.float32) == 1).all()


def test_entries_of_minus_infinity_contribute_nothing() -> None:
    g = FIRST
    launcher = make_fused_compress_attn(**g.options())
    case = Case(g, plan_of(g, 12))
    a = case.arrays
    a["score_in"][::2], a["kv_in"][::2] = -np.inf, np.nan
    a["score_state"][:, ::3], a["kv_state"][:, ::3] = -np.inf, np.inf
    # The first row sees nothing: wl 0, and its one input row has no finite score.
    a["score_in"][0] = -np.inf
    case.plan[0] = 0, 0, 0, 0
    run(launcher, case)
    phys = a["block_table"][0, 0]
    assert (a["kv_cache"][phys, : g.D].astype(np.float32) == 0).all()


def test_unused_tensors_may_be_given_or_none() -> None:
    g = Geometry(32, 0, 2, False, 2, 4, "bf16", "none", False, False)
    launcher = make_fused_compress_attn(**g.options())
    case = Case(g, plan_of(g, 3))
    run(launcher, case)
    arguments = case.fused()
    for place, given in zip((14, 15, 19), (None, None, case.arrays["cache_scale"]), strict=True):
        arguments[place] = given
    launcher(*arguments)
    case.check_cache()


FAR = {
    "kv_in": (2**26 + 1,),
    "score_in": (2**26 + 3,),
    "kv_state": (2**30 + 5, 2**10),
    "score_state": (2**30 + 7, 1 << 9),
    "kv_cache": (2**28 + 1, 512),
    "cache_scale": (2**28 + 3,),
    "block_table": (2**30 + 1,),
}
"""Per tensor strides that make offsets over 2³¹ elements, small enough for what these cases address."""


@pytest.mark.parametrize("name", FAR)
def test_offsets_over_2_31(name: str) -> None:
    g = Geometry(64, 64, 4, True, 8, 4, "fp8")
    launcher = make_fused_compress_attn(**g.options())
    case = Case(g, plan_of(g, 13, longest=100), longest=100)
    near, strides = case.arrays[name], (*FAR[name], 1)
    shape = (len(near), g.k_per_block, g.D) if name == "kv_cache" else near.shape
    assert (len(near) - 1) * strides[0] > 2**31
    memory, far = spread(near.reshape(shape), strides)
    case.strides[name] = FAR[name]
    # The tensor that is passed is small: nothing may be concluded from it about the width of an index.
    case.flat[name] = memory[:16]
    launcher(*case.fused())
    case.arrays[name] = np.array(far).reshape(near.shape)
    case.check_cache()


def test_tables_and_positions_over_2_31() -> None:
    g = Geometry(64, 64, 4, True, 8, 32)
    launcher = make_fused_compress_attn(**g.options())
    case = Case(g, np.array([[30, 1, 500, 2]], np.int32))
    launcher(*case.fused())
    case.check_cache()
    near = case.arrays["kv_cache"].copy()
    # The same angles and blocks, so many positions further that table offsets pass 2³¹: the same result.
    shift = (2**26 + 4096) // (g.S * 32) * (g.S * 32)
    for name in ("cos", "sin"):
        table = sparse((shift + 501) * 32, BF16)
        table[(shift + 500) * 32 :] = case.arrays[name][500]
        case.flat[name] = table[:32]
    column = 500 // g.ratio // g.k_per_block
    blocks = sparse(case.columns * 2 + shift // g.ratio // g.k_per_block, np.int32)
    blocks[case.columns + column + shift // g.ratio // g.k_per_block] = case.arrays["block_table"][1, column]
    case.flat["block_table"] = blocks[:1]
    case.plan[0, 2] += shift
    case.arrays["kv_cache"][...] = 1
    launcher(*case.fused())
    np.testing.assert_array_equal(case.arrays["kv_cache"], near)


@pytest.mark.parametrize(
    "changes",
    [
        {"D": 0}, {"RD": 7}, {"RD": 514}, {"ratio": 0}, {"S": 7}, {"k_per_block": 0}, {"cache": "f32"},
        {"cache": "fp8", "fp8": "e5m2"}, {"preshuffle": True}, {"cache": "fp8", "preshuffle": True, "k_per_block": 8},
        {"cache": "fp8", "preshuffle": True, "D": 136},
    ],
)  # fmt: skip
def test_what_it_does_not_take(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"accepted|takes"):
        make_fused_compress_attn(**replace(FIRST, **changes).options())


def test_weights_are_f32_or_bf16() -> None:
    case = Case(FIRST, plan_of(FIRST, 1), weight_dtype=np.float64)
    with pytest.raises(TypeError, match="argument 'rms_weight'"):
        make_fused_compress_attn(**FIRST.options())(*case.fused())
