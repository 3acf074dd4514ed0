"""Line tables: names of functions in the store, files of this machine for a profiler, the same code in both."""

from __future__ import annotations

import importlib.util
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from darter.artifacts.artifact import Artifact
from darter.backends import cuda
from darter.backends.cubin import Section, content, sections
from darter.backends.line_table import with_places, without_text
from darter.codegen import nvptx
from darter.ir.nodes import Module
from darter.launch.line_info import with_line_info
from tests.assemblers import ptxas
from tests.unit.backends.line_rows import read
from tests.unit.frontend import harness

_SOURCE = """
import darter as dt

def scaled(x, factor):
    if x > 0:
        x = x * factor
    return x + 1

@dt.kernel
def first_kernel(x: dt.Tensor, out: dt.Tensor):
    i = dt.thread_idx.x
    out[i] = scaled(x[i], 3)

@dt.kernel
def second_kernel(x: dt.Tensor, out: dt.Tensor):
    i = dt.thread_idx.x
    out[i] = dt.exp(
        scaled(out[i], 5)
    )

@dt.jit
def run(x, out):
    first_kernel(x, out).launch(grid=1, block=32)
    second_kernel(x, out).launch(grid=1, block=32)
"""


def _imported(path: Path, text: str) -> types.ModuleType:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("kernels_with_lines", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _launcher(path: Path, text: str = _SOURCE, monkeypatch: pytest.MonkeyPatch | None = None) -> Any:
    imported = _imported(path, text)
    if monkeypatch is not None:
        monkeypatch.setitem(__import__("sys").modules, "kernels_with_lines", imported)
    return imported.run.__wrapped__


def _traced(launcher: Any) -> Module:
    x = np.zeros(32, np.float32)
    return harness.traced(launcher, x, x, target=harness.GPU)


def _artifact(launcher: Any) -> Artifact:
    return cuda.compile(_traced(launcher), harness.GPU, ptxas())


def _section(cubin: bytes, name: str) -> Section:
    return next(section for section in sections(cubin) if section.name == name)


def _rows(cubin: bytes) -> tuple[list[tuple[int, str, int]], list[int]]:
    return read(content(cubin, _section(cubin, ".debug_line")))


def test_place_and_directory_of_the_source_change_nothing(tmp_path: Path) -> None:
    here = _traced(_launcher(tmp_path / "a" / "kernels.py"))
    there = _traced(_launcher(tmp_path / "b" / "longer" / "other.py", "# moved\n\n\n" + _SOURCE))
    text, _ = nvptx.compile_kernels(here.kernels, harness.GPU, here.functions)
    assert text == nvptx.compile_kernels(there.kernels, harness.GPU, there.functions)[0]
    assert '.file\t1 "kernels_with_lines.first_kernel"' in text
    assert str(tmp_path) not in text


def test_a_kernel_s_lines_are_counted_from_its_def_and_a_helper_s_from_its_own(tmp_path: Path) -> None:
    rows, _ = _rows(_artifact(_launcher(tmp_path / "kernels.py")).code)
    found = {(file, line) for _, file, line in rows}
    assert {("kernels_with_lines.first_kernel", 3), ("kernels_with_lines.scaled", 3)} <= found
    assert {file for file, _ in found} == {
        f"kernels_with_lines.{n}" for n in ("first_kernel", "second_kernel", "scaled")
    }
    assert all(1 <= line <= 5 for _, line in found)


def test_a_profiler_gets_files_and_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "with ü and space" / "kernels.py"
    launcher = _launcher(path, "\n" * 300 + _SOURCE, monkeypatch)
    artifact = _artifact(launcher)
    shown = with_line_info(artifact, launcher).code
    first = {"first_kernel": 310, "second_kernel": 315, "scaled": 304}
    text = path.read_text().split("\n")
    assert all(f"def {name}(" in text[line - 1] for name, line in first.items())
    before, _ = _rows(artifact.code)
    expected = [(address, str(path), line - 1 + first[name.rpartition(".")[2]]) for address, name, line in before]
    assert _rows(shown)[0] == expected
    same = [".text.first_kernel_0", ".text.second_kernel_1", ".nv.info", ".symtab", ".nv.constant0.first_kernel_0"]
    for name in same:
        assert content(shown, _section(shown, name)) == content(artifact.code, _section(artifact.code, name))
        assert _section(shown, name).offset % 8 == _section(artifact.code, name).offset % 8


def test_relocations_follow_the_addresses_of_the_line_table(tmp_path: Path) -> None:
    code = _artifact(_launcher(tmp_path / "kernels.py")).code
    shown = with_places(code, lambda name: ("/some/where/" + name, 100_000))
    for cubin in (code, shown):
        relocations = content(cubin, _section(cubin, ".rela.debug_line"))
        offsets = [int.from_bytes(relocations[at : at + 8], "little") for at in range(0, len(relocations), 24)]
        assert sorted(offsets) == _rows(cubin)[1]
        assert len(offsets) == 2


def test_a_function_without_a_place_keeps_its_name_and_lines(tmp_path: Path) -> None:
    code = _artifact(_launcher(tmp_path / "kernels.py")).code
    assert with_places(code, lambda name: None) == code
    only = with_places(code, lambda name: ("/k.py", 7) if name.endswith("scaled") else None)
    before, after = _rows(code)[0], _rows(only)[0]
    for (address, name, line), row in zip(before, after, strict=True):
        assert row == ((address, "/k.py", line + 6) if name.endswith("scaled") else (address, name, line))


def test_the_ptx_that_the_assembler_keeps_is_dropped(tmp_path: Path) -> None:
    module = _traced(_launcher(tmp_path / "kernels.py"))
    ptx, _ = nvptx.compile_kernels(module.kernels, harness.GPU, module.functions)
    cubin = ptxas().assemble(ptx, harness.GPU)
    kept = without_text(cubin)
    assert b"ld.global" in cubin
    assert b"ld.global" not in kept
    assert without_text(kept) == kept
    assert _rows(kept) == _rows(cubin)


def test_a_cubin_without_lines_stays_as_it_is(tmp_path: Path) -> None:
    module = _traced(_launcher(tmp_path / "kernels.py"))
    plain = without_text(ptxas().assemble(nvptx.compile_kernels(module.kernels, harness.GPU)[0], harness.GPU))
    assert with_places(plain, lambda name: ("/k.py", 7)) == plain
