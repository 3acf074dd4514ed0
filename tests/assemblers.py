"""The assembler that tests of GPU code use on machines without a GPU."""

from __future__ import annotations

import pytest

from darter.artifacts import cuda_toolkit
from darter.backends.assembler import Assembler
from darter.backends.toolkit_assemblers import choose


def ptxas() -> Assembler:
    """Return NVIDIA's ptxas, or skip the test: ``pip install nvidia-cuda-nvcc`` brings it."""
    if cuda_toolkit.find(cuda_toolkit.PTXAS) is None:
        pytest.skip("no ptxas here; pip install nvidia-cuda-nvcc brings it")
    return choose("ptxas", None)
