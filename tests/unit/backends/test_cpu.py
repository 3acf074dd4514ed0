"""The CPU backend from end to end: a launcher compiled, loaded and launched on arrays; the last two without LLVM."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from darter import _native
from darter.artifacts.artifact import Artifact
from darter.artifacts.sites import sites_of
from darter.backends import cpu
from darter.dtypes import f32, i64
from darter.errors import ArtifactError, DeviceAssertError
from darter.frozen import replaced
from darter.ir import nodes as n
from darter.ir.verify import verify
from darter.target import Target
from tests.ir_builder import Builder

POINTER = n.PointerType(f32, n.Space.GLOBAL)


def _scale() -> n.Module:
    """Return a launcher of (x, out, count) that launches ``out[i] = x[i] * 3`` and asserts that x[i] is below 1000."""
    kernel = Builder()
    kernel.loc = n.Loc(0, 2, 4, 2, 30)
    x, out, count = n.Value(POINTER, "x"), n.Value(POINTER, "out"), n.Value(i64, "count")
    thread = kernel.cast(i64, kernel.index(n.Index.THREAD_IDX))
    place = kernel.add(kernel.mul(kernel.index(n.Index.BLOCK_IDX), kernel.const(i64, 64)), thread)

    def inside() -> None:
        value = kernel.load(x, place)
        kernel.append(n.Assert(kernel.compare(n.CompareOp.LT, value, kernel.const(f32, 1000.0)), "too large", (value,)))
        kernel.store(out, place, kernel.mul(value, kernel.const(f32, 3.0)))

    kernel.if_(kernel.compare(n.CompareOp.LT, place, count), inside)
    body = Builder()
    body.loc = n.Loc(0, 7, 4, 7, 60)
    given = (n.Value(POINTER, "x"), n.Value(POINTER, "out"), n.Value(i64, "count"))
    one, zero = body.const(i64, 1), body.const(i64, 0)
    total = body.add(given[2], body.const(i64, 63))
    grid = body.binary(n.BinaryOp.FLOORDIV, total, body.const(i64, 64))
    body.append(n.Launch(0, given, (grid, one, one), zero, n.LaunchOptions()))
    kernels = [n.Kernel("scale", (x, out, count), kernel.block, (64, 1, 1), 32)]
    return n.Module("launcher", given, body.block, kernels, [n.FunctionName("scale", "tests")])


@pytest.fixture(scope="module")
def artifact() -> Artifact:
    module = _scale()
    verify(module)
    return cpu.compile(module, cpu.target())


def _state(artifact: Artifact, cold: Any = None) -> _native.CallState:
    loaded = cpu.load(artifact)
    return _native.CallState(artifact.program, loaded.kernels, loaded.code, None, (1,), cold)


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 100_000])
def test_a_launcher_runs_on_arrays(artifact: Artifact, count: int) -> None:
    x = np.arange(count, dtype=np.float32) % 999
    out = np.full(count + 1, -1, np.float32)
    _state(artifact).run([x.ctypes.data, out.ctypes.data, count])
    np.testing.assert_array_equal(out[:count], x * 3)
    assert out[count] == -1


def test_a_failed_assertion_names_its_place(artifact: Artifact) -> None:
    places = sites_of(artifact)
    calls: list[Any] = []

    def cold(*call: Any) -> Exception:
        calls.append(call)
        return DeviceAssertError(call[2])

    x = np.full(70, 2000, np.float32)
    with pytest.raises(DeviceAssertError, match=r"too large.*2000\.0.*at block \(0, 0, 0\), thread \(0, 0, 0\)"):
        _state(artifact, cold).run([x.ctypes.data, x.ctypes.data, 70])
    assert (places[calls[0][3]].line, calls[0][0]) == (2, "assert")


def test_the_target_is_an_x86_64_level_and_runs_here() -> None:
    target = cpu.target()
    assert target.arch in ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4")
    assert cpu.runs_on(target, target)
    flags = set(Path("/proc/cpuinfo").read_text().split("flags", 1)[1].splitlines()[0].split())
    assert (target.arch == "x86-64-v4") == ({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"} <= flags)
    for feature in target.features.split(","):
        assert feature == "" or feature.lstrip("+").replace("fp16", "_fp16") in flags


def test_lower_levels_run_on_higher_ones_and_not_the_other_way() -> None:
    low, high = Target("cpu", "x86-64-v2", "", 32), Target("cpu", "x86-64-v4", "+avx512fp16", 32)
    assert cpu.runs_on(low, high)
    assert not cpu.runs_on(high, low)
    assert not cpu.runs_on(replaced(high, features="+avx512fp16,+avx512vbmi"), high)
    assert not cpu.runs_on(replaced(low, warp_size=64), high)
    assert not cpu.runs_on(replaced(low, backend="cuda"), high)
    assert not cpu.runs_on(replaced(low, arch="apple-m1"), high)


def test_an_artifact_of_another_machine_is_refused(artifact: Artifact) -> None:
    with pytest.raises(ArtifactError, match="artifact is for cpu apple-m1, this machine is cpu x86-64"):
        cpu.load(replaced(artifact, target=replaced(artifact.target, arch="apple-m1", features="")))


def test_loading_and_launching_need_no_llvm(artifact: Artifact, tmp_path: Path) -> None:
    # Of this test only: artifacts on disk are never pickles.
    (tmp_path / "artifact").write_bytes(pickle.dumps(artifact))
    script = """
import pickle, sys
sys.path[:0] = sys.argv[2:]
import numpy as np
from darter import _native
from darter.backends import cpu
from darter.ir.encoding import encode
artifact = pickle.load(open(sys.argv[1], "rb"))
loaded = cpu.load(artifact)
x = np.arange(100, dtype=np.float32)
state = _native.CallState(artifact.program, loaded.kernels, loaded.code, None, (), None)
state.run([x.ctypes.data, x.ctypes.data, 100])
assert (x == np.arange(100) * 3).all()
assert not any(name.partition(".")[0] in ("llvmlite", "ml_dtypes") or "codegen" in name for name in sys.modules)
"""
    command = [sys.executable, "-c", script, str(tmp_path / "artifact"), *sys.path]
    done = subprocess.run(command, env=dict(os.environ), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
