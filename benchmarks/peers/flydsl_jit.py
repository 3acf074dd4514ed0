"""A plain call of ``@flyc.jit`` on torch tensors, over a HIP library that does nothing."""

from __future__ import annotations

from benchmarks.peers import Call, Launch
from benchmarks.peers.flydsl_stub import stubbed_launcher

NAME = "FlyDSL @flyc.jit"


def prepare(launch: Launch) -> Call:
    """Return the call; raises ``ImportError`` where FlyDSL is not installed."""
    _, launcher = stubbed_launcher(launch)
    return Call(f"function({', '.join(launch.names)})", launch.names | {"function": launcher})
