"""The floor: cuLaunchKernel in a C loop, its parameters packed once; one pointer a tensor, then the integers."""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.peers import Launch, noop

NAME = "driver"

_SOURCE = """
#include <stdint.h>
#include <time.h>
typedef int (*launch_t)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                        void**);
static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}
int64_t floor_ns(launch_t launch, void* function, void* stream, void** params, int64_t count, int* status) {
  const int64_t start = now();
  for (int64_t i = 0; i < count; ++i) {
    const int result = launch(function, 1, 1, 1, 32, 1, 1, 0, stream, params, 0);
    if (result != 0) *status = result;
  }
  return now() - start;
}
"""


def build_loop() -> ctypes.CDLL:
    """Return the C loop, built by the C compiler that ``CC`` names."""
    folder = Path(tempfile.mkdtemp(prefix="darter-floor-"))
    (folder / "floor.c").write_text(_SOURCE, encoding="utf-8")
    library = folder / "floor.so"
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", library, folder / "floor.c"], check=True)
    loop = ctypes.CDLL(str(library))
    loop.floor_ns.restype = ctypes.c_int64
    return loop


def prepare_floor(launch: Launch) -> Callable[[int], float]:
    """Return a function that launches so many times on the default stream and returns nanoseconds a launch.

    Raises:
        RuntimeError: the driver refuses something.
    """
    loop = build_loop()
    driver = ctypes.CDLL("libcuda.so.1")
    words = [tensor.data_ptr() for tensor in launch.tensors] + list(launch.integers)
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    _check(driver.cuModuleLoadData(ctypes.byref(module), noop.ptx(len(words))), "cuModuleLoadData")
    _check(driver.cuModuleGetFunction(ctypes.byref(function), module, b"noop"), "cuModuleGetFunction")
    registers = (ctypes.c_uint64 * len(words))(*words)
    places = [ctypes.addressof(registers) + 8 * i for i in range(len(words))]
    params = (ctypes.c_void_p * len(words))(*places)
    # The same symbol that darter calls: per-call costs are the driver's own.
    entry = ctypes.cast(driver.cuLaunchKernel, ctypes.c_void_p)

    def run(count: int, _held: object = registers) -> float:
        status = ctypes.c_int(0)
        spent: int = loop.floor_ns(entry, function, None, params, ctypes.c_int64(count), ctypes.byref(status))
        _check(status.value, "cuLaunchKernel")
        return spent / count

    return run


def _check(status: int, call: str) -> None:
    if status != 0:
        raise RuntimeError(f"{call} failed with CUresult {status}")
