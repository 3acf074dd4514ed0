"""``python -m darter.cli.bench.first_launch cpu|cuda CASE``: times the first launch of a process whose store has it.

Prints milliseconds of wall clock and of processor.  What a serving process has done by then is done before: numpy or
torch and darter are imported, the launcher's module too, the arguments are made, the device's context stands.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from darter.cli.beside import module_beside

CASES = ("vector_add", "softmax")


def main(backend: str, case: str) -> None:
    """Print where the first launch found its code ("disk" or "compile") and what it took."""
    x, out = _arrays(backend)
    launcher, arguments = _launch(case, x, out)
    began, used = time.perf_counter(), time.process_time()
    launcher(*arguments)
    spent, processor = time.perf_counter() - began, time.process_time() - used
    origin = "compile" if launcher.cache_info().compiles else "disk"
    sys.stdout.write(f"{origin} {spent * 1e3} {processor * 1e3}\n")


def _arrays(backend: str) -> tuple[Any, Any]:
    """Return 16 rows of 1024 float32, and room for as many."""
    if backend == "cpu":
        import numpy as np

        return np.ones((16, 1024), np.float32), np.zeros((16, 1024), np.float32)
    import torch

    arrays = torch.ones(16, 1024, device="cuda"), torch.zeros(16, 1024, device="cuda")
    torch.cuda.synchronize()
    return arrays


def _launch(case: str, x: Any, out: Any) -> tuple[Any, tuple[Any, ...]]:
    if case == "vector_add":
        return module_beside("examples.vector_add").add, (x.reshape(-1), x.reshape(-1), out.reshape(-1))
    return module_beside("examples.serving.softmax").make_softmax(1024, "f32"), (x, out, 16)


if __name__ == "__main__":
    main(*sys.argv[1:])
