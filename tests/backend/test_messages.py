"""What device code says: assertions, prints, bounds checks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import darter as dt


def launched(machine, launcher, *arguments):
    """Launch and wait: what device code finds is raised by one of the two."""
    launcher(*arguments)
    machine.synchronize()


@dt.kernel
def checked_kernel(x, limit):
    i = dt.thread_idx.x
    dt.assert_(i < limit, "thread is over the limit")  # noqa: PT009
    x[i] = 1.0


@dt.jit
def checked(x, limit: dt.Int32):
    checked_kernel(x, limit).launch(grid=1, block=32)


def test_a_failed_assertion_names_message_kernel_and_line(machine):
    x = machine.put(np.zeros(32, np.float32))
    checked(x, 32)
    machine.synchronize()
    with pytest.raises(dt.DeviceAssertError, match="thread is over the limit") as caught:
        launched(machine, checked, x, 30)
    text = str(caught.value)
    assert "checked_kernel" in text
    assert f"{Path(__file__).name}:25:" in text
    assert "dt.assert_(i < limit" in text
    # Reported once: the next launch is a launch like any other.
    checked(x, 32)
    machine.synchronize()


@dt.kernel
def over_kernel(x, i):
    x[i] = 1.0


@dt.jit
def over(x, i: dt.Int64):
    over_kernel(x, i).launch(grid=1, block=1)


def test_bounds_checks_find_a_store_past_the_end(machine, monkeypatch):
    monkeypatch.setenv("DARTER_BOUNDS_CHECK", "1")
    x = machine.put(np.zeros(8, np.float32))
    over(x, 7)
    machine.synchronize()
    with pytest.raises(dt.DeviceAssertError, match="over_kernel"):
        launched(machine, over, x, 8)


_PRINTS = """
import numpy as np
import darter as dt

@dt.kernel
def say_kernel(x):
    if dt.thread_idx.x == 3:
        dt.print("value", x[0], "of thread", dt.thread_idx.x)

@dt.jit
def say(x):
    say_kernel(x).launch(grid=1, block=32)

x = np.full(1, 2.5, np.float32)
if {cuda}:
    import torch
    x = torch.from_numpy(x).cuda()
say(x)
dt.synchronize()
"""


def test_prints_reach_standard_output(machine, tmp_path):
    program = tmp_path / "say.py"
    program.write_text(_PRINTS.format(cuda=machine.name == "cuda"))
    done = subprocess.run(
        [sys.executable, program], check=False, capture_output=True, text=True, timeout=120, env=dict(os.environ)
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "value 2.5 of thread 3" in done.stdout
