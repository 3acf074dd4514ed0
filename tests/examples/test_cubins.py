"""The launchers' machine code, without a GPU: every architecture takes it, and a line table changes none of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from darter.backends import cuda
from darter.backends.cubin import content, sections
from darter.backends.line_table import without_text
from darter.codegen import nvptx
from darter.target import Target
from tests.assemblers import ptxas
from tests.examples.cuda_modules import NAMES, module_of

HOPPER = Target("cuda", "sm_90", "", 32)
_LINE_DIRECTIVES = re.compile(
    r"^\s*\.(?:loc|file)\s.*\n|^\$L__(?:tmp|func_begin|func_end)\d+:\n|^\s*\.section\s+\.debug_macinfo.*\n",
    re.MULTILINE,
)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_90a", "sm_100"])
@pytest.mark.parametrize("name", NAMES)
def test_every_architecture_assembles(name: str, arch: str) -> None:
    artifact = cuda.compile(module_of(name), Target("cuda", arch, "", 32), ptxas())
    code = {section.name: section.size for section in sections(artifact.code)}
    for kernel in artifact.kernels:
        assert code[f".text.{kernel.symbol}"] > 0


@pytest.mark.parametrize("arch", cuda.ARCHITECTURES)
def test_every_architecture_that_can_be_asked_for_assembles(arch: str) -> None:
    cubin = cuda.compile(module_of("vector_add"), Target("cuda", arch, "", 32), ptxas()).code
    assert any(section.name == ".text.add_kernel_0" for section in sections(cubin))


@pytest.mark.parametrize("name", NAMES)
def test_a_line_table_is_all_that_line_info_adds_to_the_ptx(name: str) -> None:
    module = module_of(name)
    plain, _ = nvptx.compile_kernels(module.kernels, HOPPER)
    lined, _ = nvptx.compile_kernels(module.kernels, HOPPER, module.functions)
    assert ".loc" in lined
    assert _LINE_DIRECTIVES.sub("", lined).rstrip() == plain.rstrip()


@pytest.mark.parametrize("name", NAMES)
def test_machine_code_is_the_same_with_and_without_line_info(name: str) -> None:
    module, assembler = module_of(name), ptxas()
    machine_code = []
    for functions in ((), module.functions):
        ptx, _ = nvptx.compile_kernels(module.kernels, HOPPER, functions)
        cubin = assembler.assemble(ptx, HOPPER)
        machine_code.append({s.name: content(cubin, s) for s in sections(cubin) if s.name.startswith(".text")})
    assert machine_code[0] == machine_code[1]
    kept = without_text(cubin)
    assert {s.name: content(kept, s) for s in sections(kept) if s.name.startswith(".text")} == machine_code[1]


def test_the_artifact_of_a_launcher_holds_no_path() -> None:
    artifact = cuda.compile(module_of("rmsnorm_bf16"), HOPPER, ptxas())
    assert b"darter.lang.library.rows." in artifact.code
    assert str(Path(__file__).parents[2]).encode() not in artifact.code
    assert b".py" not in artifact.code
