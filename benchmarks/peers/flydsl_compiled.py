"""A call of what ``flyc.compile`` returned, on torch tensors, over a HIP library that does nothing."""

from __future__ import annotations

from benchmarks.peers import Call, Launch
from benchmarks.peers.flydsl_stub import stubbed_launcher

NAME = "FlyDSL compiled"


def prepare(launch: Launch) -> Call:
    """Return the call; raises ``ImportError`` where FlyDSL is not installed."""
    compile_launcher, launcher = stubbed_launcher(launch)
    import flydsl.expr as fx

    stream = fx.Stream(None)
    compiled = compile_launcher(launcher, *launch.names.values(), stream)
    names = launch.names | {"function": compiled, "stream": stream}
    return Call(f"function({', '.join(launch.names)}, stream)", names)
