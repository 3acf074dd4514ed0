"""numba's ``@njit`` of an empty function, on NumPy arrays."""

from __future__ import annotations

from benchmarks.peers import Call, Launch

NAME = "numba @njit"


def prepare(launch: Launch) -> Call:
    """Return the call; raises ``ImportError`` where numba is not installed."""
    from numba import njit

    names = launch.names
    namespace: dict[str, object] = {}
    exec(f"def noop({', '.join(names)}): pass", namespace)  # noqa: S102 - names are all that varies
    arrays = {f"t{i}": tensor.numpy() for i, tensor in enumerate(launch.tensors)}
    return Call(f"function({', '.join(names)})", names | arrays | {"function": njit(namespace["noop"])})
