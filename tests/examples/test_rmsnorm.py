"""RMS norm against float64: sizes with and without vectors, in place, rows that are not touched."""

from __future__ import annotations

import numpy as np
import pytest

from examples.serving.rmsnorm import make_rmsnorm, reference
from tests.examples.arrays import FULL, normal, unaligned
from tests.examples.tolerances import BF16, check_bf16, check_f32

TYPES = {"f32": np.float32, "bf16": BF16}
SIZES = [1, 7, 33, 1000, 4097, 8192, 40000]
if FULL:
    SIZES += [2, 31, 32, 63, 64, 65, 100, 255, 1023, 1024, 1025, 5000, 16384, 32768, 131072]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("N", SIZES)
def test_rows(N: int, dtype: str) -> None:
    rmsnorm = make_rmsnorm(N, dtype)
    check = check_f32 if dtype == "f32" else check_bf16
    x, w = normal(N, 6, N, dtype=TYPES[dtype]), normal(N + 1, N, dtype=TYPES[dtype])
    for m in (0, 1, 5):
        out = np.full_like(x, 7)
        rmsnorm(x, w, out, m, None)
        if m:
            check(out[:m], reference(x[:m], w))
        assert (out[m:] == 7).all()
    in_place = x.copy()
    rmsnorm(in_place, w, in_place, 6)
    check(in_place, reference(x, w))


@pytest.mark.parametrize("dtype", TYPES)
def test_unaligned_rows_and_small_numbers(dtype: str) -> None:
    x, w = unaligned(normal(0, 4, 64, dtype=TYPES[dtype])), unaligned(normal(1, 64, dtype=TYPES[dtype]))
    x[1] *= TYPES[dtype](1e-6)
    x[2] = 0
    out = unaligned(np.ones_like(x))
    make_rmsnorm(N=64, dtype=dtype)(x, w, out, 4)
    (check_f32 if dtype == "f32" else check_bf16)(out, reference(x, w))
    assert (out[2] == 0).all()


@pytest.mark.parametrize(("N", "dtype"), [(0, "f32"), (8, "fp8")])
def test_what_it_does_not_take(N: int, dtype: str) -> None:
    with pytest.raises(ValueError, match="accepted"):
        make_rmsnorm(N, dtype)


@pytest.mark.parametrize("N", [8192, 1 << 17])
def test_long_rows_of_like_values_keep_their_digits(N: int) -> None:
    x, w = np.full((2, N), 0.3, np.float32), np.ones(N, np.float32)
    out = np.empty_like(x)
    make_rmsnorm(N, "f32")(x, w, out, 2)
    check_f32(out, reference(x, w))
