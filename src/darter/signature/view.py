"""What the readers of tensor-like arguments return, and the words of their refusals."""

from __future__ import annotations

from darter.dtypes import ALL, ScalarType
from darter.errors import ArgumentTypeError, ArgumentValueError
from darter.frozen import Frozen

CPU, CUDA, ROCM = 1, 2, 10
"""Device types of DLPack (``DLDeviceType``) that a launch can run on."""

_CUDA_HOST, _ROCM_HOST, _CUDA_MANAGED = 3, 11, 13

DEVICE_NAMES = {CPU: "cpu", CUDA: "cuda", ROCM: "hip"}
"""Backend name per device type."""


class TensorView(Frozen):
    """A tensor as darter sees it: ``address`` of element 0 in bytes, ``shape`` and ``strides`` in elements.

    Strides of axes of extent ≤ 1 mean nothing.  ``device_type`` is DLPack's.
    """

    address: int
    dtype: ScalarType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device_type: int
    device_ordinal: int
    readonly: bool

    @property
    def device(self) -> str:
        """The device in words: ``cpu``, ``cuda:0``."""
        name = DEVICE_NAMES[self.device_type]
        return name if self.device_type == CPU else f"{name}:{self.device_ordinal}"


def wrong_kind(name: str, found: str, way_out: str) -> ArgumentTypeError:
    """Return the refusal of an argument of the wrong kind or dtype: what was found, and the way out."""
    return ArgumentTypeError(f"argument '{name}': found {found}; {way_out}")


def wrong_value(name: str, found: str, way_out: str) -> ArgumentValueError:
    """Return the refusal of an argument of the right kind and a wrong value: what was found, and the way out."""
    return ArgumentValueError(f"argument '{name}': found {found}; {way_out}")


def wrong_dtype(name: str, found: str, way_out: str = "") -> ArgumentTypeError:
    """Return the refusal of an element type, with the list of those that are accepted."""
    accepted = ", ".join(dtype.numpy_name for dtype in ALL)
    hint = way_out or "convert it first, for example with .astype() or .to()."
    return wrong_kind(name, f"dtype {found}", f"accepted: {accepted}. {hint}")


def checked_view(
    name: str,
    address: int,
    dtype: ScalarType,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    device: tuple[int, int],
    readonly: bool,
) -> TensorView:
    """Return the view, after the checks that hold for every source: no negative extent, no NULL data with elements, an
    aligned base.

    Raises ``ArgumentValueError``.
    """
    if any(extent < 0 for extent in shape):
        raise wrong_value(name, f"a negative extent in shape {shape}", "its producer is broken; make an array anew.")
    empty = 0 in shape
    if not address and not empty:
        raise wrong_value(
            name,
            f"a tensor of shape {shape} with no memory behind it (NULL data)",
            "its storage was freed or never made; allocate it before the call.",
        )
    if address % dtype.size_bytes and not empty:
        raise wrong_value(
            name,
            f"a base address {address:#x} that is no multiple of the item size ({dtype.size_bytes} bytes)",
            "copy it into aligned memory, for example with .copy() or .clone().",
        )
    device_type = folded_device_type(device[0])
    if device_type not in DEVICE_NAMES:
        raise wrong_kind(
            name,
            f"a tensor on device type {device_type} (DLPack's number)",
            "accepted: cpu, cuda, hip. Move it to one of those.",
        )
    ordinal = 0 if device_type == CPU else device[1]
    return TensorView(address, dtype, shape, strides, device_type, ordinal, readonly)


def folded_device_type(device_type: int) -> int:
    """Return the device type that a launch goes by: pinned host memory is the CPU's, managed memory its GPU's."""
    if device_type in (_CUDA_HOST, _ROCM_HOST):
        return CPU
    return CUDA if device_type == _CUDA_MANAGED else device_type


def element_strides(
    name: str, shape: tuple[int, ...], strides_bytes: tuple[int, ...], item_bytes: int
) -> tuple[int, ...]:
    """Return strides in elements; raises ``ArgumentValueError`` where one in use is no multiple of the item size."""
    for axis, (extent, stride) in enumerate(zip(shape, strides_bytes, strict=True)):
        if extent > 1 and stride % item_bytes:
            raise wrong_value(
                name,
                f"a stride of {stride} bytes on axis {axis}, no multiple of the item size ({item_bytes} bytes)",
                "copy it into memory of its own, for example with .copy().",
            )
    return tuple(stride // item_bytes for stride in strides_bytes)


def compact_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the row-major strides, in elements, that a missing stride list stands for."""
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))
