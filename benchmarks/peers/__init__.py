"""Other ways to launch a kernel that does nothing, with the same argument lists; each peer is a module of its own.

A peer module has ``NAME`` and ``prepare(launch) -> Call``; it imports its library inside ``prepare``, so that a peer
that is not installed raises there and is skipped with its reason.  Every peer launches one block of 32 threads, on the
stream that its library takes when nobody says more, and gives the kernel a pointer (or array) per tensor and the
integers.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

PEERS = (
    "cuda_core",
    "cuda_bindings",
    "cupy_raw",
    "triton_jit",
    "triton_compiled",
    "numba_cuda",
    "tvm_ffi",
    "jax_jit",
)
"""Modules of this package, in the order that they are measured in."""


@dataclass(frozen=True, slots=True)
class Launch:
    """What is launched: ``size`` is S, M or L; ``tensors`` are torch CUDA tensors, f32 of rank 2, on one device."""

    size: str
    tensors: tuple[Any, ...]
    integers: tuple[int, ...]

    @property
    def names(self) -> dict[str, Any]:
        """A local name for each argument: t0, t1, …, n0, n1, …."""
        return {f"t{i}": tensor for i, tensor in enumerate(self.tensors)} | {
            f"n{i}": number for i, number in enumerate(self.integers)
        }


@dataclass(frozen=True, slots=True)
class Call:
    """One launch: ``statement`` with ``names`` in scope."""

    statement: str
    names: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A peer that is not measured here, and why."""

    name: str
    reason: str


def prepared(launch: Launch) -> Iterator[tuple[str, Call] | Skipped]:
    """Yield each peer's name and call, launched once and synchronised; or why there is none."""
    import torch

    for module_name in PEERS:
        peer = importlib.import_module(f"{__name__}.{module_name}")
        try:
            call = peer.prepare(launch)
            exec(call.statement, dict(call.names))  # noqa: S102 - the benchmark's own text
            torch.cuda.synchronize()
        except Exception as error:  # noqa: BLE001 - whatever keeps a peer from running here is the reason it is skipped
            yield Skipped(peer.NAME, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
        else:
            yield peer.NAME, call
