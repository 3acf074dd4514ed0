"""``python -m darter.cli.bench.cuda_compile_times``: milliseconds to a loaded cubin, in a process of its own."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from darter.cli.beside import module_beside


def cold() -> dict[str, float]:
    """Return the median time to a loaded cubin of vector adds and softmaxes, after the first compile of the process."""
    import torch

    add = module_beside("examples.vector_add").add
    softmax = module_beside("examples.serving.softmax")
    dtypes = (torch.int32, torch.float64, torch.int64, torch.int16, torch.uint8)
    adds = []
    for dtype in (torch.float32, *dtypes):
        x = torch.ones(1000, device="cuda", dtype=dtype)
        adds.append(_milliseconds(add.warm, x, x, x))
    softmaxes = []
    for columns in (8192, 4096, 1024):
        x = torch.ones(16, columns, device="cuda")
        launcher = softmax.make_softmax(columns, "f32")
        softmaxes.append(_milliseconds(launcher.warm, x, x, 16))
    return {"first": adds[0], "vector_add": statistics.median(adds[1:]), "softmax": statistics.median(softmaxes)}


def _milliseconds(run: Callable[..., Any], *arguments: Any) -> float:
    began = time.perf_counter()
    run(*arguments)
    return (time.perf_counter() - began) * 1e3


if __name__ == "__main__":
    sys.stdout.write(json.dumps(cold()) + "\n")
