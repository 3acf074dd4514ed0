"""CPU kernels over their grid: every block once, on any thread, from any thread, after a fork; asserts and prints."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from darter import _native, errors
from darter.ir.encoding import encode
from darter.ir.nodes import LaunchOptions, Loc
from darter.ir.program import Instruction, LaunchSpec, Opcode, Program
from tests.c_objects import PRELUDE, compile_c, load_c

SOURCE = (
    PRELUDE
    + """
// Each block adds its number + 1 to its own cell, slowly.
KERNEL(count) {
    int64_t *cells = ARG(int64_t *, 0);
    for (int64_t block = begin; block < end; ++block) {
        volatile int64_t work = 0;
        for (int64_t i = 0; i < ARG(int64_t, 1); ++i) work += i;
        cells[block] += block + 1;
    }
}

// Writes where its scratch memory is and whether it could be used alone.
KERNEL(scratch_use) {
    int64_t *cells = ARG(int64_t *, 0);
    for (int64_t block = begin; block < end; ++block) {
        int64_t bytes = ARG(int64_t, 1);
        memset(scratch, (int)(block & 127), bytes);
        volatile int64_t work = 0;
        for (int64_t i = 0; i < 20000; ++i) work += i;
        int64_t good = ((uintptr_t)scratch & 63) == 0;
        for (int64_t i = 0; i < bytes; ++i) good &= scratch[i] == (block & 127);
        cells[block] = good;
    }
}

KERNEL(speak) {
    int64_t *cells = ARG(int64_t *, 0);
    for (int64_t block = begin; block < end; ++block) {
        for (int thread = 0; thread < 2; ++thread) {
            uint64_t operands[2] = {(uint64_t)block, (uint64_t)thread};
            darter_message(launch, 0, block, thread, operands);
            if (block >= ARG(int64_t, 1)) darter_message(launch, 1, block, thread, operands);
        }
        cells[block] = 1;
    }
}

