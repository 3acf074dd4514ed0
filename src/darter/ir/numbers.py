"""Encodings and conversions of the scalar types over numpy arrays, by integer sequences: every backend's reference.

The interpreter holds a value of every lane in an array of the type's *storage*: numpy's own type for integers, f32 and
f64, and the bits as unsigned integers for f16, bf16 and the float8 types.

Source: IEEE 754 (f16), bfloat16, OCP 8-bit Floating Point (OFP8) 1.0, ml_dtypes for the fnuz encodings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from darter import dtypes as dt

Lanes = NDArray[Any]
"""One value per thread of a block."""

_EXACT_BITS = 53  # of a double


@dataclass(frozen=True, slots=True)
class Encoding:
    """A narrow float: bits of exponent and mantissa, its bias, and the codes (without sign) of its extremes.

    ``overflow`` is what a value beyond ``largest`` becomes: infinity, or ``largest`` itself where the type saturates.
    ``infinity`` is None where the type has none.  ``nan`` carries a sign, but for the fnuz types, whose only NaN is the
    sign bit and whose zero has none.
    """

    exponent_bits: int
    mantissa_bits: int
    bias: int
    largest: int
    overflow: int
    infinity: int | None
    nan: int
    fnuz: bool = False

    @property
    def sign(self) -> int:
        return 1 << (self.exponent_bits + self.mantissa_bits)


ENCODINGS: dict[dt.ScalarType, Encoding] = {
    dt.Float16: Encoding(5, 10, 15, 0x7BFF, 0x7C00, 0x7C00, 0x7E00),
    dt.BFloat16: Encoding(8, 7, 127, 0x7F7F, 0x7F80, 0x7F80, 0x7FC0),
    dt.Float8E4M3FN: Encoding(4, 3, 7, 0x7E, 0x7E, None, 0x7F),
    dt.Float8E5M2: Encoding(5, 2, 15, 0x7B, 0x7B, 0x7C, 0x7E),
    dt.Float8E4M3FNUZ: Encoding(4, 3, 8, 0x7F, 0x7F, None, 0x80, fnuz=True),
    dt.Float8E5M2FNUZ: Encoding(5, 2, 16, 0x7F, 0x7F, None, 0x80, fnuz=True),
}


def storage(dtype: dt.ScalarType) -> np.dtype[Any]:
    """Return the numpy type that holds lanes of ``dtype``."""
    if dtype in ENCODINGS:
        return np.dtype(f"u{dtype.size_bytes}")
    return np.dtype(dtype.numpy_name)


def decode(bits: Lanes, dtype: dt.ScalarType) -> Lanes:
    """Return the values of a narrow float's ``bits`` as f32, which holds them all."""
    form = ENCODINGS[dtype]
    code = bits.astype(np.int64)
    magnitude = code & (form.sign - 1)
    exponent, mantissa = magnitude >> form.mantissa_bits, magnitude & ((1 << form.mantissa_bits) - 1)
    significand = np.where(exponent > 0, mantissa + (1 << form.mantissa_bits), mantissa)
    power = np.maximum(exponent, 1) - form.bias - form.mantissa_bits
    value = np.ldexp(significand.astype(np.float64), power)
    if form.fnuz:
        value = np.where(code == form.nan, np.nan, value)
    else:
        value = np.where(magnitude > form.largest, np.nan, value)
        if form.infinity is not None:
            value = np.where(magnitude == form.infinity, np.inf, value)
    return np.where(code & form.sign, -value, value).astype(np.float32)


