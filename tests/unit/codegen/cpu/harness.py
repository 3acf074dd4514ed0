"""Runs compiled kernels: the object loaded by the native module, its entry called through ctypes, block after block."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from darter import _native
from darter.backends.cpu import HOST_FUNCTIONS
from darter.codegen.cpu import compile_kernels
from darter.ir.nodes import Kernel
from darter.target import Target

Argument = NDArray[Any] | np.generic | int
_ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)


class Launch(ctypes.Structure):
    _fields_ = (("grid", ctypes.c_int64 * 3), ("shared_bytes", ctypes.c_int64), ("host", ctypes.c_void_p))


def host_target(width: int = 32) -> Target:
    """Return the CPU that the tests run on."""
    level, features = _native.cpu_architecture()
    return Target("cpu", level, features, width)


class Compiled:
    """One kernel, loaded."""

    def __init__(self, kernel: Kernel, target: Target | None = None) -> None:
        code, (self.entry,) = compile_kernels([kernel], target or host_target(kernel.warp_size))
        self._code = _native.load_object(code, HOST_FUNCTIONS)
        self._function = _ENTRY(self._code.entry(self.entry.symbol))

    def __call__(self, grid: Sequence[int], *arguments: Argument, shared: int = 0) -> None:
        registers = (ctypes.c_uint64 * max(1, len(arguments)))(*(_register(argument) for argument in arguments))
        places = [ctypes.addressof(registers) + 8 * position for position in range(len(registers))]
        params = (ctypes.c_void_p * len(places))(*places)
        extents = (ctypes.c_int64 * 3)(*grid, *[1] * (3 - len(grid)))
        launch = Launch(extents, shared, None)
        # What a block does not write has a value that no test expects.
        scratch = np.full(self.entry.scratch_bytes + shared + 64, 0xA5, np.uint8)
        base = scratch.ctypes.data + (-scratch.ctypes.data) % 64
        self._function(params, ctypes.byref(launch), 0, extents[0] * extents[1] * extents[2], base)


def _register(argument: Argument) -> int:
    if isinstance(argument, np.ndarray):
        return int(argument.ctypes.data)
    if isinstance(argument, np.generic):
        return int.from_bytes(argument.tobytes(), "little")
    return argument & (1 << 64) - 1
