"""Functions of CUDA's device library: taken where it is installed, darter's own elsewhere; and the manifest knows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import darter.lang as dt
from darter.artifacts import cuda_toolkit
from darter.capture.path import describe
from darter.capture.recorder import Recorder
from darter.capture.resolve import resolve
from darter.codegen import nvptx
from darter.codegen.nvptx import libdevice
from darter.dtypes import ScalarType, f32, f64
from darter.errors import CodegenError
from darter.frontend.trace import trace
from darter.ir import nodes as ir
from darter.ir.options import KernelOptions
from darter.lang.kernel_function import KernelFunction
from darter.signature.annotations import Tensor
from darter.signature.describe import describe as described
from darter.signature.planner import plan_signature
from darter.target import Target
from tests.assemblers import ptxas
from tests.ir_builder import Builder, pointer_type
from tests.unit.frontend import harness

OPERATIONS = sorted(ir.LIBRARY_MATH, key=lambda op: op.value)


def kernel(op: ir.MathOp, dtype: ScalarType) -> ir.Kernel:
    b = Builder()
    x, y, out = (ir.Value(pointer_type(dtype), name) for name in ("x", "y", "out"))
    i = b.index(ir.Index.THREAD_IDX)
    operands = (b.load(x, i), b.load(y, i)) if op in ir.BINARY_MATH else (b.load(x, i),)
    b.store(out, i, b.math(op, *operands))
    return ir.Kernel(f"{op.value}_{dtype.name}", (x, y, out), b.block, (32, 1, 1), 32)


KERNELS = [kernel(op, dtype) for op in OPERATIONS for dtype in (f32, f64)]


@pytest.fixture(autouse=True)
def _looked_for_anew() -> Iterator[None]:
    cuda_toolkit.libdevice.cache_clear()
    yield
    cuda_toolkit.libdevice.cache_clear()


@pytest.fixture
def installed() -> str:
    path = cuda_toolkit.find(cuda_toolkit.LIBDEVICE)
    if path is None:
        pytest.skip("no libdevice here; pip install nvidia-nvvm brings it")
    return path


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_toolkit, "LIBDEVICE", ())


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_functions_of_the_library_assemble(arch: str) -> None:
    target = Target("cuda", arch, "", 32)
    text, _ = nvptx.llvm_text(KERNELS, target)
    for op in OPERATIONS:
        assert f"call float @__nv_{op.value}f(float " in text
        assert f"call double @__nv_{op.value}(double " in text
    ptx, _ = nvptx.compile_kernels(KERNELS, target)
    assert "reflect" not in ptx
    assert "fma.rn.ftz" not in ptx
    assert ptx == nvptx.compile_kernels(KERNELS, target)[0]
    assert ptxas().assemble(ptx, target)


@pytest.mark.usefixtures("absent")
@pytest.mark.parametrize("arch", ["sm_80", "sm_100"])
def test_without_the_library_the_sequences_are_darter_s_own(arch: str) -> None:
    target = Target("cuda", arch, "", 32)
    ptx, _ = nvptx.compile_kernels(KERNELS, target)
    assert "__nv_" not in ptx
    assert ptxas().assemble(ptx, target)


@pytest.mark.usefixtures("installed")
def test_a_function_is_taken_once_and_with_all_that_it_calls() -> None:
    twice = [kernel(ir.MathOp.TAN, f64), kernel(ir.MathOp.TAN, f64)]
    text, _ = nvptx.llvm_text(twice, Target("cuda", "sm_90", "", 32))
    assert text.count("define internal double @__nv_tan(") == 1
    assert text.count("@__cudart_i2opi_d = ") == 1


def test_a_library_without_the_function_is_told(installed: str) -> None:
    with pytest.raises(CodegenError, match="has no __nv_absent"):
        libdevice._function(installed, "__nv_absent", 90)


def test_what_is_no_library_is_told(tmp_path: Path) -> None:
    path = tmp_path / "libdevice.10.bc"
    path.write_bytes(b"no bitcode")
    with pytest.raises(CodegenError, match="LLVM cannot read"):
        libdevice._function(str(path), "__nv_tan", 90)


@KernelFunction
def _sine_kernel(x: Tensor):
    x[dt.thread_idx.x] = dt.sin(x[dt.thread_idx.x])


@KernelFunction
def _gamma_kernel(x: Tensor):
    x[dt.thread_idx.x] = dt.tgamma(x[dt.thread_idx.x])


def _sine(x: Tensor):
    _sine_kernel(x).launch(grid=1, block=32)


def _gamma(x: Tensor):
    _gamma_kernel(x).launch(grid=1, block=32)


def _record(function, target):
    plan = plan_signature(function, owner=False)
    recorder = Recorder(function)
    x = np.zeros(32, np.float32)
    trace(function, plan, described(plan, (x,)).descriptors, target, KernelOptions(), recorder)
    return recorder.finish()


@pytest.mark.parametrize(
    ("function", "target", "reads"),
    [(_gamma, harness.GPU, True), (_gamma, harness.TARGET, False), (_sine, harness.GPU, False)],
)
def test_the_library_is_part_of_what_a_kernel_that_needs_it_captured(function, target, reads) -> None:
    paths = [describe(path) for path, _ in _record(function, target)]
    assert ("CUDA's device library" in paths) == reads


def test_another_library_or_none_is_no_hit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    libraries = [tmp_path / "a.bc", tmp_path / "b.bc", tmp_path / "copy of a.bc"]
    for path, data in zip(libraries, (b"one", b"other", b"one"), strict=True):
        path.write_bytes(data)
    found: list[str | None] = [str(libraries[0])]
    monkeypatch.setattr(cuda_toolkit, "find", lambda places: found[0])
    record = _record(_gamma, harness.GPU)
    for path, differs in ((libraries[2], False), (libraries[1], True), (None, True)):
        found[0] = None if path is None else str(path)
        cuda_toolkit.libdevice.cache_clear()
        mismatches = resolve(record, _gamma)
        assert [describe(m.path) for m in mismatches] == (["CUDA's device library"] if differs else [])
