"""``jax.jit`` of a function of the same arguments that returns nothing, on the CPU."""

from __future__ import annotations

from benchmarks.peers import Call, Launch

NAME = "jax.jit"


def prepare(launch: Launch) -> Call:
    """Return the call; raises ``ImportError`` where JAX is not installed."""
    import jax

    if jax.default_backend() != "cpu":
        raise RuntimeError(f"JAX runs on {jax.default_backend()} here")
    names = launch.names
    arrays = {f"t{i}": jax.numpy.asarray(tensor.numpy()) for i, tensor in enumerate(launch.tensors)}
    return Call(f"function({', '.join(names)})", names | arrays | {"function": jax.jit(lambda *given: None)})
