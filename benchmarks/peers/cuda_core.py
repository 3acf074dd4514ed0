"""``cuda.core.launch``: the kernel compiled before, pointers by ``data_ptr()``."""

from __future__ import annotations

from typing import Any

from benchmarks.peers import Call, Launch, noop

NAME = "cuda.core"


def prepare(launch: Launch) -> Call:
    """Return the call; raises ``ImportError`` where cuda.core is not installed."""
    core = _core()
    device = core.Device(launch.tensors[0].device.index)
    device.set_current()
    count = len(launch.tensors) + len(launch.integers)
    code = core.ObjectCode.from_ptx(noop.ptx(count).rstrip(b"\0"))
    names = launch.names | {
        "launch": core.launch,
        "stream": device.default_stream,
        "config": core.LaunchConfig(grid=1, block=32),
        "kernel": code.get_kernel("noop"),
    }
    arguments = [f"t{i}.data_ptr()" for i in range(len(launch.tensors))] + [
        f"n{i}" for i in range(len(launch.integers))
    ]
    return Call(f"launch(stream, config, kernel, {', '.join(arguments)})", names)


def _core() -> Any:
    import cuda.core as core

    if not hasattr(core, "launch"):
        import cuda.core.experimental as core
    return core
