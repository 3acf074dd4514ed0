"""CuPy's ``RawKernel`` on CuPy arrays."""

from __future__ import annotations

from benchmarks.peers import Call, Launch, noop

NAME = "cupy"


def prepare(launch: Launch) -> Call:
    """Return the call; raises ``ImportError`` where CuPy is not installed."""
    import cupy

    kernel = cupy.RawKernel(noop.source(len(launch.tensors), len(launch.integers)), "noop")
    names = launch.names | {f"t{i}": cupy.asarray(tensor) for i, tensor in enumerate(launch.tensors)}
    return Call(f"kernel((1,), (32,), ({', '.join(names)},))", names | {"kernel": kernel})
