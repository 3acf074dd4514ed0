"""Reads objects that export DLPack, by the capsule protocol.

Source: dlpack.h 1.0 (``DLTensor``, ``DLManagedTensor``, ``DLManagedTensorVersioned``, ``DLDataTypeCode``).
"""

from __future__ import annotations

import ctypes
from typing import Any

from darter.dtypes import ALL, Kind, ScalarType
from darter.errors import DarterError
from darter.signature.view import (
    CPU,
    TensorView,
    checked_view,
    compact_strides,
    folded_device_type,
    wrong_dtype,
    wrong_kind,
)

_READ_ONLY, _IS_COPIED = 1 << 0, 1 << 1  # DLPACK_FLAG_BITMASK_*
_CODE_BFLOAT, _CODE_BOOL = 4, 6
_FLOAT8_CODES = {"e4m3fn": 10, "e4m3fnuz": 11, "e5m2": 12, "e5m2fnuz": 13}
_CODE_BY_KIND = {Kind.INT: 0, Kind.UINT: 1, Kind.FLOAT: 2, Kind.BOOL: _CODE_BOOL}


class _DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager_context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


def _code(dtype: ScalarType) -> int:
    if dtype.name == "bf16":
        return _CODE_BFLOAT
    return _FLOAT8_CODES.get(dtype.name, _CODE_BY_KIND[dtype.kind])


_BY_CODE_AND_BITS = {(_code(dtype), dtype.bits): dtype for dtype in ALL}


def dlpack_scalar_type(code: int, bits: int, lanes: int) -> ScalarType | None:
    """Return the scalar type of a ``DLDataType``, or None where there is none."""
    return _BY_CODE_AND_BITS.get((code, bits)) if lanes == 1 else None


def read_dlpack(name: str, value: Any) -> TensorView:
    """Return the view of an object with ``__dlpack__``; the object, not the view, keeps the memory alive.

    Raises ``ArgumentTypeError`` where the object does not export itself.
    """
    try:
        capsule = _export(value)
    except DarterError:
        raise
    except Exception as error:
        cls = type(value)
        raise wrong_kind(
            name,
            f"a {cls.__module__}.{cls.__qualname__} whose __dlpack__ failed ({type(error).__name__}: {error})",
            "pass an array that exports its memory.",
        ) from error
    tensor, readonly = _tensor_of(name, capsule)
    scalar = dlpack_scalar_type(tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes)
    if scalar is None:
        raise wrong_dtype(
            name, f"with DLPack code {tensor.dtype.code}, {tensor.dtype.bits} bits, {tensor.dtype.lanes} lanes"
        )
    shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    strides = tuple(tensor.strides[axis] for axis in range(tensor.ndim)) if tensor.strides else compact_strides(shape)
    address = (tensor.data or 0) + (tensor.byte_offset if tensor.data else 0)
    return checked_view(name, address, scalar, shape, strides, (tensor.device_type, tensor.device_id), readonly)


def _export(value: Any) -> Any:
    """Ask for a versioned capsule first, which alone says whether memory is read-only.

    Of a device array, -1 asks not to synchronise, which not every producer knows; 1 is the legacy default stream.
    """
    device_type, _ = value.__dlpack_device__()
    library = type(value).__module__.partition(".")[0]
    number = -1 if library in ("cupy", "torch") else 1
    stream = {} if folded_device_type(int(device_type)) == CPU else {"stream": number}
    try:
        return value.__dlpack__(max_version=(1, 1), **stream)
    except TypeError:
        return value.__dlpack__(**stream)


def _tensor_of(name: str, capsule: Any) -> tuple[_Tensor, bool]:
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    is_valid = ctypes.pythonapi.PyCapsule_IsValid
    is_valid.restype, is_valid.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)
    if is_valid(capsule, b"dltensor_versioned"):
        versioned = _Versioned.from_address(get_pointer(capsule, b"dltensor_versioned"))
        if versioned.major != 1:
            raise wrong_kind(name, f"a DLPack capsule of version {versioned.major}", "accepted: versions 0 and 1.")
        if versioned.flags & _IS_COPIED:
            raise wrong_kind(name, "a __dlpack__ that made a copy", "results would be lost; pass a plain array.")
        return _Tensor.from_buffer_copy(versioned.tensor), bool(versioned.flags & _READ_ONLY)
    if is_valid(capsule, b"dltensor"):
        return _Tensor.from_buffer_copy(_Tensor.from_address(get_pointer(capsule, b"dltensor"))), False
    raise wrong_kind(name, "a __dlpack__ that returns no DLPack capsule", "pass an array that exports its memory.")
