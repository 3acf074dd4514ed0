"""Two darters side by side: a tree against itself, and against a copy with 200 ns of busy work in the warm call."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import darter
from benchmarks.hotpath_replay.canary import make_canary
from benchmarks.hotpath_replay.matrix import FAILED, SLOWER
from benchmarks.hotpath_replay.trees import ROOT
from benchmarks.instructions import callgrind

INSTALLED = Path(darter.__file__).parents[1]
SCRIPT = ROOT / "benchmarks" / "hotpath_replay" / "run_matrix.sh"
LAUNCHERS = ("mixed", "qk_norm_rope_quant", "fused_compress_attn", "hca_compress_forward", "hca_norm_rope_scatter")
ROWS = {f"replay/cpu/numpy/noop/{launcher}/jit" for launcher in (*LAUNCHERS, "softmax_8192", "softmax_256")}

once = pytest.mark.skipif(
    os.environ.get("CI") == "true" and sys.version_info[:2] != (3, 11),
    reason="runs callgrind, or builds darter once more: in CI one Python is enough",
)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("replay-cache")


def run(cache: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [str(SCRIPT), "--cache", str(cache), *map(str, arguments)]
    environ = {**os.environ, "PYTHON": sys.executable}
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False, cwd="/")


@once
def test_a_tree_is_as_fast_as_itself(cache: Path, tmp_path: Path) -> None:
    file = tmp_path / "matrix.json"
    trees = ("--original", INSTALLED, "--fixed", INSTALLED)
    done = run(cache, *trees, "--pairs", 2, "--json", file, "--", "--windows", 2, "--warmup-windows", 1)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {row["name"].removeprefix("matrix/"): row for row in json.loads(file.read_text())["rows"]}
    assert rows.keys() >= ROWS
    for name in ROWS:
        assert len(rows[name]["original"]) == len(rows[name]["fixed"]) == 2
        if callgrind.available():
            original, fixed = rows[name]["instructions"]
            assert fixed / original == pytest.approx(1, abs=0.002)


@once
def test_busy_work_of_200_ns_is_named_in_every_row(cache: Path, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    make_canary(canary)
    trees = ("--original", INSTALLED, "--fixed", canary)
    done = run(cache, *trees, "--pairs", 3, "--", "--windows", 4, "--warmup-windows", 2)
    assert done.returncode == SLOWER, done.stdout + done.stderr
    assert {line.split(": ")[1] for line in done.stdout.splitlines() if line.startswith("slower: ")} == ROWS


def test_a_path_without_darter_is_an_error_of_its_own(cache: Path, tmp_path: Path) -> None:
    done = run(cache, "--original", tmp_path, "--fixed", INSTALLED)
    assert done.returncode == FAILED
    assert "holds no darter" in done.stderr


def test_a_replay_that_fails_is_shown(cache: Path) -> None:
    done = run(cache, "--original", INSTALLED, "--fixed", INSTALLED, "--", "--bodies", "none")
    assert done.returncode == FAILED
    assert "invalid choice: 'none'" in done.stderr
