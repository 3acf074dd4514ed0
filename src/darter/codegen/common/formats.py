"""The narrow float encodings as data, with an exact encoder for compile-time constants.

Source: IEEE 754 (f16), bfloat16, OCP 8-bit Floating Point (OFP8) 1.0, and ml_dtypes for the fnuz encodings.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from darter.dtypes import (
    BFloat16,
    Float8E4M3FN,
    Float8E4M3FNUZ,
    Float8E5M2,
    Float8E5M2FNUZ,
    Float16,
    ScalarType,
)


@dataclass(frozen=True, slots=True)
class Format:
    """A float encoding: sign, ``exponent_bits`` with ``bias``, ``mantissa_bits``.

    ``max_code`` is the magnitude of the largest finite value, ``overflow_code`` what larger ones become, ``nan_code``
    the magnitude bits of NaN, ``infinity_code`` those of infinity where there is one (float8 e5m2 reads it, and
    saturates when written).  ``unsigned_zero``: -0 does not exist and the sign bit alone is NaN (fnuz).
    """

    exponent_bits: int
    mantissa_bits: int
    bias: int
    max_code: int
    overflow_code: int
    nan_code: int
    infinity_code: int | None = None
    unsigned_zero: bool = False

    @property
    def bits(self) -> int:
        return 1 + self.exponent_bits + self.mantissa_bits

    def decode(self, code: int) -> float:
        """Return the value of ``code``."""
        sign = -1.0 if code >> (self.bits - 1) else 1.0
        magnitude = code & ((1 << (self.bits - 1)) - 1)
        if self.unsigned_zero:
            if code == 1 << (self.bits - 1):
                return math.nan
        elif magnitude > self.max_code:
            return sign * math.inf if magnitude == self.infinity_code else math.nan
        exponent, mantissa = magnitude >> self.mantissa_bits, magnitude & ((1 << self.mantissa_bits) - 1)
        if exponent == 0:
            return sign * math.ldexp(mantissa, 1 - self.bias - self.mantissa_bits)
        return sign * math.ldexp(mantissa | 1 << self.mantissa_bits, exponent - self.bias - self.mantissa_bits)


BY_DTYPE: dict[ScalarType, Format] = {
    Float16: Format(5, 10, 15, 0x7BFF, 0x7C00, 0x7E00, 0x7C00),
    BFloat16: Format(8, 7, 127, 0x7F7F, 0x7F80, 0x7FC0, 0x7F80),
    Float8E4M3FN: Format(4, 3, 7, 0x7E, 0x7E, 0x7F),
    Float8E5M2: Format(5, 2, 15, 0x7B, 0x7B, 0x7E, 0x7C),
    Float8E4M3FNUZ: Format(4, 3, 8, 0x7F, 0x7F, 0x80, unsigned_zero=True),
    Float8E5M2FNUZ: Format(5, 2, 16, 0x7F, 0x7F, 0x80, unsigned_zero=True),
}


def encode(value: float, form: Format) -> int:
    """Return the bits of ``value`` rounded once to ``form``, to nearest even, with its overflow and NaN rules."""
    sign = (math.copysign(1.0, value) < 0.0) << (form.bits - 1)
    if value != value:
        return form.nan_code if form.unsigned_zero else form.nan_code | sign
    if math.isinf(value):
        return form.overflow_code | sign
    magnitude = _round_magnitude(abs(value), form)
    if magnitude > form.max_code:
        magnitude = form.overflow_code
    return 0 if form.unsigned_zero and magnitude == 0 else magnitude | sign


def _round_magnitude(value: float, form: Format) -> int:
    if value == 0.0:
        return 0
    exponent = max(math.frexp(value)[1] - 1, 1 - form.bias)
    units = round(Fraction(value) / Fraction(2) ** (exponent - form.mantissa_bits))
    # A carry out of the mantissa, and out of the denormals, runs into the exponent as it should.
    return ((exponent + form.bias - 1) << form.mantissa_bits) + units
