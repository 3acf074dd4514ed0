"""The scalar types: one table that keys, kernel parameters, packing and code generation all read.

A scalar type is a class, so that it serves as an annotation (``n: dt.Int64``), as a cast in kernel code
(``dt.Float32(v)``) and as a value (``x.dtype == dt.f32``).  Nobody instantiates one: calling it outside kernel code
returns the numpy scalar of that type.

Source: bfloat16 and the float8 encodings are those of OCP 8-bit Floating Point (OFP8) 1.0 and of ml_dtypes.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, ClassVar


class Kind(enum.Enum):
    """What a scalar type counts in."""

    BOOL = "bool"
    INT = "int"
    UINT = "uint"
    FLOAT = "float"


class ScalarType(type):
    """Metaclass of the scalar types.

    ``name`` is the short name (``"f32"``), ``code`` the stable 8-bit number used in key words, artifacts and the native
    module, ``bits`` the storage width in bits and ``numpy_name`` the name that ``numpy.dtype`` (with ml_dtypes
    imported) knows the type by.
    """

    name: str
    code: int
    kind: Kind
    bits: int
    numpy_name: str

    @property
    def size_bytes(cls) -> int:
        """Storage size of one element in bytes."""
        return cls.bits // 8

    @property
    def is_float(cls) -> bool:
        return cls.kind is Kind.FLOAT

    @property
    def is_integer(cls) -> bool:
        """True for signed and unsigned integers, not for Bool."""
        return cls.kind in (Kind.INT, Kind.UINT)

    @property
    def is_signed(cls) -> bool:
        return cls.kind in (Kind.INT, Kind.FLOAT)

    @property
    def is_float8(cls) -> bool:
        return cls.kind is Kind.FLOAT and cls.bits == 8

    @property
    def min(cls) -> int:
        """Smallest value of an integer type."""
        return -(1 << (cls.bits - 1)) if cls.kind is Kind.INT else 0

    @property
    def max(cls) -> int:
        """Largest value of an integer type."""
        return (1 << (cls.bits - 1)) - 1 if cls.kind is Kind.INT else (1 << cls.bits) - 1

    def numpy(cls) -> Any:
        """Return the ``numpy.dtype`` of this type; imports numpy, and ml_dtypes where the type needs it."""
        import numpy as np

        if cls.code in _ML_DTYPES_CODES:
            import ml_dtypes

            return np.dtype(getattr(ml_dtypes, cls.numpy_name))
        return np.dtype(cls.numpy_name)

    def __call__(cls, value: Any = 0, /) -> Any:
        """Return ``value`` as a numpy scalar of this type; in kernel code the front end emits a cast instead."""
        return cls.numpy().type(value)

    def __repr__(cls) -> str:
        return f"dt.{cls.__name__}"


class Scalar(metaclass=ScalarType):
    """Base of the scalar types; itself no type that an argument can have."""

    name: ClassVar[str] = "scalar"
    code: ClassVar[int] = 0
    kind: ClassVar[Kind] = Kind.INT
    bits: ClassVar[int] = 0
    numpy_name: ClassVar[str] = ""

    if TYPE_CHECKING:

        def __new__(cls, value: Any = 0, /) -> Any: ...


class Bool(Scalar):
    name, code, kind, bits, numpy_name = "bool", 1, Kind.BOOL, 8, "bool"


class Int8(Scalar):
    name, code, kind, bits, numpy_name = "i8", 2, Kind.INT, 8, "int8"


class Int16(Scalar):
    name, code, kind, bits, numpy_name = "i16", 3, Kind.INT, 16, "int16"


class Int32(Scalar):
    name, code, kind, bits, numpy_name = "i32", 4, Kind.INT, 32, "int32"


class Int64(Scalar):
    name, code, kind, bits, numpy_name = "i64", 5, Kind.INT, 64, "int64"


class UInt8(Scalar):
    name, code, kind, bits, numpy_name = "u8", 6, Kind.UINT, 8, "uint8"


class UInt16(Scalar):
    name, code, kind, bits, numpy_name = "u16", 7, Kind.UINT, 16, "uint16"


class UInt32(Scalar):
    name, code, kind, bits, numpy_name = "u32", 8, Kind.UINT, 32, "uint32"


class UInt64(Scalar):
    name, code, kind, bits, numpy_name = "u64", 9, Kind.UINT, 64, "uint64"


class Float16(Scalar):
    name, code, kind, bits, numpy_name = "f16", 10, Kind.FLOAT, 16, "float16"


class BFloat16(Scalar):
    name, code, kind, bits, numpy_name = "bf16", 11, Kind.FLOAT, 16, "bfloat16"


class Float32(Scalar):
    name, code, kind, bits, numpy_name = "f32", 12, Kind.FLOAT, 32, "float32"


class Float64(Scalar):
    name, code, kind, bits, numpy_name = "f64", 13, Kind.FLOAT, 64, "float64"


class Float8E4M3FN(Scalar):
    name, code, kind, bits, numpy_name = "e4m3fn", 14, Kind.FLOAT, 8, "float8_e4m3fn"


class Float8E5M2(Scalar):
    name, code, kind, bits, numpy_name = "e5m2", 15, Kind.FLOAT, 8, "float8_e5m2"


class Float8E4M3FNUZ(Scalar):
    name, code, kind, bits, numpy_name = "e4m3fnuz", 16, Kind.FLOAT, 8, "float8_e4m3fnuz"


class Float8E5M2FNUZ(Scalar):
    name, code, kind, bits, numpy_name = "e5m2fnuz", 17, Kind.FLOAT, 8, "float8_e5m2fnuz"


_ML_DTYPES_CODES = frozenset({11, 14, 15, 16, 17})

ALL: tuple[ScalarType, ...] = (
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Float16,
    BFloat16,
    Float32,
    Float64,
    Float8E4M3FN,
    Float8E5M2,
    Float8E4M3FNUZ,
    Float8E5M2FNUZ,
)
"""Every scalar type, in the order of ``code`` (which starts at 1)."""

i8, i16, i32, i64 = Int8, Int16, Int32, Int64
u8, u16, u32, u64 = UInt8, UInt16, UInt32, UInt64
f16, bf16, f32, f64 = Float16, BFloat16, Float32, Float64
e4m3fn, e5m2, e4m3fnuz, e5m2fnuz = Float8E4M3FN, Float8E5M2, Float8E4M3FNUZ, Float8E5M2FNUZ


def by_code(code: int) -> ScalarType:
    """Return the scalar type whose ``code`` is given; raises ``KeyError`` for an unknown code."""
    if not 1 <= code <= len(ALL):
        raise KeyError(f"no scalar type has code {code}")
    return ALL[code - 1]