// Waits until another thread sets the flag: that needs the GIL, so it happens only where the launch has let go of it.
KERNEL(wait) {
    volatile int64_t *cells = ARG(int64_t *, 0);
    for (int64_t i = 0; i < 20000000000 / 4 && !cells[0]; ++i) cells[1] = i;
    cells[2] = cells[0];
}
"""
)

MESSAGES = (
    (False, ("block ", ", thread ", ""), (5, 5)),
    (True, ("too far: ", " of ", ""), (5, 5)),
)


def _state(
    symbol: str, block: tuple[int, int, int] = (64, 1, 1), scratch_bytes: int = 0, cold: Any = None
) -> _native.CallState:
    """Return a launch of ``symbol``: slots are the cells, a number, the grid and the shared memory."""
    code = load_c(SOURCE)
    messages = MESSAGES if symbol == "speak" else ()
    kernel = _native.CpuKernel(code, symbol, 2, block, scratch_bytes, messages)
    launch = LaunchSpec(0, (0, 1), (2, 3, 4), block, 5, LaunchOptions(), 0)
    code_words = (Instruction(Opcode.LAUNCH, 0, 0, 0, 0, 0, -1), Instruction(Opcode.RETURN, 0, 0, 0, 0, 0, -1))
    program = Program(6, (), 6, code_words, (launch,), (), (Loc(0, 1, 2, 3, 4),))
    return _native.CallState(encode(program), [kernel], code, None, (0,), cold)


@pytest.fixture(params=[1, 4])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    _native.set_cpu_threads(request.param)
    yield request.param
    _native.set_cpu_threads(0)


@pytest.mark.parametrize("grid", [(1, 1, 1), (7, 1, 1), (3, 5, 2), (1, 1, 300), (40000, 1, 1)])
@pytest.mark.parametrize("work", [0, 2000])
def test_every_block_runs_once(threads: int, grid: tuple[int, int, int], work: int) -> None:
    state = _state("count")
    blocks = grid[0] * grid[1] * grid[2]
    work = work if blocks < 1000 else work // 20
    cells = np.zeros(blocks, np.int64)
    for launch in range(1, 6):  # first unmeasured, then as its cost suggests
        state.run([cells.ctypes.data, work, *grid, 0])
        np.testing.assert_array_equal(cells, launch * (np.arange(blocks) + 1))


@pytest.mark.parametrize(("static", "dynamic"), [(64, 0), (0, 100), (192, 1000), (4096, 1 << 20)])
def test_scratch_memory_is_aligned_and_each_threads_own(threads: int, static: int, dynamic: int) -> None:
    state = _state("scratch_use", scratch_bytes=static)
    cells = np.zeros(64, np.int64)
    state.run([cells.ctypes.data, static + dynamic, 64, 1, 1, dynamic])
    assert cells.all()


def test_scratch_memory_that_there_is_not_is_a_memory_error() -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    state = _state("scratch_use", scratch_bytes=64)
    cells = np.zeros(4, np.int64)
    if os.environ.get("DARTER_SANITIZED"):
        pytest.skip("the sanitizer maps terabytes")
    with ThreadPoolExecutor(1) as fresh:  # a thread that has no scratch memory from another test
        try:
            resource.setrlimit(resource.RLIMIT_AS, (used + (256 << 20), before[1]))
            with pytest.raises(MemoryError):
                fresh.submit(state.run, [cells.ctypes.data, 64, 4, 1, 1, 2**31 - 1]).result()
        finally:
            resource.setrlimit(resource.RLIMIT_AS, before)
        assert not cells.any()
        fresh.submit(state.run, [cells.ctypes.data, 64, 4, 1, 1, 0]).result()
    assert cells.all()


# -- messages ---------------------------------------------------------------------------------------------------------


def test_prints_come_in_the_order_of_blocks(threads: int, capsys: pytest.CaptureFixture[str]) -> None:
    cells = np.zeros(200, np.int64)
    _state("speak").run([cells.ctypes.data, 200, 200, 1, 1, 0])
    expected = [f"block {block}, thread {thread}" for block in range(200) for thread in range(2)]
    assert capsys.readouterr().out.splitlines() == expected


def test_a_failed_assertion_raises_after_the_launch(threads: int, capsys: pytest.CaptureFixture[str]) -> None:
    cells = np.zeros(200, np.int64)
    state = _state("speak", block=(2, 1, 1))
    with pytest.raises(errors.DeviceAssertError) as caught:
        state.run([cells.ctypes.data, 140, 20, 10, 1, 0])
    assert cells.all()
    assert str(caught.value) == (
        "kernel 'speak': assertion failed: too far: 140 of 0 at block (0, 7, 0), thread (0, 0, 0);"
        " it is the first of 120 failures in this launch"
    )
    assert len(capsys.readouterr().out.splitlines()) == 400


def test_the_place_of_an_assertion_follows_those_of_the_program() -> None:
    calls: list[Any] = []

    def cold(*call: Any) -> Exception:
        calls.append((call[0], call[1], call[3]))
        return KeyError()

    cells = np.zeros(8, np.int64)
    with pytest.raises(KeyError):
        _state("speak", cold=cold).run([cells.ctypes.data, 0, 1, 1, 1, 0])
    assert calls == [("assert", "DeviceAssertError", 1 + 1)]


def test_a_closed_stdout_loses_prints_only(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = np.zeros(4, np.int64)
    monkeypatch.setattr(sys, "stdout", None)
    _state("speak").run([cells.ctypes.data, 4, 4, 1, 1, 0])
    assert cells.all()


# -- threads and processes --------------------------------------------------------------------------------------------


def test_a_long_launch_lets_other_threads_run() -> None:
    cells = np.zeros(3, np.int64)
    thread = threading.Thread(target=_state("wait").run, args=([cells.ctypes.data, 0, 1, 1, 1, 0],))
    thread.start()
    while cells[1] == 0:  # the kernel runs
        pass
    cells[0] = 1
    thread.join()
    assert cells[2] == 1


def test_many_threads_launch_at_once() -> None:
    state = _state("count")
    _native.set_cpu_threads(2)
    results = [np.zeros(64, np.int64) for _ in range(16)]
    failures: list[BaseException] = []

    def work(cells: np.ndarray[Any, np.dtype[np.int64]]) -> None:
        try:
            for _ in range(20):
                state.run([cells.ctypes.data, 1000, 64, 1, 1, 0])
        except BaseException as failure:  # noqa: BLE001 - handed to the test
            failures.append(failure)

    running = [threading.Thread(target=work, args=(cells,)) for cells in results]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    _native.set_cpu_threads(0)
    assert not failures
    for cells in results:
        np.testing.assert_array_equal(cells, 20 * (np.arange(64) + 1))


FORK = """
import os, signal, sys
sys.path[:0] = sys.argv[1:]
import numpy as np
from darter import _native
from tests.unit.native.test_cpu_runner import _state
_native.set_cpu_threads(2)
state = _state("count")
cells = np.zeros(64, np.int64)
slots = [cells.ctypes.data, 5000, 64, 1, 1, 0]
state.run(slots)  # on a team
child = os.fork()
if child == 0:
    signal.alarm(30)
    state.run(slots)
    os._exit(0 if (cells == 2 * (np.arange(64) + 1)).all() and _native.cpu_threads() == 1 else 3)
