"""tvm-ffi's packed call of a C++ function that does nothing: its own test function, on torch tensors."""

from __future__ import annotations

from benchmarks.peers import Call, Launch

NAME = "tvm-ffi packed call"


def prepare(launch: Launch) -> Call:
    """Return the call; raises ``ImportError`` where tvm-ffi is not installed."""
    import tvm_ffi

    function = tvm_ffi.get_global_func("testing.nop")
    return Call(f"function({', '.join(launch.names)})", launch.names | {"function": function})
