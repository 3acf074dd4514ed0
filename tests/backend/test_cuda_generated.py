"""Generated kernels on CUDA leave what the interpreter leaves: exactly, or within the documented ulps of a function."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = int(os.environ.get("DARTER_FUZZ", "60"))
BATCH = 20
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("first", range(0, PROGRAMS, BATCH))
def test_generated_kernels_do_what_the_interpreter_does(cuda, first):
    command = [sys.executable, "-m", "tests.backend.generated_on_cuda", str(first), str(BATCH)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stderr.splitlines() == [f"seed {seed}" for seed in range(first, first + BATCH)]