_, status = os.waitpid(child, 0)
state.run(slots)
assert _native.cpu_threads() == 2
sys.exit(os.waitstatus_to_exitcode(status))
"""


def _python(script: str, **environment: str) -> str:
    """Return what a new process prints that runs ``script`` with this process's import path."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, os.getcwd(), *sys.path],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_forked_child_runs_inline() -> None:
    compile_c(SOURCE)
    _python(FORK)


def test_the_number_of_threads_comes_from_the_environment() -> None:
    script = "import sys; sys.path[:0] = sys.argv[1:]\nfrom darter import _native\nprint(_native.cpu_threads())"
    assert _python(script, DARTER_NUM_THREADS="3", OMP_NUM_THREADS="5") == "3\n"
    assert _python(script, DARTER_NUM_THREADS="many", OMP_NUM_THREADS="5") == "5\n"


def test_numbers_of_threads_that_make_no_sense_are_refused() -> None:
    for threads in (-1, 2**40):
        with pytest.raises(ValueError, match="threads must be 0"):
            _native.set_cpu_threads(threads)


@pytest.mark.parametrize(
    ("block", "scratch", "parameters", "messages", "why"),
    [
        ((0, 1, 1), 0, 2, (), "extent of 0"),
        ((1024, 2, 1), 0, 2, (), "2048 threads"),
        ((1, 1, 1), 63, 2, (), "63 bytes of scratch"),
        ((1, 1, 1), -64, 2, (), "-64 bytes of scratch"),
        ((1, 1, 1), 0, -1, (), "-1 parameters"),
        ((1, 1, 1), 0, 2, ((True, ("a",), (99,)),), "unknown dtype 99"),
    ],
)
def test_a_kernel_with_impossible_numbers_is_refused(
    block: tuple[int, int, int], scratch: int, parameters: int, messages: Any, why: str
) -> None:
    with pytest.raises(errors.ArtifactError, match=why):
        _native.CpuKernel(load_c(SOURCE), "count", parameters, block, scratch, messages)


def test_the_floating_point_environment_is_left_alone(threads: int) -> None:
    libm = ctypes.CDLL("libm.so.6")
    state = _state("count")
    cells = np.zeros(64, np.int64)
    before = libm.fegetround()
    try:
        assert libm.fesetround(0x400) == 0  # downward, on x86
        state.run([cells.ctypes.data, 2000, 64, 1, 1, 0])
        assert libm.fegetround() == 0x400
    finally:
        libm.fesetround(before)
