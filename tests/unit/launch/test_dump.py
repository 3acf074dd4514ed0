"""``DARTER_DUMP`` writes the stages that it names, and nothing otherwise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import darter as dt


@dt.kernel
def double_kernel(x: dt.Tensor):
    i = dt.thread_idx.x
    x[i] = x[i] + x[i]


def launcher():
    """Return a launcher that was never built in this process."""

    @dt.jit
    def double(x: dt.Tensor):
        double_kernel(x).launch(grid=1, block=32)

    return double


@pytest.fixture(autouse=True)
def _dump_dir(tmp_path: Path, fresh_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DARTER_DUMP_DIR", str(tmp_path / "dump"))


def _suffixes(tmp_path: Path) -> set[str]:
    return {path.suffix for path in (tmp_path / "dump").iterdir()}


def test_the_stages_that_are_named_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DARTER_DUMP", "ir,llvm,asm")
    launcher()(np.ones(32, np.float64))
    texts = {path.suffix: path.read_text() for path in (tmp_path / "dump").iterdir()}
    assert set(texts) == {".ir", ".ll", ".s"}
    assert "kernel double_kernel(" in texts[".ir"]
    assert "define void" in texts[".ll"]
    assert "double_kernel" in texts[".s"]


def test_variants_stand_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DARTER_DUMP", "ir")
    double = launcher()
    double(np.ones(32, np.int16))
    double(np.ones(32, np.int8))
    assert len(list((tmp_path / "dump").glob("*.ir"))) == 2


def test_the_interpreter_has_ir_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DARTER_DUMP", "ir,llvm,asm")
    monkeypatch.setenv("DARTER_INTERPRET", "1")
    launcher()(np.ones(32, np.float32))
    assert _suffixes(tmp_path) == {".ir"}


def test_nothing_is_written_otherwise(tmp_path: Path) -> None:
    launcher()(np.ones(32, np.uint16))
    assert not (tmp_path / "dump").exists()
