"""A ``jax.jit`` function of the same arguments that copies its first one: JAX launches nothing for a no-op."""

from __future__ import annotations

import os

from benchmarks.peers import Call, Launch

NAME = "jax"


def prepare(launch: Launch) -> Call:
    """Return the call; raises ``ImportError`` where JAX is not installed."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax

    if jax.default_backend() != "gpu":
        raise RuntimeError(f"JAX runs on {jax.default_backend()} here")
    names = launch.names
    arrays = {f"t{i}": jax.numpy.zeros(tuple(tensor.shape), "float32") for i, tensor in enumerate(launch.tensors)}
    return Call(f"kernel({', '.join(names)})", names | arrays | {"kernel": jax.jit(lambda first, *rest: first + 1)})
