"""A plain call of ``@triton.jit`` on torch tensors."""

from __future__ import annotations

from benchmarks.peers import Call, Launch

NAME = "triton"


def prepare(launch: Launch) -> Call:
    """Return the call; raises ``ImportError`` where Triton is not installed."""
    from benchmarks.peers.triton_kernels import KERNELS

    names = launch.names
    return Call(f"kernel[(1,)]({', '.join(names)}, num_warps=1)", names | {"kernel": KERNELS[launch.size]})
