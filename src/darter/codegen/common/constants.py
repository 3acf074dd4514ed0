"""Constants as LLVM text, floats by their exact bits."""

from __future__ import annotations

import math
import struct

from darter.codegen.common.formats import BY_DTYPE, encode
from darter.dtypes import Bool, Float32, Float64, ScalarType


def float32_literal(value: float) -> str:
    """Return ``value`` rounded to f32 (nearest even) as an LLVM ``float`` constant."""
    try:
        rounded = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        rounded = math.copysign(math.inf, value)
    return float64_literal(rounded)


def float64_literal(value: float) -> str:
    """Return ``value`` as an LLVM ``double`` (or, if it is representable, ``float``) constant."""
    if value != value:
        return "0x7FF8000000000000"
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def literal(value: bool | int | float, dtype: ScalarType) -> str:
    """Return the constant ``value`` of ``dtype`` as it stands in a register."""
    if dtype is Bool:
        return "true" if value else "false"
    if dtype.is_integer:
        return str(int(value))
    number = float(value)
    if dtype is Float64:
        return float64_literal(number)
    if dtype is Float32:
        return float32_literal(number)
    form = BY_DTYPE[dtype]
    bits = encode(number, form)
    return str(bits) if dtype.is_float8 else float64_literal(form.decode(bits))
