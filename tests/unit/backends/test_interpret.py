"""The interpreter as a backend: launch programs run natively and their kernels in Python."""

from __future__ import annotations

import numpy as np
import pytest

import darter as dt
from darter import _native
from darter.backends import interpret
from darter.dtypes import Bool, f32, i32, i64
from darter.errors import ArgumentValueError, ArtifactError, DeviceAssertError, KernelCheckError
from darter.frozen import replaced
from darter.ir import nodes as n
from darter.ir.verify import verify
from darter.target import Device
from tests.ir_builder import Builder, pointer_type


@dt.kernel
def reverse_kernel(x: dt.Tensor, out: dt.Tensor, BARRIER: dt.Constexpr[bool]):
    shared = dt.shared(dt.f32, 64)
    i = dt.thread_idx.x
    shared[i] = x[i]
    if BARRIER:
        dt.barrier()
    out[i] = shared[63 - i]


@dt.jit
def reverse(x: dt.Tensor, out: dt.Tensor, BARRIER: dt.Constexpr[bool] = True):
    reverse_kernel(x, out, BARRIER).launch(grid=1, block=64)


def test_the_environment_chooses_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DARTER_INTERPRET", "1")
    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    reverse(x, out)
    np.testing.assert_array_equal(out, x[::-1])
    with pytest.raises(KernelCheckError, match=r"reverse_kernel.*race"):
        reverse(x, out, BARRIER=False)
    monkeypatch.delenv("DARTER_INTERPRET")
    reverse.clear()
    out[:] = 0
    reverse(x, out)
    np.testing.assert_array_equal(out, x[::-1])


def module_of(build, *types: n.Type, block: int = 64) -> n.Module:
    """Return a launcher that gives its parameters to one kernel, over two blocks."""
    inner = Builder()
    parameters = tuple(n.Value(type) for type in types)
    build(inner, *parameters)
    kernel = n.Kernel("k", parameters, inner.block, (block, 1, 1), 32)
    outer = Builder()
    slots = tuple(n.Value(type) for type in types)
    one, two, zero = (outer.const(i64, value) for value in (1, 2, 0))
    outer.append(n.Launch(0, slots, (two, one, one), zero, n.LaunchOptions()))
    module = n.Module("launcher", slots, outer.block, [kernel], [n.FunctionName("k", "tests")])
    verify(module)
    return module


def launch(module: n.Module, *slots: int) -> None:
    artifact = interpret.compile(module, interpret.target())
    loaded = interpret.load(artifact)
    state = _native.CallState(artifact.program, loaded.kernels, loaded.code, None, (), None)
    state.run(list(slots))


def test_a_launch_runs_the_kernel() -> None:
    x = np.arange(128, dtype=np.float32)

    def build(b: Builder, x: n.Value, add: n.Value) -> None:
        place = b.add(b.mul(b.index(n.Index.BLOCK_IDX), b.const(i64, 64)), b.cast(i64, b.index(n.Index.THREAD_IDX)))
        b.store(x, place, b.add(b.load(x, place), add))

    word = int(np.float32(1.5).view(np.uint32))
    launch(module_of(build, pointer_type(f32), f32), x.ctypes.data, word)
    np.testing.assert_array_equal(x, np.arange(128) + 1.5)


def test_a_race_ends_the_launch() -> None:
    x = np.zeros(1, np.int32)
    module = module_of(lambda b, x: b.store(x, b.const(i32, 0), b.index(n.Index.THREAD_IDX)), pointer_type(i32))
    with pytest.raises(KernelCheckError, match=r"kernel 'k'.*race"):
        launch(module, x.ctypes.data)


def test_asserts_raise_and_prints_print(capsys: pytest.CaptureFixture[str]) -> None:
    def build(b: Builder) -> None:
        tid = b.index(n.Index.THREAD_IDX)
        b.append(n.Print(("thread ", ""), (tid,)))
        b.append(n.Assert(b.const(Bool, False), "never"))

    with pytest.raises(DeviceAssertError, match="kernel 'k': assertion failed: never"):
        launch(module_of(build, block=2))
    assert sorted(capsys.readouterr().out.splitlines()) == ["thread 0", "thread 0", "thread 1", "thread 1"]


def test_memory_of_a_gpu_is_refused() -> None:
    with pytest.raises(ArgumentValueError, match="on cuda:1; DARTER_INTERPRET=1 runs kernels on CPU arrays only"):
        interpret.target(Device("cuda", 1))


def test_artifacts_of_others_are_refused() -> None:
    artifact = interpret.compile(module_of(lambda b: None), interpret.target())
    other = replaced(artifact.target, backend="cpu")
    with pytest.raises(ArtifactError, match="not for the interpreter"):
        interpret.load(replaced(artifact, target=other))
    with pytest.raises(ArtifactError, match="damaged kernels"):
        interpret.load(replaced(artifact, code=b"\0"))
