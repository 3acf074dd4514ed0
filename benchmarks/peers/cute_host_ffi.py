"""The same as ``cute_host``, compiled with tvm-ffi's calling convention and called with torch tensors."""

from __future__ import annotations

from benchmarks.peers import Call, Launch
from benchmarks.peers.cute_host import compiled_host

NAME = "CuTe DSL compiled + tvm-ffi"


def prepare(launch: Launch) -> Call:
    """Return the call; raises ``ImportError`` where nvidia-cutlass-dsl or tvm-ffi is not installed."""
    _, compiled = compiled_host(launch, options="--enable-tvm-ffi")
    return Call(f"function({', '.join(launch.names)})", launch.names | {"function": compiled})
