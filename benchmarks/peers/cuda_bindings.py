"""``cuda.bindings.driver.cuLaunchKernel``: the kernel compiled before, pointers by ``data_ptr()``."""

from __future__ import annotations

import ctypes

from benchmarks.peers import Call, Launch, noop

NAME = "cuda.bindings"


def prepare(launch: Launch) -> Call:
    """Return the call; raises ``ImportError`` where cuda.bindings is not installed."""
    from cuda.bindings import driver

    count = len(launch.tensors) + len(launch.integers)
    status, module = driver.cuModuleLoadData(noop.ptx(count))
    if int(status) != 0:
        raise RuntimeError(f"cuModuleLoadData: {status}")
    status, function = driver.cuModuleGetFunction(module, b"noop")
    if int(status) != 0:
        raise RuntimeError(f"cuModuleGetFunction: {status}")
    names = launch.names | {
        "launch": driver.cuLaunchKernel,
        "function": function,
        "types": (ctypes.c_void_p,) * len(launch.tensors) + (ctypes.c_int64,) * len(launch.integers),
    }
    values = [f"t{i}.data_ptr()" for i in range(len(launch.tensors))] + [f"n{i}" for i in range(len(launch.integers))]
    return Call(f"launch(function, 1, 1, 1, 32, 1, 1, 0, 0, (({', '.join(values)},), types), 0)", names)
