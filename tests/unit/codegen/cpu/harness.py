"""Runs compiled kernels without the native module: the object linked by the C compiler, called through ctypes."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from darter import _native
from darter.artifacts.artifact import KernelEntry
from darter.codegen.cpu import compile_kernels
from darter.ir.nodes import Kernel
from darter.target import Target

Argument = NDArray[Any] | np.generic | int

MESSAGES = """
#include <stdint.h>
struct record { int64_t index, block, thread; uint64_t operands[8]; };
static struct record records[4096];
static int64_t count;
void darter_message(const void* launch, int32_t index, int64_t block, int64_t thread, const uint64_t* operands) {
  struct record* r = &records[count++ % 4096];
  r->index = index; r->block = block; r->thread = thread;
  for (int i = 0; i < 8; ++i) r->operands[i] = operands ? operands[i] : 0;
}
int64_t darter_count(void) { return count; }
const struct record* darter_records(void) { return records; }
"""


class Launch(ctypes.Structure):
    _fields_ = (("grid", ctypes.c_int64 * 3), ("shared_bytes", ctypes.c_int64), ("host", ctypes.c_void_p))


def host_target(width: int = 32) -> Target:
    """Return the CPU that the tests run on."""
    level, features = _native.cpu_architecture()
    return Target("cpu", level, features, width)


class Compiled:
    """One kernel, loaded."""

    def __init__(self, kernel: Kernel, target: Target | None = None) -> None:
        code, entries = compile_kernels([kernel], target or host_target(kernel.warp_size))
        self.entry: KernelEntry = entries[0]
        folder = Path(tempfile.mkdtemp())
        (folder / "k.o").write_bytes(code)
        (folder / "m.c").write_text(MESSAGES)
        library = folder / "k.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, folder / "m.c", folder / "k.o"], check=True)
        self.library = ctypes.CDLL(str(library))
        self.function = getattr(self.library, self.entry.symbol)
        self.function.restype = None

    def __call__(
        self, grid: Sequence[int], *arguments: NDArray[np.generic] | np.generic | int, shared: int = 0
    ) -> None:
        registers = (ctypes.c_uint64 * max(1, len(arguments)))()
        for position, argument in enumerate(arguments):
            if isinstance(argument, np.ndarray):
                registers[position] = argument.ctypes.data
            elif isinstance(argument, np.generic):
                registers[position] = int.from_bytes(argument.tobytes(), "little")
            else:
                registers[position] = argument & (2**64 - 1)
        places = (ctypes.c_void_p * len(registers))(
            *[ctypes.addressof(registers) + 8 * position for position in range(len(registers))]
        )
        launch = Launch()
        launch.grid[:] = [*grid, *[1] * (3 - len(grid))]
        launch.shared_bytes = shared
        scratch = np.full(self.entry.scratch_bytes + shared + 64, 0xA5, np.uint8)
        base = scratch.ctypes.data + (-scratch.ctypes.data) % 64
        blocks = launch.grid[0] * launch.grid[1] * launch.grid[2]
        self.function(places, ctypes.byref(launch), ctypes.c_int64(0), ctypes.c_int64(blocks), ctypes.c_void_p(base))
