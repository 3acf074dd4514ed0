"""LLVM text for CUDA of a launcher's kernel, places included; ``python -m tests.golden.test_nvptx_text`` writes it."""

from __future__ import annotations

import pathlib

import numpy as np

from darter.codegen.nvptx import llvm_text
from tests.golden.programs import vector_add
from tests.unit.frontend import harness

_GOLDEN = pathlib.Path(__file__).with_name("nvptx_text.txt")


def written() -> str:
    x = np.zeros(100, np.float32)
    module = harness.traced(vector_add, x, x, x, 256, None, target=harness.GPU)
    return llvm_text(module.kernels, harness.GPU, module.functions)[0]


def test_llvm_text_with_the_places_of_the_source() -> None:
    assert written() == _GOLDEN.read_text()


if __name__ == "__main__":
    _GOLDEN.write_text(written())
