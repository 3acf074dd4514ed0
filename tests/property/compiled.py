"""Compiled kernels without the native module: objects linked by the C compiler and called through ctypes."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from darter.artifacts.artifact import KernelEntry
from darter.ir import nodes as n

_MOST_RECORDS = 1 << 16
_MESSAGES = f"""
#include <stdint.h>
struct record {{ int64_t index, block, thread; uint64_t operands[8]; }};
static struct record records[{_MOST_RECORDS}];
static int64_t count;
void darter_message(const void* launch, int32_t index, int64_t block, int64_t thread, const uint64_t* operands) {{
  struct record* r = &records[count++ % {_MOST_RECORDS}];
  r->index = index; r->block = block; r->thread = thread;
  for (int i = 0; i < 2; ++i) r->operands[i] = operands ? operands[i] : 0;
}}
int64_t darter_take(void) {{ int64_t taken = count; count = 0; return taken; }}
const struct record* darter_records(void) {{ return records; }}
"""


class Record(ctypes.Structure):
    """One message of device code."""

    _fields_ = (
        ("index", ctypes.c_int64),
        ("block", ctypes.c_int64),
        ("thread", ctypes.c_int64),
        ("operands", ctypes.c_uint64 * 8),
    )


class _Launch(ctypes.Structure):
    _fields_ = (("grid", ctypes.c_int64 * 3), ("shared_bytes", ctypes.c_int64), ("host", ctypes.c_void_p))


class CompiledKernels:
    """Kernels of one object, loaded; ``folder`` holds what the linker needs."""

    def __init__(self, kernels: Sequence[n.Kernel], folder: Path) -> None:
        from darter.codegen.cpu import compile_kernels

        code, self.entries = compile_kernels(kernels, host_target(kernels[0].warp_size))
        (folder / "kernels.o").write_bytes(code)
        (folder / "messages.c").write_text(_MESSAGES)
        library = folder / "kernels.so"
        compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
        compiler = os.environ.get("CC", compiler)
        sources = [folder / "messages.c", folder / "kernels.o"]
        subprocess.run([compiler, "-shared", "-fPIC", "-o", library, *sources], check=True)
        self._library = ctypes.CDLL(str(library))
        self._library.darter_records.restype = ctypes.POINTER(Record)
        self._library.darter_take.restype = ctypes.c_int64

    def run(self, number: int, words: Sequence[int], grid: tuple[int, int, int], shared_bytes: int) -> list[Record]:
        """Run kernel ``number`` over ``grid`` and return its messages."""
        entry: KernelEntry = self.entries[number]
        function = getattr(self._library, entry.symbol)
        function.restype = None
        registers = (ctypes.c_uint64 * max(1, len(words)))(*words)
        places = [ctypes.addressof(registers) + 8 * place for place in range(len(registers))]
        params = (ctypes.c_void_p * len(places))(*places)
        launch = _Launch((ctypes.c_int64 * 3)(*grid), shared_bytes, None)
        # What a block does not write has a value that no test expects.
        scratch = np.full(entry.scratch_bytes + shared_bytes + 128, 0xA5, np.uint8)
        base = scratch.ctypes.data + (-scratch.ctypes.data) % 64
        blocks = grid[0] * grid[1] * grid[2]
        function(params, ctypes.byref(launch), ctypes.c_int64(0), ctypes.c_int64(blocks), ctypes.c_void_p(base))
        taken = self._library.darter_take()
        records = self._library.darter_records()
        return [Record.from_buffer_copy(records[place]) for place in range(taken)]


def host_target(warp_size: int) -> object:
    """Return the CPU that the tests run on."""
    import llvmlite.binding as llvm

    from darter.target import Target

    llvm.initialize_native_target()
    return Target("cpu", llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten(), warp_size)
