"""Times cold compiles for ``darter bench kernels --backend cpu``; a process of its own, with an empty store.

Prints ``{"add": {"wall_ms": [...], "processor_ms": [...]}, ...}``, one figure a compile.  The first compile of the
process is not among them: it loads LLVM.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from darter.cli.beside import module_beside

COMPILES = 9

Compile = Callable[[int], object]
"""Compiles the variant with this number, which is new to the process and to the store."""


def main() -> None:
    """Print the times."""
    cases = {"add": _add(), "softmax": _softmax(), "fused_compress_attn": _fused()}
    cases["add"](COMPILES)
    print(json.dumps({name: _times(compile) for name, compile in cases.items()}))


def _times(compile: Compile) -> dict[str, list[float]]:
    wall, processor = [], []
    for number in range(COMPILES):
        begin, used = time.perf_counter(), time.process_time()
        compile(number)
        processor.append((time.process_time() - used) * 1e3)
        wall.append((time.perf_counter() - begin) * 1e3)
    return {"wall_ms": wall, "processor_ms": processor}


def _variants(launcher: Any, *arguments: Any) -> Compile:
    """Return compiles that differ in an option that is part of the key and changes no CPU code."""
    return lambda number: launcher.with_options(max_registers=number + 1).warm(*arguments)


def _add() -> Compile:
    x = np.zeros(1024, np.float32)
    return _variants(module_beside("examples.vector_add").add, x, x, np.zeros_like(x))


def _softmax() -> Compile:
    x = np.zeros((4, 8192), np.float32)
    softmax = module_beside("examples.serving.softmax").make_softmax(8192, "f32")
    return _variants(softmax, x, np.zeros_like(x), 4)


def _fused() -> Compile:
    """The model's own shape: rows of 512 channels, 64 of them rotated, fp8 cache."""
    make = module_beside("examples.serving.fused_compress_attn").make_fused_compress_attn
    fused = make(512, 64, 4, True, 8, 64, "fp8", "e4m3fn", True, True)
    bf16, f32, i32 = (np.zeros(1024, kind) for kind in (ml_dtypes.bfloat16, np.float32, np.int32))
    cache = np.zeros(1024, ml_dtypes.float8_e4m3fn)
    projections = (bf16, 1, bf16, 1, i32, f32, 1, 1, f32, 1, 1, i32)
    return _variants(fused, *projections, f32, bf16, bf16, bf16, cache, 1, 1, f32, 1, i32, 1, 1)


if __name__ == "__main__":
    main()
