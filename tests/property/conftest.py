"""Fixtures of the property tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest


def _shown(array: Any) -> str:
    return (
        f"<{type(array).__name__} {array.dtype} {array.shape} strides {array.strides} at 64k+{array.ctypes.data % 64}>"
    )


def _shown_tensor(tensor: Any) -> str:
    place = tensor.data_ptr() % 64
    return f"<torch.Tensor {tensor.dtype} {tuple(tensor.shape)} strides {tensor.stride()} at 64k+{place}>"


@pytest.fixture(scope="module")
def layouts_are_shown() -> Iterator[None]:
    """Show arrays by their layout: elements of arrays made by stride tricks lie in nobody's memory."""
    with pytest.MonkeyPatch.context() as patch, np.printoptions():
        np.set_printoptions(override_repr=_shown)
        if "torch" in sys.modules:
            patch.setattr(sys.modules["torch"].Tensor, "__repr__", _shown_tensor)
        yield
