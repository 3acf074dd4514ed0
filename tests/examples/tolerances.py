"""What a serving launcher's results may differ by from float64: the rules for f32, bf16, fp8 codes and scales."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

BF16 = ml_dtypes.bfloat16
CODES = {"e4m3fn": ml_dtypes.float8_e4m3fn, "e4m3fnuz": ml_dtypes.float8_e4m3fnuz}
LARGEST = {"e4m3fn": 448.0, "e4m3fnuz": 240.0}
_SMALLEST_NORMAL = {"e4m3fn": -6, "e4m3fnuz": -7}

Array = Any


def _rounded(x: Array, digits: int, smallest_normal: int) -> Array:
    """Round float64 to ``digits`` binary digits, half to even, subnormals below 2**smallest_normal; in one step."""
    _, exponent = np.frexp(x)
    quantum = np.exp2(np.maximum(exponent, smallest_normal + 1).astype(np.float64) - digits)
    return np.rint(x / quantum) * quantum


def to_bf16(x: Array) -> Array:
    """Return float64 rounded to bf16."""
    return _rounded(np.asarray(x, np.float64), 8, -126).astype(np.float32).astype(BF16)


def to_code(x: Array, fp8: str) -> Array:
    """Return float64 rounded to fp8, saturated."""
    limited = np.clip(_rounded(np.asarray(x, np.float64), 4, _SMALLEST_NORMAL[fp8]), -LARGEST[fp8], LARGEST[fp8])
    return limited.astype(np.float32).astype(CODES[fp8])


def _ordered(bits: Array, width: int) -> Array:
    """Return sign-and-magnitude bits as integers in the numbers' order; −0 and +0 are 0."""
    bits = bits.astype(np.int64)
    magnitude = bits & ((1 << (width - 1)) - 1)
    return np.where(bits >> (width - 1) != 0, -magnitude, magnitude)


def check_f32(found: Array, exact: Array) -> None:
    """Assert a relative norm error of 1e-6 at most."""
    assert found.dtype == np.float32
    assert np.isfinite(found).all()
    assert np.linalg.norm(found - exact) <= 1e-6 * np.linalg.norm(exact)


def check_bf16(found: Array, exact: Array) -> None:
    """Assert the rule for bf16; ``exact`` is float64, rows along the last axis."""
    if not found.size:
        return
    wanted = to_bf16(exact)
    a, b = found.astype(np.float64), wanted.astype(np.float64)
    assert np.isfinite(a).all()
    assert np.linalg.norm(a - b) <= 2e-3 * np.linalg.norm(b)
    steps = np.abs(_ordered(found.view(np.uint16), 16) - _ordered(wanted.view(np.uint16), 16))
    rms = np.sqrt(np.mean(exact * exact, axis=-1, keepdims=True))
    assert ((steps <= 1) | (np.abs(a - exact) <= 1e-6 * rms)).all()
    assert (steps == 0).mean() >= 0.99


def check_codes(found: Array, scaled: Array, fp8: str) -> None:
    """Assert the rule for codes; ``scaled`` is the float64 value over the stored scale."""
    bits, wanted = found.view(np.uint8), to_code(scaled, fp8).view(np.uint8)
    assert not ((bits & 0x7F) == 0x7F if fp8 == "e4m3fn" else bits == 0x80).any(), "NaN codes"
    steps = np.abs(_ordered(bits, 8) - _ordered(wanted, 8))
    assert (steps != 0).sum() <= max(1, steps.size // 1000)
    assert steps.max(initial=0) <= 1


def check_scales(found: Array, exact: Array, power_of_two: bool = False) -> None:
    """Assert scales within 1e-6; with ``power_of_two``, ``exact`` rounded up, either neighbour where it is close."""
    assert found.dtype == np.float32
    if not power_of_two:
        np.testing.assert_allclose(found, exact, rtol=1e-6, atol=0)
        return
    exponent = np.log2(exact)
    low, high = np.exp2(np.ceil(exponent - 1.5e-6)), np.exp2(np.ceil(exponent + 1.5e-6))
    assert ((found == low) | (found == high)).all()
