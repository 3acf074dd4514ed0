"""Arrays for a window's calls: NumPy arrays, or torch tensors on the CPU or the GPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any


@dataclass(frozen=True, slots=True)
class Arrays:
    """Makes arrays of one library on one device; types go by darter's short names ("bf16", "i32", …)."""

    empty: Callable[[tuple[int, ...], str], Array]
    copied: Callable[[np.ndarray], Array]


def arrays(library: str, backend: str) -> Arrays:
    """Return the maker for ``library`` "numpy" or "torch" and ``backend`` "cpu" or "cuda".

    Raises:
        ValueError: the two do not go together.
    """
    if library == "torch":
        return _torch("cuda" if backend == "cuda" else "cpu")
    if backend != "cpu":
        raise ValueError(f"arguments {library!r} are on the CPU; for backend {backend!r} take --arguments torch")
    return _numpy()


def _numpy() -> Arrays:
    import ml_dtypes

    types: dict[str, Any] = {
        "bf16": ml_dtypes.bfloat16,
        "e4m3fn": ml_dtypes.float8_e4m3fn,
        "f32": np.float32,
        "i32": np.int32,
        "i64": np.int64,
    }

    def empty(shape: tuple[int, ...], dtype: str) -> Array:
        # Zeros, of which the system gives out pages only once they are touched.
        return np.zeros(shape, types[dtype])

    return Arrays(empty, lambda array: array)


def _torch(device: str) -> Arrays:
    import torch

    types = {
        "bf16": torch.bfloat16,
        "e4m3fn": torch.float8_e4m3fn,
        "f32": torch.float32,
        "i32": torch.int32,
        "i64": torch.int64,
    }

    def empty(shape: tuple[int, ...], dtype: str) -> Array:
        return torch.zeros(shape, dtype=types[dtype], device=device)

    return Arrays(empty, lambda array: torch.from_numpy(array).to(device))
