"""``darter bench drift``: its rows, not their figures."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from darter.cli.main import app


def test_the_rows_and_what_they_are_made_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DARTER_CACHE_DIR", str(tmp_path / "store"))
    found = CliRunner().invoke(
        app, ["bench", "drift", "--batches", "2", "--calls", "3", "--json", str(tmp_path / "drift.json")]
    )
    assert found.exit_code == 0, found.output
    rows = json.loads((tmp_path / "drift.json").read_text())["rows"]
    units = {row["name"]: row["unit"] for row in rows}
    assert units == {
        "globals_100_over_0": "ratio",
        "dict_100k_over_10": "ratio",
        "storm_10_ns": "ns",
        "storm_100_ns": "ns",
    }
    assert all(row["much_ns"] > 0 and row["little_ns"] > 0 for row in rows)
    assert not [name for name in sys.modules if name.startswith("darter_bench_")]
