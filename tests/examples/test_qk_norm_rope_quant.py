"""Queries and the key-value row against float64: bf16 and both fp8 encodings, groups, strides, addresses."""

from __future__ import annotations

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from examples.serving.qk_norm_rope_quant import make_qk_norm_rope_quant, reference, reference_scales
from tests.examples.arrays import FULL, normal, sparse, tables
from tests.examples.tolerances import BF16, CODES, LARGEST, check_bf16, check_codes, check_scales

D = 512
QUANT = list(product(CODES, (32, 64, 128, 512), (True, False)))
CHOSEN = QUANT if FULL else [QUANT[0], QUANT[3], QUANT[4], QUANT[7], QUANT[9], QUANT[10], QUANT[13], QUANT[14]]


class Case:
    """Arguments for ``tokens`` tokens in arrays that hold two more, and the check of what a call did."""

    def __init__(self, tokens: int, H: int, quant: bool, fp8: str, group: int, q_weighted: bool, pad: int = 24) -> None:
        held = tokens + 2
        self.tokens, self.quant, self.fp8, self.group = tokens, quant, fp8, group
        self.q_in, self.kv_in = normal(1, held, H, D, dtype=BF16), normal(2, held, D + pad, dtype=BF16)
        self.q_in[0, 0] = 0
        self.q_weight = normal(3, D, dtype=BF16) if q_weighted else None
        self.kv_weight = normal(4, D, dtype=BF16)
        self.cos, self.sin = tables(300, 32)
        self.positions = np.random.default_rng(5).integers(0, 300, held)
        self.positions[:1] = 0
        out: Any = CODES[fp8] if quant else BF16
        self.q_out, self.kv_out = np.full((held, H, D), 1, out), np.full((held, D), 1, out)
        groups = D // group if quant else 1
        self.q_scale, self.kv_scale = np.full((held, H, groups), 7, np.float32), np.full((held, groups), 7, np.float32)

    def arguments(self) -> list[Any]:
        scales = [self.q_scale, self.kv_scale] if self.quant else [None, None]
        return [
            self.q_in, self.kv_in, self.q_weight, self.kv_weight, self.cos, self.sin, self.positions,
            self.q_out, self.kv_out, *scales, self.kv_in.shape[1], self.tokens, None,
        ]  # fmt: skip

    def check(self) -> None:
        n = self.tokens
        kv_in, positions = self.kv_in[:n, :D], self.positions[:n]
        exact = reference(self.q_in[:n], kv_in, self.q_weight, self.kv_weight, self.cos, self.sin, positions)
        outputs = ((self.q_out, self.q_scale), (self.kv_out, self.kv_scale))
        for (y, u, rstd), (out, scale) in zip(exact, outputs, strict=True):
            assert (out[n:].astype(np.float32) == 1).all()
            assert (scale[n if self.quant else 0 :] == 7).all()
            if not self.quant:
                check_bf16(out[:n], y)
            elif n:
                check_scales(scale[:n], reference_scales(u, rstd, self.group, LARGEST[self.fp8]))
                check_codes(out[:n], y / np.repeat(scale[:n].astype(np.float64), self.group, axis=-1), self.fp8)


@pytest.mark.parametrize("q_weighted", [True, False])
def test_bf16(q_weighted: bool) -> None:
    launcher = make_qk_norm_rope_quant(H=3, quant=False, fp8="none", group=0, q_weighted=q_weighted)
    for tokens in (0, 1, 5, 40):
        case = Case(tokens, 3, False, "none", 0, q_weighted)
        launcher(*case.arguments())
        case.check()


@pytest.mark.parametrize(("fp8", "group", "q_weighted"), CHOSEN)
def test_fp8(fp8: str, group: int, q_weighted: bool) -> None:
    launcher = make_qk_norm_rope_quant(2, True, fp8, group, q_weighted)
    for tokens in (0, 1, 5, 40):
        case = Case(tokens, 2, True, fp8, group, q_weighted)
        launcher(*case.arguments())
        case.check()


def test_unused_arguments_may_be_given_and_addresses_be_ints() -> None:
    launcher = make_qk_norm_rope_quant(2, False, "e4m3fn", 64, False)
    case = Case(5, 2, False, "e4m3fn", 64, False)
    arguments = case.arguments()
    weight = normal(9, D, dtype=BF16)
    arguments[2], arguments[9:11] = weight, [case.q_scale, case.kv_scale]
    for place in (0, 1, 6, 7, 8):
        arguments[place] = arguments[place].ctypes.data
    launcher(*arguments)
    case.check()
    assert (weight == normal(9, D, dtype=BF16)).all()


def test_pointers_check_the_type() -> None:
    case = Case(1, 1, False, "none", 0, False)
    arguments = case.arguments()
    arguments[0] = arguments[0].astype(np.float32)
    with pytest.raises(TypeError, match="argument 'q_in'"):
        make_qk_norm_rope_quant(1, False, "none", 0, False)(*arguments)


def test_offsets_over_2_31_through_the_row_stride_and_the_tables() -> None:
    launcher = make_qk_norm_rope_quant(1, True, "e4m3fn", 128, True)
    case = Case(3, 1, True, "e4m3fn", 128, True)
    stride, far = 2**31 - 1, 2**26 + 5
    arguments = case.arguments()
    kv = sparse(2 * stride + D, BF16)
    for row in range(3):
        kv[row * stride : row * stride + D] = case.kv_in[row, :D]
    cos, sin = sparse((far + 1) * 32, BF16), sparse((far + 1) * 32, BF16)
    near = case.positions[:3].copy()
    for table, source in ((cos, case.cos), (sin, case.sin)):
        table[: near[0] * 32 + 32] = source[: near[0] + 1].ravel()
        table[far * 32 - 32 : far * 32 + 32] = source[near[1:3]].ravel()
    arguments[1], arguments[4:7] = kv[:D], [cos[:32], sin[:32], np.array([near[0], far - 1, far])]
    arguments[11] = stride
    launcher(*arguments)
    case.check()


def test_extremes_of_magnitude() -> None:
    launcher = make_qk_norm_rope_quant(2, True, "e4m3fnuz", 64, True)
    case = Case(5, 2, True, "e4m3fnuz", 64, True)
    case.q_in[1] *= ml_dtypes.bfloat16(1e12)
    case.q_in[2] *= ml_dtypes.bfloat16(1e-20)
    launcher(*case.arguments())
    case.check()


@pytest.mark.parametrize(
    "options", [(0, False, "", 0, True), (1, True, "e5m2", 64, True), (1, True, "e4m3fn", 256, True)]
)
def test_what_it_does_not_take(options: Any) -> None:
    with pytest.raises(ValueError, match="accepted"):
        make_qk_norm_rope_quant(*options)
