"""Reads objects with ``__array_interface__`` or ``__cuda_array_interface__``, which describe memory (version 3)."""

from __future__ import annotations

from typing import Any

from darter import _native
from darter.dtypes import ALL, ScalarType
from darter.signature.view import (
    CPU,
    CUDA,
    TensorView,
    checked_view,
    compact_strides,
    element_strides,
    wrong_dtype,
    wrong_kind,
)

_KINDS = {"bool": "b", "int": "i", "uint": "u", "float": "f"}
_BY_TYPESTR = {
    f"{_KINDS[word]}{dtype.size_bytes}": dtype
    for dtype in ALL
    if (word := dtype.numpy_name.rstrip("0123456789")) in _KINDS
}


def read_array_interface(name: str, value: Any) -> TensorView:
    """Return the view of host memory that ``value.__array_interface__`` describes."""
    return _read(name, value, "__array_interface__", (CPU, 0))


def read_cuda_array_interface(name: str, value: Any) -> TensorView:
    """Return the view of device memory that ``value.__cuda_array_interface__`` describes.

    The protocol does not say which device: the driver knows it of the address (0 where there is no memory).
    """
    address, _ = value.__cuda_array_interface__.get("data") or (0, False)
    ordinal = _native.cuda_pointer_device(address) if address else 0
    return _read(name, value, "__cuda_array_interface__", (CUDA, ordinal))


def _read(name: str, value: Any, protocol: str, device: tuple[int, int]) -> TensorView:
    interface = getattr(value, protocol)
    if interface.get("mask") is not None:
        raise wrong_kind(name, f"an {protocol} with a mask", "pass the data and the mask as two arguments.")
    typestr = interface["typestr"]
    scalar = _scalar_type(name, typestr)
    data = interface.get("data")
    if type(data) is not tuple:
        raise wrong_kind(
            name,
            f"an {protocol} that gives no address ('data' is {type(data).__name__})",
            "make a NumPy array of it first.",
        )
    address, readonly = data
    shape = tuple(int(extent) for extent in interface["shape"])
    strides_bytes = interface.get("strides")
    if strides_bytes is None:
        strides = compact_strides(shape)
    else:
        strides = element_strides(name, shape, tuple(strides_bytes), scalar.size_bytes)
    return checked_view(name, int(address or 0), scalar, shape, strides, device, bool(readonly))


def _scalar_type(name: str, typestr: str) -> ScalarType:
    scalar = _BY_TYPESTR.get(typestr[1:])
    if scalar is None:
        raise wrong_dtype(name, repr(typestr))
    if typestr[0] == ">" and scalar.size_bytes > 1:
        raise wrong_dtype(name, f"{typestr!r} in foreign byte order", "Swap it first.")
    return scalar
