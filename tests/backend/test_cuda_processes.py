"""Processes, threads and several devices on CUDA. Cases F08, F18, G05 and G10."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import darter as dt
from tests.backend.launchers import add

ROOT = Path(__file__).parents[2]

_PRELUDE = """
import os, sys
import torch
import darter as dt
from tests.backend.launchers import add
x = torch.arange(1000, device="cuda", dtype=torch.float32)
out = torch.zeros_like(x)
"""

_FORK = """
add(x, x, out)
torch.cuda.synchronize()
sys.stdout.flush()
child = os.fork()
if child == 0:
    try:
        add(x, x, out)
    except dt.DarterError as error:
        print(error, flush=True)
        os._exit(0)
    os._exit(1)
sys.exit(os.waitpid(child, 0)[1])
"""

_SPAWN = """
import multiprocessing
def work():
    add(x, x, out)
    assert torch.equal(out, x + x)
if __name__ == "__main__":
    add(x, x, out)
    child = multiprocessing.get_context("spawn").Process(target=work)
    child.start()
    child.join(100)
    sys.exit(child.exitcode)
"""

_EXITS = {
    "handles held": "kept = (add, dt.compile(add, x, x, out)); add(x, x, out)",
    "darter goes first": "add(x, x, out); del add, dt; sys.modules.pop('darter')",
    "work in flight": "torch.cuda._sleep(100_000_000); add(x, x, out)",
    "at exit": "import atexit; add(x, x, out); atexit.register(lambda: add(x, x, out))",
}


def run(program, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(_PRELUDE + program)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [sys.executable, path], check=False, capture_output=True, text=True, timeout=120, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def test_a_forked_child_is_told_that_cuda_does_not_survive_a_fork(cuda, tmp_path):
    text = run(_FORK, tmp_path).stdout
    assert "forked" in text
    assert "spawn" in text


def test_a_spawned_child_launches(cuda, tmp_path):
    run(_SPAWN, tmp_path)


@pytest.mark.parametrize("ending", list(_EXITS))
def test_the_interpreter_exits_in_silence(cuda, tmp_path, ending):
    done = run(_EXITS[ending], tmp_path)
    assert done.stdout + done.stderr == ""


def test_a_rejected_launch_quotes_what_it_asked_for(cuda):
    import torch

    @dt.kernel
    def touch_kernel(x):
        x[dt.thread_idx.x] = 1.0

    @dt.jit
    def touch(x, shared: dt.Int32):
        touch_kernel(x).launch(grid=1, block=32, shared=shared)

    x = torch.zeros(32, device=cuda.device)
    touch(x, 0)
    with pytest.raises(dt.DarterError, match=r"300000 bytes.*bytes of static.*device 0 has \d+"):
        touch(x, 300_000)
    x.zero_()
    touch(x, 60_000)
    assert x.sum() == 32


def test_launch_options(cuda):
    import torch

    @dt.kernel
    def count_kernel(x):
        dt.atomic_add(x, 0, 1)

    @dt.jit
    def count(x, CLUSTER: dt.Constexpr, COOPERATIVE: dt.Constexpr[bool], DEPENDENT: dt.Constexpr[bool]):
        count_kernel(x).launch(
            grid=4, block=32, cluster=CLUSTER, cooperative=COOPERATIVE, programmatic_dependent=DEPENDENT
        )

    x = torch.zeros(1, device=cuda.device, dtype=torch.int32)
    cluster = (2, 1, 1) if torch.cuda.get_device_capability(cuda.device)[0] >= 9 else (1, 1, 1)
    for options in ((cluster, False, False), ((1, 1, 1), True, False), ((1, 1, 1), False, True)):
        count(x, *options)
    assert x.item() == 3 * 4 * 32
    if cluster[0] > 1:
        with pytest.raises(dt.DarterError, match=r"cuLaunchKernelEx failed: CUDA_ERROR_\w+.*grid \(4, 1, 1\)"):
            count(x, (3, 1, 1), False, False)


def test_resources_are_reported(cuda):
    import torch

    x = torch.zeros(100, device=cuda.device)
    add.clear()
    assert "known once the code is loaded" in add.explain(x, x, x, resources=True)
    add.warm(x, x, x)
    assert "registers a thread" in add.explain(x, x, x, resources=True)


@pytest.fixture
def two_devices(cuda):
    import torch

    if torch.cuda.device_count() < 2:
        pytest.skip("needs two CUDA devices")
    return [torch.device("cuda", ordinal) for ordinal in range(2)]


def test_a_launch_goes_to_its_arguments_device_and_leaves_the_current_one(two_devices):
    import torch

    before = add.cache_info()["compiles"]
    for device in two_devices:
        x = torch.arange(777, device=device, dtype=torch.int64)
        out = torch.zeros_like(x)
        for current in two_devices:
            torch.cuda.set_device(current)
            out.zero_()
            add(x, x, out)
            assert torch.cuda.current_device() == current.index
            assert torch.equal(out, x + x)
            stream = torch.cuda.Stream(device)
            stream.wait_stream(torch.cuda.current_stream(device))
            add(x, out, out, stream=stream)
            stream.synchronize()
            assert torch.equal(out, 3 * x)
    torch.cuda.set_device(0)
    # One binary serves both devices of an architecture.
    assert add.cache_info()["compiles"] <= before + 1


def test_two_devices_in_one_call_and_a_stream_of_the_other_are_named(two_devices):
    import torch

    first, second = (torch.ones(10, device=device) for device in two_devices)
    with pytest.raises(ValueError, match=r"argument 'y'.*cuda:1.*argument 'x' is on cuda:0"):
        add(first, second, first)
    with pytest.raises(ValueError, match="belongs to another device"):
        add(first, first, first, stream=torch.cuda.Stream(two_devices[1]))


def test_threads_launch_on_devices_of_their_own(two_devices):
    import torch

    failures = []

    def work(device):
        x = torch.arange(3001, device=device, dtype=torch.float64)
        out = torch.zeros_like(x)
        stream = torch.cuda.Stream(device)
        stream.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(stream):
            for _ in range(300):
                add(x, x, out)
        stream.synchronize()
        if not torch.equal(out, x + x):
            failures.append(device)

    threads = [threading.Thread(target=work, args=(device,)) for device in two_devices * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_array_interfaces_tell_the_device_by_the_address(two_devices):
    import torch

    class Bare:
        def __init__(self, tensor):
            self.tensor = tensor

        @property
        def __cuda_array_interface__(self):
            return self.tensor.__cuda_array_interface__

    x, out = (torch.ones(500, device=two_devices[1]) for _ in range(2))
    add(Bare(x), Bare(x), Bare(out))
    torch.cuda.synchronize(two_devices[1])
    assert out.sum() == 1000
