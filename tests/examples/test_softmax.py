"""Softmax against float64: sizes with and without vectors, −∞, extremes, rows that are not touched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from examples.serving.softmax import make_softmax, reference
from tests.examples.arrays import FULL, normal, unaligned
from tests.examples.tolerances import BF16, check_bf16, check_f32

TYPES = {"f32": np.float32, "bf16": BF16}
SIZES = [1, 7, 33, 1000, 4097, 8192, 1 << 17]
if FULL:
    SIZES += [2, 31, 32, 63, 64, 65, 100, 255, 1023, 1024, 1025, 5000, 16384, 32768, 50001, 65536, 131071]


def check(found: Any, x: Any) -> None:
    (check_f32 if found.dtype == np.float32 else check_bf16)(found, reference(x))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("N", SIZES)
def test_rows(N: int, dtype: str) -> None:
    softmax = make_softmax(N, dtype)
    x = normal(N, 6, N, dtype=TYPES[dtype])
    x[1, : N // 2] = -np.inf
    for m in (0, 1, 5):
        out = np.full_like(x, 7)
        softmax(x, out, m, None)
        if m:
            check(out[:m], x[:m])
        assert (out[m:] == 7).all()
    assert (out[1, : N // 2] == 0).all()
    in_place = x.copy()
    softmax(in_place, in_place, 6)
    check(in_place, x)


@pytest.mark.parametrize("dtype", TYPES)
def test_unaligned_rows(dtype: str) -> None:
    x = unaligned(normal(0, 4, 64, dtype=TYPES[dtype]))
    out = unaligned(np.zeros_like(x))
    make_softmax(N=64, dtype=dtype)(x, out, 4)
    check(out, x)


def test_extremes() -> None:
    softmax = make_softmax(64, "f32")
    x = np.zeros((4, 64), np.float32)
    x[0, :2] = 3.4e38, -3.4e38
    x[1] = -3.4e38
    x[2] = np.linspace(1e6, 1e6 + 30, 64)
    x[3] = -np.inf
    out = np.empty_like(x)
    softmax(x, out, 4)
    check_f32(out[:3], reference(x[:3]))
    assert (out[3] == 0).all()


def test_many_rows() -> None:
    x = normal(1, 700, 40)
    out = np.empty_like(x)
    make_softmax(40, "f32")(x, out, 700)
    check_f32(out, reference(x))


@pytest.mark.parametrize(("N", "dtype"), [(0, "f32"), ((1 << 17) + 1, "f32"), (8, "f16")])
def test_what_it_does_not_take(N: int, dtype: str) -> None:
    with pytest.raises(ValueError, match="accepted"):
        make_softmax(N, dtype)
