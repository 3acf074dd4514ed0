"""How the scalar types stand in LLVM registers and in memory.

f16 and bf16 live in registers as ``float`` whose value is exactly representable in the narrow type: arithmetic rounds
after each operation, loads widen and stores narrow without rounding.  float8 lives as its bits.  Bool is ``i1`` in a
register and one byte in memory (nonzero is true).
"""

from __future__ import annotations

from darter.dtypes import BFloat16, Bool, Float16, Float32, Float64, ScalarType
from darter.ir.nodes import PointerType, Type


def register_type(type: Type) -> str:
    """Return the LLVM type of one lane of a value of ``type`` in a register."""
    if isinstance(type, PointerType):
        return "ptr"
    if type is Bool:
        return "i1"
    if type in (Float16, BFloat16, Float32):
        return "float"
    if type is Float64:
        return "double"
    return f"i{type.bits}"


def memory_type(dtype: ScalarType) -> str:
    """Return the LLVM type that one element of ``dtype`` is loaded and stored as."""
    if dtype is Float32:
        return "float"
    if dtype is Float64:
        return "double"
    return f"i{dtype.bits}"


def mangled(element: str, width: int) -> str:
    """Return how an intrinsic's name spells the type of ``width`` lanes of LLVM type ``element``."""
    short = {"float": "f32", "double": "f64", "half": "f16", "ptr": "p0"}.get(element, element)
    return short if width == 1 else f"v{width}{short}"
