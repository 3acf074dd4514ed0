"""Instructions of batches of calls, counted by callgrind.

The program that is counted calls ``os.getppid()`` before and after each batch, which nothing else calls: callgrind
writes and clears its counters each time it is entered.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

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


def _instructions(path: Path) -> int:
    found = _TOTAL.search(path.read_text())
    if found is None:
        raise RuntimeError(f"{path} holds no total")
    return int(found.group(1))
