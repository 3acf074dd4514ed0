"""The machines that the backend tests run on: the same NumPy arrays go in and come out, whatever lies between."""

from __future__ import annotations

import importlib.util
from typing import Any

import ml_dtypes
import numpy as np

import darter as dt

_TORCH_NAMES = {
    np.dtype(ml_dtypes.bfloat16): "bfloat16",
    np.dtype(ml_dtypes.float8_e4m3fn): "float8_e4m3fn",
    np.dtype(ml_dtypes.float8_e4m3fnuz): "float8_e4m3fnuz",
    np.dtype(ml_dtypes.float8_e5m2): "float8_e5m2",
    np.dtype(ml_dtypes.float8_e5m2fnuz): "float8_e5m2fnuz",
}


class HostMachine:
    """The CPU backend or the interpreter: arrays are NumPy's own."""

    def __init__(self, name: str) -> None:
        self.name = name

    def put(self, array: np.ndarray) -> Any:
        return array

    def take(self, argument: Any) -> np.ndarray:
        return argument

    def synchronize(self) -> None:
        dt.synchronize()


class CudaMachine:
    """One CUDA device: arrays are torch tensors of the same shape and strides."""

    name = "cuda"

    def __init__(self, ordinal: int = 0) -> None:
        import torch

        self._torch = torch
        self.device = torch.device("cuda", ordinal)

    def put(self, array: np.ndarray) -> Any:
        """Return a tensor with the array's elements and strides; strides may be 0, and not negative."""
        torch = self._torch
        axes = list(zip(array.shape, array.strides, strict=True))
        elements = [1 if extent < 2 else stride // array.itemsize for extent, stride in axes]
        reach = sum((extent - 1) * step for extent, step in zip(array.shape, elements, strict=True))
        span = 1 + reach if array.size else 0
        # As integers: NumPy's array interface has no name for float8.
        words = array.view(f"i{array.itemsize}")
        flat = np.lib.stride_tricks.as_strided(words, (span,), (array.itemsize,))
        bits = torch.from_numpy(flat.copy()).to(self.device)
        name = _TORCH_NAMES.get(array.dtype, array.dtype.name)
        return bits.view(getattr(torch, name)).as_strided(array.shape, elements)

    def take(self, argument: Any) -> np.ndarray:
        torch = self._torch
        torch.cuda.synchronize(self.device)
        names = {value: key for key, value in _TORCH_NAMES.items()}
        word = str(argument.dtype).removeprefix("torch.")
        dtype = names.get(word) or np.dtype(word)
        host = argument.contiguous().cpu()
        return host.view(getattr(torch, f"int{8 * dtype.itemsize}")).numpy().view(dtype).reshape(argument.shape)

    def synchronize(self) -> None:
        dt.synchronize(self.device.index)


def cuda_absence() -> str | None:
    """Return why there is no CUDA machine here, or None where there is one."""
    if importlib.util.find_spec("torch") is None:
        return "torch is not installed: nothing to make CUDA arrays with"
    import torch

    return None if torch.cuda.is_available() else "no CUDA device"
