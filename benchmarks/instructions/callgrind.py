"""Instructions of batches of calls, counted by callgrind.

The program that is counted calls ``start()`` once everything is imported, compiled and warm; until then callgrind only
translates, three times as fast.  It calls ``os.getppid()`` before and after each batch, which nothing else calls:
callgrind writes and clears its counters each time that is entered.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

_START = "DARTER_CALLGRIND_START"
"""The environment variable that names the library with the request, for the process that is counted."""

_REQUEST = """
#include <valgrind/callgrind.h>
void darter_start(void) { CALLGRIND_START_INSTRUMENTATION; }
"""

_TOTAL = re.compile(r"^(?:totals|summary):\s+(\d+)", re.MULTILINE)


def available() -> bool:
    """Return whether valgrind is installed."""
    return shutil.which("valgrind") is not None


def count_batches(
    command: Sequence[str], environ: Mapping[str, str] | None = None, store: Path | None = None
) -> tuple[str, list[int]]:
    """Run ``command`` under callgrind; return its standard output and the instructions of each of its batches.

    It finds compiled code in ``store``, if that is given, and else compiles it.

    Raises:
        RuntimeError: it failed; the message ends with what it wrote.
    """
    with tempfile.TemporaryDirectory(prefix="darter-instructions-") as folder:
        directory = f"{folder}/store" if store is None else str(store)
        fixed = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "DARTER_CACHE_DIR": directory}
        callgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", "--dump-before=getppid"]
        library = _built_request(Path(folder))
        if library is not None:
            callgrind.append("--instr-atstart=no")
            fixed[_START] = str(library)
        done = subprocess.run(
            [*callgrind, *command],
            env={**(os.environ if environ is None else environ), **fixed},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"callgrind failed:\n{done.stderr[-4000:]}")
        # Dump 1 ends at the first marker; then dumps alternate between a batch and what lies between two batches.
        dumps = len(list(Path(folder).glob("out.[0-9]*")))
        return done.stdout, [_instructions(Path(folder) / f"out.{number}") for number in range(2, dumps + 1, 2)]


def start() -> None:
    """Begin to count, in the process that is counted."""
    library = os.environ.get(_START)
    if library is not None:
        ctypes.CDLL(library).darter_start()


def _built_request(folder: Path) -> Path | None:
    """Return a library that asks callgrind to begin; None without valgrind's header or a C compiler."""
    source, library = folder / "start.c", folder / "start.so"
    source.write_text(_REQUEST)
    command = [os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC", "-o", str(library), str(source)]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        return None
    return library if done.returncode == 0 else None


def _instructions(path: Path) -> int:
    found = _TOTAL.search(path.read_text())
    if found is None:
        raise RuntimeError(f"{path} holds no total")
    return int(found.group(1))
