"""Arrays for the serving launchers: bf16 numbers, tables of real angles, and memory that is mapped but never filled."""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np
import pytest

from tests.examples.tolerances import BF16

FULL = os.environ.get("DARTER_HYPOTHESIS_PROFILE") == "fuzz"
"""Whether every combination is wanted (``make fuzz``), or those that CI has time for."""

Array = Any


def normal(seed: int, *shape: int, dtype: Any = np.float32) -> Array:
    """Return normally distributed numbers."""
    return np.random.default_rng(seed).standard_normal(shape, np.float32).astype(dtype)


def tables(positions: int, half: int) -> tuple[Array, Array]:
    """Return cosines and sines [positions, half] in bf16 of the angles that rotary embeddings use."""
    angle = np.arange(positions)[:, None] * 10000.0 ** (-np.arange(half) / max(half, 1))
    return np.cos(angle).astype(BF16), np.sin(angle).astype(BF16)


def unaligned(array: Array) -> Array:
    """Return a copy that begins one element after an aligned address."""
    memory = np.empty(array.size + 17, array.dtype)
    start = next(i for i in range(1, 17) if memory[i:].ctypes.data % 16 == array.itemsize % 16)
    copy = memory[start : start + array.size].reshape(array.shape)
    copy[...] = array
    return copy


def sparse(count: int, dtype: Any) -> Array:
    """Return ``count`` zeros in memory that is reserved page by page as it is touched; skips where that is refused."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000)
    try:
        memory = mmap.mmap(-1, count * np.dtype(dtype).itemsize, flags=flags)
    except (OSError, ValueError) as error:
        pytest.skip(f"{count} elements of sparse memory are refused here: {error}")
    return np.frombuffer(memory, np.uint8).view(dtype)


def spread(array: Array, strides: tuple[int, ...]) -> Array:
    """Return a copy of ``array`` whose axes have these strides (in elements), in sparse memory that begins at 0."""
    count = 1 + sum((extent - 1) * stride for extent, stride in zip(array.shape, strides, strict=True))
    flat = sparse(count, array.dtype)
    copy = np.lib.stride_tricks.as_strided(flat, array.shape, [stride * array.itemsize for stride in strides])
    copy[...] = array
    return flat, copy
