"""Launchers of one kernel of two arrays, one block of which is all that a test needs."""

from __future__ import annotations

from typing import Any

import darter as dt

N = 128
BLOCK = 64


def launcher(kernel: Any, *, grid: int = 1, block: int = N, shared: int = 0) -> Any:
    """Return a launcher of ``kernel(x, out)``."""

    @dt.jit(on_drift="recompile")
    def launch(x: dt.Tensor, out: dt.Tensor):
        kernel(x, out).launch(grid=grid, block=block, shared=shared)

    return launch


def result(kernel: Any, x: Any, out: Any, **options: int) -> Any:
    """Launch ``kernel(x, out)``; return ``out``."""
    launcher(kernel, **options)(x, out)
    return out
