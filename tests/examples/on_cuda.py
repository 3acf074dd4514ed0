"""The same calls on a CUDA device: arrays become torch tensors there, and what the call wrote comes back."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any
_BITS = {1: np.uint8, 2: np.int16, 4: np.int32, 8: np.int64}


def plain_tensor(array: Array) -> Any:
    """Return a numpy array, of ml_dtypes' types too, as a torch tensor of the same memory."""
    import torch

    if array.dtype.kind != "V":
        return torch.from_numpy(array)
    return torch.from_numpy(array.view(_BITS[array.dtype.itemsize])).view(getattr(torch, array.dtype.name))


def to_device(array: Array) -> Any:
    """Return a copy of a numpy array, of ml_dtypes' types too, as a torch tensor on the GPU."""
    tensor = plain_tensor(array)
    return tensor.view(_bits(tensor)).cuda().view(tensor.dtype)


def _bits(tensor: Any) -> Any:
    """Return the integer type of a tensor's element size: what every device copies, whatever the type is."""
    import torch

    return {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()]


def copy_back(tensor: Any, array: Array) -> None:
    """Copy what a tensor of :func:`to_device` holds into the array that it was made from."""
    array.view(_BITS[array.dtype.itemsize])[...] = tensor.view(_bits(tensor)).cpu().numpy()


def spread_on_device(array: Array, strides: tuple[int, ...]) -> tuple[Any, Any]:
    """Return device memory, flat, and a copy of ``array`` in it whose axes have these strides (in elements)."""
    import torch

    near = to_device(array)
    count = 1 + sum((extent - 1) * stride for extent, stride in zip(array.shape, strides, strict=True))
    flat = torch.empty(count, dtype=near.dtype, device="cuda")
    far = torch.as_strided(flat, array.shape, strides)
    far.view(_bits(far)).copy_(near.view(_bits(near)))
    return flat, far


def call(launcher: Any, arguments: list[Any]) -> None:
    """Call ``launcher`` with every array moved to the GPU, and copy all of them back."""
    import torch

    tensors: dict[int, Any] = {}
    given = []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            argument = tensors.setdefault(id(argument), to_device(argument))
        given.append(argument)
    launcher(*given)
    torch.cuda.synchronize()
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            copy_back(tensors[id(argument)], argument)
