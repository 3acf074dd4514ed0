"""What ``darter bench kernels`` measures: row kernels of ``examples/serving``, and Triton's for the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from darter.cli.beside import module_beside

SETS = 4
"""Sets of arrays that launches go round over, so that none of them is found in the L2 cache."""

SOFTMAX_SHAPES = ((8192, 8192), (4096, 32768), (65536, 1024))
RMSNORM_SHAPE = (16384, 8192)

Run = Callable[[int], None]
"""Launches on the set of arrays with this number."""


@dataclass(frozen=True, slots=True)
class KernelCase:
    """One problem: ``darter`` and each of ``triton`` (by warps) launch it; ``moved_bytes`` are read and written.

    ``error`` returns the relative error, ‖out − reference‖ / ‖reference‖, of rows of set 0, in float64.
    """

    name: str
    moved_bytes: int
    darter: Run
    triton: dict[int, Run]
    error: Callable[[], float]


def kernel_cases() -> Iterator[KernelCase]:
    """Yield the cases; each allocates its arrays when it is reached."""
    for kind in ("bf16", "f32"):
        for rows, columns in SOFTMAX_SHAPES:
            yield _softmax(rows, columns, kind)
    yield _rmsnorm(*RMSNORM_SHAPE, "bf16")


def _softmax(rows: int, columns: int, kind: str) -> KernelCase:
    example, peer = module_beside("examples.serving.softmax"), module_beside("benchmarks.triton_rows")
    launcher = example.make_softmax(columns, kind)
    inputs, outputs = _matrices(rows, columns, kind)

    def run(number: int) -> None:
        launcher(inputs[number], outputs[number], rows)

    def triton(warps: int) -> Run:
        return lambda number: peer.softmax(inputs[number], outputs[number], warps)

    moved = 2 * inputs[0].numel() * inputs[0].element_size()
    runs = {warps: triton(warps) for warps in peer.WARPS}
    return KernelCase(f"softmax_{columns}_{kind}", moved, run, runs, _error(inputs[0], outputs[0], example.reference))


def _rmsnorm(rows: int, columns: int, kind: str) -> KernelCase:
    import torch

    example, peer = module_beside("examples.serving.rmsnorm"), module_beside("benchmarks.triton_rows")
    launcher = example.make_rmsnorm(columns, kind)
    inputs, outputs = _matrices(rows, columns, kind)
    weights = torch.randn(columns, device="cuda").to(inputs[0].dtype)

    def run(number: int) -> None:
        launcher(inputs[number], weights, outputs[number], rows)

    def triton(warps: int) -> Run:
        return lambda number: peer.rmsnorm(inputs[number], weights, outputs[number], example.EPS, warps)

    moved = 2 * inputs[0].numel() * inputs[0].element_size()
    runs = {warps: triton(warps) for warps in peer.WARPS}
    wide = weights.double().cpu().numpy()
    error = _error(inputs[0], outputs[0], lambda x: example.reference(x, wide))
    return KernelCase(f"rmsnorm_{columns}_{kind}", moved, run, runs, error)


def _matrices(rows: int, columns: int, kind: str) -> tuple[list[Any], list[Any]]:
    import torch

    dtype = {"bf16": torch.bfloat16, "f32": torch.float32}[kind]
    inputs = [torch.randn(rows, columns, device="cuda", dtype=torch.float32).to(dtype) for _ in range(SETS)]
    return inputs, [torch.empty_like(each) for each in inputs]


def _error(x: Any, out: Any, reference: Callable[[Any], Any]) -> Callable[[], float]:
    def error() -> float:
        import numpy as np

        # Every 97th row: a reference of all of them would take minutes on the host.
        expected = reference(x[::97].double().cpu().numpy())
        found = out[::97].double().cpu().numpy()
        return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))

    return error
