"""A Triton kernel compiled before, launched by its handle on torch tensors."""

from __future__ import annotations

from benchmarks.peers import Call, Launch

NAME = "triton_compiled"


def prepare(launch: Launch) -> Call:
    """Return the call; raises ``ImportError`` where Triton is not installed."""
    from benchmarks.peers.triton_kernels import KERNELS

    names = launch.names
    compiled = KERNELS[launch.size][(1,)](*names.values(), num_warps=1)
    return Call(f"kernel[(1, 1, 1)]({', '.join(names)})", names | {"kernel": compiled})
