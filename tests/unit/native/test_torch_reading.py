"""The ways of reading torch tensors: which one is in use, and what each must leave alone."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import darter as dt
from darter import _native

torch = pytest.importorskip("torch", reason="torch is not installed")


@dt.kernel
def add_one_kernel(x: dt.Tensor, n: dt.Int64):
    i = dt.block_idx.x * 32 + dt.thread_idx.x
    if i < n:
        x[i] = x[i] + 1


@dt.jit
def add_one(x: dt.Tensor):
    n = x.shape[0]
    add_one_kernel(x, n).launch(grid=dt.cdiv(n, 32), block=32)


@pytest.fixture(params=[True, False], ids=["accelerated", "not accelerated"])
def accelerated(request: pytest.FixtureRequest) -> Iterator[bool]:
    add_one(torch.zeros(4))
    _native.set_torch_acceleration(request.param)
    yield request.param
    _native.set_torch_acceleration(True)


def test_this_torch_is_read_directly(accelerated: bool) -> None:
    """A torch whose inside was not recognised costs every launch dearly and silently: this test says so."""
    expected = {"direct"} if accelerated else {"exchange", "dlpack"}
    assert _native.torch_reading() in expected


FIRST_CALL = """
import torch
import darter as dt
from darter import _native

@dt.kernel
def fill(x: dt.Tensor):
    x[dt.thread_idx.x] = 1

@dt.jit
def run(x: dt.Tensor):
    fill(x).launch(grid=1, block=32)

assert _native.torch_reading() is None
x = torch.zeros(32)
{first}
run(x)
print(_native.torch_reading(), x.sum().item())
"""


@pytest.mark.parametrize(
    "first",
    [
        "torch.set_default_device('meta'); torch.set_default_dtype(torch.float64)",
        "torch.inference_mode().__enter__(); run(torch.zeros(32, dtype=torch.int8))",
        # A mode that replaces tensors only delays it.
        """
from torch._subclasses.fake_tensor import FakeTensorMode
with FakeTensorMode(allow_non_fake_inputs=True):
    run(x)
    assert _native.torch_reading() in ("exchange", "dlpack"), _native.torch_reading()
run(torch.nn.Parameter(x))
""",
    ],
    ids=["defaults", "inference mode", "fake tensor mode"],
)
def test_the_first_call_finds_out_whatever_the_defaults_are(first: str, tmp_path: Path) -> None:
    program = tmp_path / "first_call.py"
    program.write_text(FIRST_CALL.format(first=first), encoding="utf-8")
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["direct", "32.0"], done.stderr


def test_a_write_to_a_lazy_clone_leaves_its_origin(accelerated: bool) -> None:
    origin = torch.zeros(40)
    clone = torch._lazy_clone(origin)
    for _ in range(2):
        add_one(clone)
    assert clone.tolist() == [2.0] * 40
    assert origin.tolist() == [0.0] * 40


@pytest.mark.parametrize("shape", [(40,), (5, 8), (2, 5, 4), (2, 2, 5, 2), (2, 1, 2, 5, 2), (1, 2, 1, 2, 5, 2)])
def test_views_at_an_offset(shape: tuple[int, ...], accelerated: bool) -> None:
    memory = torch.zeros(64, dtype=torch.int32)
    view = memory[24:].view(shape)
    add_one(view.reshape(-1))
    assert memory.tolist() == [0] * 24 + [1] * 40


def test_dtype_and_device_of_every_call_are_its_own(accelerated: bool) -> None:
    """What is remembered of the last tensor is compared with the next one."""
    tensors: list[Any] = [torch.zeros(8, dtype=dtype) for dtype in (torch.float32, torch.int32, torch.bfloat16)]
    for _ in range(3):
        for tensor in tensors:
            add_one(tensor)
    assert [tensor.tolist() for tensor in tensors] == [[3.0] * 8] * 3
    with pytest.raises(dt.DarterError, match=r"argument 'x'.*meta"):
        add_one(torch.zeros(8, device="meta"))
    add_one(tensors[0])


def test_a_tensor_that_gets_other_memory_is_read_anew(accelerated: bool) -> None:
    x = torch.zeros(8)
    add_one(x)
    old = x.clone()
    x.set_(torch.full((4,), 5.0))
    add_one(x)
    assert (old.tolist(), x.tolist()) == ([1.0] * 8, [6.0] * 4)
    x.resize_(2000).zero_()
    add_one(x)
    assert x.tolist() == [1.0] * 2000
