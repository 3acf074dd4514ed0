"""The readable reading of a tensor-like argument into a ``TensorView``, with every refusal.

The native readers do the same for the types they know and leave the wording of refusals to this module.  NumPy arrays
are read here; the readers of torch tensors and of the exchange protocols stand beside it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from darter.dtypes import ALL, ScalarType
from darter.later import later
from darter.signature.view import CPU, TensorView, checked_view, element_strides, wrong_dtype, wrong_kind

if TYPE_CHECKING:
    from darter.signature import dlpack, interfaces, torch_reader
else:
    dlpack = later("darter.signature.dlpack")
    interfaces = later("darter.signature.interfaces")
    torch_reader = later("darter.signature.torch_reader")

TENSOR_LIKE = (
    "NumPy arrays, torch tensors, and objects with __dlpack__, __cuda_array_interface__ or __array_interface__"
)

_BY_KIND_AND_SIZE = {
    ("b" if dtype.name == "bool" else dtype.numpy_name[0], dtype.size_bytes): dtype
    for dtype in ALL
    if dtype.numpy_name.rstrip("0123456789") in ("bool", "int", "uint", "float")
}


def numpy_scalar_type(dtype: np.dtype[Any]) -> ScalarType | None:
    """Return the scalar type of a native-endian NumPy dtype, or None where there is none.

    NumPy's own types go by kind and size (``longlong`` is ``int64``), those of ml_dtypes by identity of the type.
    """
    if dtype.num < 256:  # NPY_USERDEF: the first number of a type that a library registered
        return _BY_KIND_AND_SIZE.get((dtype.kind, dtype.itemsize)) if dtype.kind in "biuf" else None
    for candidate in ALL:
        if candidate.numpy_name == dtype.type.__name__ and candidate.numpy().type is dtype.type:
            return candidate
    return None


def is_tensor_like(value: object) -> bool:
    """True for what :func:`read_tensor` reads or refuses for its layout, not for its kind.  Reads no data."""
    if isinstance(value, np.ndarray) or _is_torch_tensor(value):
        return True
    cls = type(value)
    if isinstance(value, (np.generic, type)):
        return False
    return any(hasattr(cls, name) for name in ("__dlpack__", "__cuda_array_interface__", "__array_interface__"))


def read_tensor(name: str, value: Any) -> TensorView:
    """Return what ``value``, the argument ``name``, is as a tensor.

    Raises ``ArgumentTypeError`` for kinds and dtypes and ``ArgumentValueError`` for layouts that are not accepted.
    """
    if isinstance(value, np.ndarray):
        return _read_numpy(name, value)
    if _is_torch_tensor(value):
        return torch_reader.read_torch(name, value)
    if not is_tensor_like(value):
        raise not_a_tensor(name, value)
    cls = type(value)
    if hasattr(cls, "__dlpack__") and hasattr(cls, "__dlpack_device__"):
        return dlpack.read_dlpack(name, value)
    if hasattr(cls, "__cuda_array_interface__"):
        return interfaces.read_cuda_array_interface(name, value)
    if hasattr(cls, "__array_interface__"):
        return interfaces.read_array_interface(name, value)
    raise not_a_tensor(name, value)


def not_a_tensor(name: str, value: object) -> TypeError:
    """Return the refusal of something that is no tensor at all."""
    cls = type(value)
    if value is None:
        found, way_out = "None", "the parameter is not optional; annotate it with `| None` to admit None."
    elif cls in (list, tuple):
        found, way_out = f"a {cls.__name__}", "make an array of it first, for example with numpy.asarray."
    elif isinstance(value, (bool, int, float, complex, np.generic)):
        found, way_out = f"the number {value!r} ({cls.__name__})", "put it into an array, or annotate a scalar type."
    else:
        found, way_out = f"a {cls.__module__}.{cls.__qualname__}", "give its class one of those protocols."
    return wrong_kind(name, found, f"accepted: {TENSOR_LIKE}. Way out: {way_out}")


def _is_torch_tensor(value: object) -> bool:
    """True for torch tensors and instances of their subclasses; an argument that is one means torch is imported."""
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)
    return tensor is not None and isinstance(value, tensor)


def _read_numpy(name: str, array: np.ndarray[Any, Any]) -> TensorView:
    cls = type(array)
    if cls is not np.ndarray and cls is not np.memmap:
        raise _numpy_subclass(name, cls)
    dtype = array.dtype
    scalar = numpy_scalar_type(dtype)
    if scalar is None:
        raise _numpy_dtype(name, dtype)
    if not dtype.isnative:
        raise wrong_dtype(
            name,
            f"{dtype} in foreign byte order ({dtype.str})",
            "Swap it first: x.astype(x.dtype.newbyteorder('=')).",
        )
    strides = element_strides(name, array.shape, array.strides, dtype.itemsize)
    return checked_view(name, array.ctypes.data, scalar, array.shape, strides, (CPU, 0), not array.flags.writeable)


def _numpy_subclass(name: str, cls: type) -> TypeError:
    shown = f"a {cls.__module__}.{cls.__qualname__}, a subclass of numpy.ndarray"
    if issubclass(cls, np.ma.MaskedArray):
        way_out = "fill it first with x.filled(value), or pass x.data and the mask as two arguments."
    else:
        way_out = "pass the plain array under it: x.view(numpy.ndarray)."
    return wrong_kind(name, shown, f"accepted: numpy.ndarray and numpy.memmap. {way_out}")


def _numpy_dtype(name: str, dtype: np.dtype[Any]) -> TypeError:
    if dtype.fields is not None:
        return wrong_dtype(name, f"{dtype} (structured)", "Pass its fields as separate arguments.")
    if dtype.kind == "c":
        return wrong_dtype(name, str(dtype), "Pass x.real and x.imag, or x.view of the float type.")
    if dtype.kind in "Mm":
        return wrong_dtype(name, str(dtype), "Pass x.view(numpy.int64).")
    if dtype.kind == "O":
        return wrong_dtype(name, "object", "Build the array with a numeric dtype.")
    if dtype.kind in "USTV":
        return wrong_dtype(
            name, f"{dtype} (kind {dtype.kind!r})", "Text and raw bytes have no arithmetic; pass numbers."
        )
    return wrong_dtype(name, str(dtype))
