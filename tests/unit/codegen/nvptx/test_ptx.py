"""NVPTX code of generated kernels: LLVM takes every node for every architecture, and the assembler takes the PTX."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from darter.codegen import nvptx
from darter.codegen.nvptx.ptx import externs
from darter.dtypes import Float32, f32, i32
from darter.ir import nodes as ir, nodes as n
from darter.target import Target
from tests.ir_builder import Builder, pointer_type
from tests.property.kernel_generator import generate

ARCHITECTURES = ("sm_80", "sm_90", "sm_90a", "sm_100")
SEEDS = range(12)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_generated_kernels_assemble(arch: str, tmp_path: Path) -> None:
    kernels = [generate(seed, 24, 32).kernel for seed in SEEDS]
    ptx, entries = nvptx.compile_kernels(kernels, Target("cuda", arch, "", 32))
    assert [entry.symbol in ptx for entry in entries] == [True] * len(kernels)
    assembler = shutil.which("ptxas")
    if assembler is None:
        pytest.skip("ptxas is not installed; the PTX was made and not assembled")
    (tmp_path / "k.ptx").write_text(ptx)
    done = subprocess.run(
        [assembler, f"-arch={arch}", tmp_path / "k.ptx", "-o", tmp_path / "k.cubin"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_externs_are_found_with_and_without_a_return_value() -> None:
    text = (
        ".extern .func  (.param .b32 func_retval0) vprintf\n(\n\t.param .b64 vprintf_param_0\n)\n;\n"
        ".extern .shared .align 16 .b8 darter_dynamic[];\n.extern .func foo\n(\n.param .b64 foo_param_0\n)\n;\n"
    )
    assert externs(text) == {"vprintf", "darter_dynamic", "foo"}


def test_the_same_kernels_give_the_same_ptx() -> None:
    target = Target("cuda", "sm_90", "", 32)
    first, _ = nvptx.compile_kernels([generate(3, 24, 32).kernel], target)
    second, _ = nvptx.compile_kernels([generate(3, 24, 32).kernel], target)
    assert first == second


@pytest.mark.parametrize(("noalias", "loads"), [((), "ld.global.b32"), (("x",), "ld.global.nc.b32")])
def test_what_is_declared_noalias_and_only_read_goes_by_the_read_only_cache(
    noalias: tuple[str, ...], loads: str
) -> None:
    b = Builder()
    x, out = (ir.Value(pointer_type(f32), name) for name in ("x", "out"))
    i = b.index(ir.Index.THREAD_IDX)
    b.store(out, i, b.load(x, i))
    b.store(out, b.const(i32, 40), b.load(x, b.const(i32, 40)))
    kernel = ir.Kernel("k", (x, out), b.block, (32, 1, 1), 32, ir.KernelOptions(noalias=noalias))
    ptx, _ = nvptx.compile_kernels([kernel], Target("cuda", "sm_90", "", 32))
    assert loads in ptx


def test_kernels_of_one_name_have_shared_memory_of_their_own() -> None:
    kernels = [_with_shared(count) for count in (16, 4096)]
    ptx, _ = nvptx.compile_kernels(kernels, Target("cuda", "sm_90", "", 32))
    sizes = re.findall(r"\.shared \.align \d+ \.b8 \S+\[(\d+)\]", ptx)
    assert sorted(map(int, sizes)) == [64, 16384]


def _with_shared(count: int) -> n.Kernel:
    b, out = Builder(), n.Value(pointer_type(Float32))
    tid = b.index(n.Index.THREAD_IDX)
    memory = b.shared(Float32, count)
    b.store(memory, tid, b.const(Float32, 1.0))
    b.barrier()
    b.store(out, tid, b.load(memory, tid))
    return n.Kernel("same", (out,), b.block, (32, 1, 1), 32)
