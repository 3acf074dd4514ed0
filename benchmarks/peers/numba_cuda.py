"""numba-cuda's ``@cuda.jit`` on its own device arrays."""

from __future__ import annotations

from benchmarks.peers import Call, Launch

NAME = "numba"


def prepare(launch: Launch) -> Call:
    """Return the call; raises ``ImportError`` where numba-cuda is not installed."""
    import numpy

    if not hasattr(numpy, "row_stack"):
        numpy.row_stack = numpy.vstack  # numba-cuda 0.30 still asks for it, NumPy 2.5 no longer has it
    from numba import cuda

    names = launch.names
    namespace: dict[str, object] = {}
    exec(f"def noop({', '.join(names)}): pass", namespace)  # noqa: S102 - the benchmark's own text
    kernel = cuda.jit(namespace["noop"])
    arrays = {f"t{i}": cuda.as_cuda_array(tensor) for i, tensor in enumerate(launch.tensors)}
    return Call(f"kernel[1, 32]({', '.join(names)})", names | arrays | {"kernel": kernel})
