from __future__ import annotations

import json
from pathlib import Path

import pytest

from darter.cli.report_json import Row, installed_version, machine, write_report

ROWS = [Row("launch/numpy/S", 65.0, "ns", {"min": 60.0}), Row("launch/numpy/S/over_python", 2.0, "ratio")]


def test_the_report_has_machine_command_and_rows(tmp_path: Path) -> None:
    write_report(tmp_path / "out.json", "darter bench launch", ROWS)
    report = json.loads((tmp_path / "out.json").read_text())
    assert set(report) == {"machine", "command", "rows"}
    assert report["command"] == "darter bench launch"
    assert report["rows"][0] == {"name": "launch/numpy/S", "value": 65.0, "unit": "ns", "min": 60.0}
    assert report["rows"][1] == {"name": "launch/numpy/S/over_python", "value": 2.0, "unit": "ratio"}


def test_a_dash_writes_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    write_report(Path("-"), "darter bench launch", ROWS)
    assert len(json.loads(capsys.readouterr().out)["rows"]) == 2


def test_the_machine_says_what_a_reader_needs() -> None:
    assert {"cpu", "cores", "system", "date", "python", "darter", "numpy"} <= set(machine())


def test_a_package_that_is_not_installed_has_no_version() -> None:
    assert installed_version("no_such_package_here") is None
    assert installed_version("numpy")
