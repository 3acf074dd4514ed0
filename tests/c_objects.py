"""Kernels written in C, compiled to real ELF objects: what the loader and the runner are tested with."""

from __future__ import annotations

import functools
import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from darter import _native
from darter.backends.cpu import HOST_FUNCTIONS

PRELUDE = """
#include <stddef.h>
#include <stdint.h>
typedef struct { int64_t grid[3]; int64_t shared_bytes; void *host; } darter_launch;
void darter_message(const darter_launch *, int32_t, int64_t, int64_t, const uint64_t *);
void *memset(void *, int, size_t);
void *memcpy(void *, const void *, size_t);
#define KERNEL(name) \\
    void name(const void *const *params, const darter_launch *launch, int64_t begin, int64_t end, uint8_t *scratch)
#define ARG(type, i) (*(type const *)params[i])
"""

LOG = (
    PRELUDE
    + """
// params: the log (a count, then rows of grid x and the three values), and three values.
KERNEL(record) {
    int64_t *log = ARG(int64_t *, 0);
    int64_t *row = log + 1 + 4 * log[0]++;
    row[0] = launch->grid[0];
    for (int i = 0; i < 3; ++i) row[i + 1] = ARG(int64_t, i + 1);
}
"""
)
"""An object with a kernel that writes down each of its launches."""


@functools.cache
def compile_c(source: str, *flags: str) -> bytes:
    """Return ``source`` as an ELF relocatable object; skips the test where there is no C compiler."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "object.o"
        command = [os.environ.get("CC", "cc"), "-O2", "-fPIC", "-fno-stack-protector", "-fno-builtin", *flags]
        try:
            subprocess.run(
                [*command, "-x", "c", "-c", "-", "-o", str(out)], input=source, text=True, check=True, timeout=60
            )
        except FileNotFoundError:
            pytest.skip("needs a C compiler")
        return out.read_bytes()


def load_c(source: str) -> _native.CodeObject:
    """Return ``source`` compiled and loaded."""
    return _native.load_object(compile_c(source), HOST_FUNCTIONS)
