"""A CUDA driver that only records, and programs that run against it in processes of their own.

The native module opens one driver per process, hence the processes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

PRELUDE = """
import os, sys, threading, time
from darter import _native
from darter.ir.encoding import encode
from darter.ir.options import LaunchOptions
from darter.ir.places import Loc
from darter.ir.program import Instruction, LaunchSpec, Opcode, Program

DRIVER, LOG = sys.argv[1], os.environ["STUB_LOG"]
reports = []

def on_assert(*report):
    reports.append(report)
    raise AssertionError("recorded")

def context(ordinal=0):
    return _native.CudaContext(ordinal, on_assert, driver=DRIVER)

def kernel(module, messages=0, block=(64, 2, 1)):
    return module.kernel("symbol_0", "scale", 0, 1, messages, block)

def state(handle, options=LaunchOptions(), block=(64, 2, 1)):
    # slots: the argument, the grid, the bytes of shared memory
    spec = LaunchSpec(0, (0,), (1, 2, 3), block, 4, options, 0)
    body = tuple(Instruction(op, 0, 0, 0, 0, 0, -1) for op in (Opcode.LAUNCH, Opcode.RETURN))
    program = Program(5, (), 5, body, (spec,), (), (Loc(0, 0, 0, 0, 0),))
    return _native.CallState(encode(program), (handle,), handle.code, None, (), None)

def calls(*names):
    with open(LOG) as log:
        lines = [line.strip() for line in log]
    return [line for line in lines if not names or line.split()[0] in names]

def forget():
    open(LOG, "w").close()

def failure(run, *arguments):
    try:
        run(*arguments)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    raise SystemExit("nothing was raised")
"""


@pytest.fixture(scope="session")
def stub_driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stub's shared library, built by the C compiler."""
    library = tmp_path_factory.mktemp("stub-driver") / "libcuda.so.1"
    source = Path(__file__).with_name("stub_driver.c")
    command = [os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC", "-o", str(library), str(source)]
    subprocess.run(command, check=True)
    return library


@pytest.fixture
def run_on_stub(stub_driver: Path, tmp_path: Path) -> Callable[..., str]:
    """Run a program with ``PRELUDE`` before it and the environment's more variables; return what it prints."""

    def run(program: str, **more: str) -> str:
        path, log = tmp_path / "program.py", tmp_path / "calls"
        path.write_text(PRELUDE + textwrap.dedent(program))
        log.write_text("")
        environment = {**os.environ, "STUB_LOG": str(log), "PYTHONPATH": os.pathsep.join(sys.path), **more}
        done = subprocess.run(
            [sys.executable, path, stub_driver],
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
            env=environment,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run