def encode(values: Lanes, dtype: dt.ScalarType) -> Lanes:
    """Return the bits of f32 or f64 ``values`` rounded once, to nearest even, to a narrow float type."""
    form = ENCODINGS[dtype]
    bits = values.astype(np.float64).view(np.int64)
    negative, magnitude = bits < 0, bits & np.int64(0x7FFF_FFFF_FFFF_FFFF)
    exponent = (magnitude >> 52) - 1023
    # A double's denormals are far below half of any narrow denormal: their missing hidden bit does not matter.
    significand = (magnitude & np.int64((1 << 52) - 1)) | np.int64(1 << 52)
    smallest = 1 - form.bias
    below = np.maximum(smallest - exponent, 0)
    shift = np.minimum(52 - form.mantissa_bits + below, 54)
    kept, rest, half = significand >> shift, significand & ((1 << shift) - 1), np.int64(1) << (shift - 1)
    kept += (rest > half) | ((rest == half) & (kept & 1 == 1))
    # ``kept`` holds the hidden bit of a normal number, and a carry, so that adding runs into the exponent as it should.
    code = np.where(magnitude == 0, 0, ((np.maximum(exponent, smallest) - smallest) << form.mantissa_bits) + kept)
    code = np.where((code > form.largest) | (exponent == 1024), form.overflow, code)
    code = np.where(magnitude > 0x7FF0_0000_0000_0000, form.nan, code)
    signed = negative & (code != form.nan) & (code != 0) if form.fnuz else negative
    return np.where(signed, code | form.sign, code).astype(storage(dtype))


def widen(lanes: Lanes, dtype: dt.ScalarType) -> Lanes:
    """Return float lanes in the type that arithmetic runs in: f32 for the narrow types, else unchanged."""
    return decode(lanes, dtype) if dtype in ENCODINGS else lanes


def narrow(values: Lanes, dtype: dt.ScalarType) -> Lanes:
    """Return f32 or f64 ``values`` rounded once to the float type ``dtype``, in its storage."""
    return encode(values, dtype) if dtype in ENCODINGS else values.astype(storage(dtype))


def constant(value: bool | int | float, dtype: dt.ScalarType, threads: int) -> Lanes:
    """Return ``threads`` lanes of a constant, a float rounded once."""
    if dtype.is_float:
        return np.repeat(narrow(np.array([value], np.float64), dtype), threads)
    return np.full(threads, value, storage(dtype))


def cast(lanes: Lanes, source: dt.ScalarType, target: dt.ScalarType) -> Lanes:
    """Return ``lanes`` converted as ``nodes.Cast`` says."""
    if source is target:
        return lanes
    if target is dt.Bool:
        truth: Lanes = widen(lanes, source) != 0
        return truth
    if source.is_float:
        values = widen(lanes, source)
        return narrow(values, target) if target.is_float else _saturated(values.astype(np.float64), target)
    if not target.is_float:
        return lanes.astype(storage(target))
    if target in ENCODINGS:
        return encode(_rounded_to_odd(lanes), target)
    return lanes.astype(storage(target))


def _saturated(values: Lanes, target: dt.ScalarType) -> Lanes:
    """Return doubles truncated toward zero and held in the range of an integer type; NaN becomes 0."""
    whole = np.trunc(values)
    below, above = whole <= float(target.min), whole >= float(target.max)
    inside = ~(below | above | np.isnan(whole))
    result = np.zeros(len(values), storage(target))
    result[inside] = whole[inside].astype(storage(target))
    result[below], result[above] = target.min, target.max
    return result


def _rounded_to_odd(lanes: Lanes) -> Lanes:
    """Return integers as doubles, inexact ones with a last bit of 1, so that one more rounding is the only one."""
    if lanes.dtype.itemsize < 8:
        return lanes.astype(np.float64)
    negative = lanes < 0
    magnitude = np.where(negative, np.uint64(0) - lanes.astype(np.uint64), lanes.astype(np.uint64))
    spare = np.uint64(64 - _EXACT_BITS)
    mask = (np.uint64(1) << spare) - np.uint64(1)
    sticky = (magnitude & ~mask) | np.where(magnitude & mask != 0, mask + np.uint64(1), np.uint64(0)).astype(np.uint64)
    exact = np.where(magnitude >> np.uint64(_EXACT_BITS) == 0, magnitude, sticky).astype(np.float64)
    return np.where(negative, -exact, exact)


def bitcast(lanes: Lanes, target: dt.ScalarType) -> Lanes:
    """Return the same bits as lanes of ``target``, of the same width."""
    return lanes.view(storage(target))


def from_register(word: int, dtype: dt.ScalarType, threads: int) -> Lanes:
    """Return ``threads`` lanes of the scalar in the low bytes of a 64-bit word."""
    low = (word & (1 << dtype.bits) - 1).to_bytes(dtype.size_bytes, "little")
    if dtype is dt.Bool:
        return np.full(threads, low != b"\0")
    return np.repeat(np.frombuffer(low, storage(dtype)), threads)
