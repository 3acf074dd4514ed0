"""The replay itself: its rows, its options, and the command line's ``darter bench replay``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks.hotpath_replay import bench_hotpath
from benchmarks.hotpath_replay.candidates import MIXED
from benchmarks.hotpath_replay.launchers import NAMES
from darter.cli.main import app

WAYS = ("jit", "compiled", "python", "jit_over_python", "jit_over_compiled", "reading", "key", "guards")
SMOKE = ["--windows", "1", "--warmup-windows", "0"]


def test_every_launcher_and_the_mixed_window_have_every_row(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    file = tmp_path / "rows.json"
    assert bench_hotpath.main([*SMOKE, "--json", str(file)]) == 0
    report = json.loads(file.read_text())
    values = {row["name"]: row["value"] for row in report["rows"]}
    launchers = [MIXED, *set(NAMES.values())]
    assert {f"replay/cpu/numpy/noop/{launcher}/{way}" for launcher in launchers for way in WAYS} <= values.keys()
    assert min(values.values()) > 0
    assert report["machine"]["python"]
    assert "mixed" in capsys.readouterr().out


def test_reading_is_a_part_of_the_key_build(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    bench_hotpath.main([*SMOKE, "--json", str(file)])
    values = {row["name"].rpartition("noop/")[2]: row for row in json.loads(file.read_text())["rows"]}
    # 23 arguments against 3: whatever else the machine does, more arguments take longer to read.
    assert values["fused_compress_attn/reading"]["value"] > values["softmax_256/reading"]["value"]
    assert values["fused_compress_attn/key"]["value"] > values["fused_compress_attn/reading"]["value"]


def test_the_command_line_runs_the_same_program(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    done = CliRunner().invoke(app, ["bench", "replay", *SMOKE, "--json", str(file)])
    assert done.exit_code == 0, done.output
    assert any(row["name"].endswith("/mixed/jit") for row in json.loads(file.read_text())["rows"])


def test_the_file_is_a_program() -> None:
    file = Path(bench_hotpath.__file__)
    done = subprocess.run([sys.executable, file, "--help"], capture_output=True, text=True, check=True)
    assert "--gpu-event-calls" in done.stdout


@pytest.mark.parametrize(
    "wrong", [["--windows", "0"], ["--backend", "cuda", "--arguments", "numpy"], ["--bodies", "x"]]
)
def test_wrong_options_are_refused(wrong: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        bench_hotpath.main(wrong)
    assert stopped.value.code == 2
