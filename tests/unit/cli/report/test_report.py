"""``darter bench report``: the charts that rows make, the page, the PNGs, and how a browser shows it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from importlib import util
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from darter.cli.main import app
from darter.cli.report.charts import LineChart, RatioChart, StackChart, charts_of, read_results
from darter.cli.report.page import page
from darter.cli.report.scales import Scale, spread_out

MACHINE = {"cpu": "Some <CPU>", "python": "3.11.7", "date": "2026-11-30"}


def result(folder: Path, name: str, rows: list[dict[str, Any]], date: str = "2026-11-30") -> None:
    data = {"machine": {**MACHINE, "date": date}, "command": "made for a test", "rows": rows}
    (folder / f"{name}.json").write_text(json.dumps(data))


def replay_rows(factor: float) -> list[dict[str, Any]]:
    parts = {"jit": 400, "compiled": 350, "python": 60, "reading": 60, "key": 150, "guards": 20, "lookup": 7, "bind": 2}
    rows = [
        {"name": f"replay/cpu/numpy/noop/{launcher}/{part}", "value": value * factor, "unit": "ns"}
        for launcher in ("mixed", "softmax_256")
        for part, value in parts.items()
    ]
    return [*rows, {"name": "replay/cpu/numpy/noop/mixed/jit_over_python", "value": 6.6 * factor, "unit": "ratio"}]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A folder with a file of each kind of benchmark, two of them of other days."""
    arguments = [
        {"name": f"arguments/cpu/{who}/{label}", "value": 30.0 * count * cost, "unit": "ns", "min": 29.0 * count * cost}
        for who, cost in (("darter, NumPy", 2), ("empty Python function", 1), ("FlyDSL @flyc.jit", 1e5))
        for label, count in (("1", 1), ("20", 20), ("60", 60), ("S", 4))
    ]
    peers = [
        {
            "name": f"{name}/over_floor",
            "value": 1.2,
            "unit": "ratio",
            "ns": {"median": 3000 * cost},
            "other_ns": {"median": 2900},
        }
        for name, cost in (
            ("peer/triton/S", 5),
            ("peer/triton/L", 6),
            ("launch/torch/S/positional/one", 1.1),
            ("launch/torch/L/positional/one", 1.2),
        )
    ]
    matrix = [
        {
            "name": f"matrix/replay/cpu/numpy/noop/{launcher}/{way}",
            "value": ratio,
            "unit": "ratio",
            "low": ratio - 0.02,
            "high": ratio + 0.05,
        }
        for launcher, ratio in (("mixed", 1.0), ("softmax_256", 0.8))
        for way in ("jit", "compiled")
    ]
    result(tmp_path, "arguments", arguments)
    result(tmp_path, "gpu", peers)
    result(tmp_path, "matrix", matrix)
    result(tmp_path, "first", replay_rows(1.2), "2026-11-02")
    result(tmp_path, "second", replay_rows(1.0), "2026-11-30")
    (tmp_path / "other.json").write_text("[1, 2]")
    return tmp_path


KEYS = ["arguments", "gpu", "stack-cpu-numpy-noop", "matrix-matrix", "dates-cpu"]


def test_each_kind_of_row_makes_its_chart(results: Path) -> None:
    charts = {chart.key: chart for chart in charts_of(read_results(results))}
    assert list(charts) == KEYS
    lines = charts["arguments"]
    assert isinstance(lines, LineChart)
    assert {series.name: series.points for series in lines.series}["darter, NumPy"] == ((1, 58), (20, 1160), (60, 3480))
    dates = charts["dates-cpu"]
    assert isinstance(dates, LineChart)
    assert [round(value, 2) for _, value in dates.series[0].points] == [7.92, 6.6]
    ratios = charts["matrix-matrix"]
    assert isinstance(ratios, RatioChart)
    assert ratios.rows[0] == ("numpy mixed jit", 0.98, 1.0, 1.05, True)


def test_a_stack_is_of_the_newest_file_and_adds_up_to_the_call(results: Path) -> None:
    chart = next(chart for chart in charts_of(read_results(results)) if isinstance(chart, StackChart))
    label, values = chart.bars[0]
    assert label == "mixed"
    assert sum(values) == pytest.approx(400)
    assert values[1:3] == (60, 90)


def test_one_file_makes_what_it_can(tmp_path: Path) -> None:
    result(tmp_path, "only", replay_rows(1.0))
    assert [chart.key for chart in charts_of(read_results(tmp_path))] == ["stack-cpu-numpy-noop", "dates-cpu"]


def test_the_page_needs_nothing_from_elsewhere(results: Path) -> None:
    found = read_results(results)
    text = page(found, charts_of(found))
    assert [key for key in KEYS if f'<svg id="{key}"' in text] == KEYS
    assert "<script" not in text
    assert not re.search(r"""(src|href)\s*=\s*["'](?!data:)|url\(|@import""", text)
    assert "Some &lt;CPU&gt;" in text
    assert "<CPU>" not in text


def test_the_command_writes_page_and_pictures(results: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    done = CliRunner().invoke(app, ["bench", "report", str(results), "--output", str(output)])
    assert done.exit_code == 0, done.output
    expected = {"report.html"}
    if util.find_spec("matplotlib") is not None:
        expected |= {f"{key}.png" for key in KEYS}
    assert {path.name for path in output.iterdir()} == expected
    assert all(path.stat().st_size > 5000 for path in output.iterdir())


@pytest.mark.parametrize("name", ["missing", "empty"])
def test_a_folder_without_results_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    done = CliRunner().invoke(app, ["bench", "report", str(tmp_path / name)])
    assert done.exit_code == 2
    # The message stands in a frame, whose width depends on the terminal.
    assert "no result file" in " ".join(done.output.replace("│", " ").split())


def test_ticks_are_round() -> None:
    assert Scale(0, 500).ticks() == [0, 100, 200, 300, 400, 500]
    assert Scale(20, 700, True).ticks() == [20, 50, 100, 200, 500]
    assert Scale(20, 70000, True).ticks() == [100, 1000, 10000]


def test_labels_move_apart_and_stay_inside() -> None:
    assert spread_out([1, 1.5, 9.9, 10], 2, 0, 10) == [1, 3, 8, 10]


# What a browser makes of the page: the size of each chart, how many marks it shows, and which texts leave its frame.
_PROBE = """<script>
for (const chart of document.querySelectorAll("svg.chart")) {
  const frame = chart.getBoundingClientRect();
  const shown = (selector) => [...chart.querySelectorAll(selector)].filter(
    (mark) => { const box = mark.getBoundingClientRect(); return box.width > 0 || box.height > 0; });
  const outside = shown("text").filter((text) => {
    const box = text.getBoundingClientRect();
    return box.left < frame.left - 1 || box.right > frame.right + 1
        || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
  }).map((text) => text.textContent);
  chart.dataset.seen = JSON.stringify({
    id: chart.id, width: frame.width, height: frame.height, outside: outside,
    marks: shown("rect, circle, polyline").length, texts: shown("text").length});
}
</script>"""


def _browser() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome", "chrome"):
        found = shutil.which(name)
        if found:
            return found
    pytest.skip("no Chromium is installed")


def test_a_browser_draws_every_chart_and_reports_no_error(results: Path, tmp_path: Path) -> None:
    browser = _browser()
    found = read_results(results)
    file = tmp_path / "probed.html"
    file.write_text(page(found, charts_of(found)).replace("</body>", f"{_PROBE}</body>"), encoding="utf-8")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    command += ["--enable-logging=stderr", "--window-size=1060,2000", f"--user-data-dir={tmp_path / 'profile'}"]
    done = subprocess.run(
        [*command, "--dump-dom", file.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert [line for line in done.stderr.splitlines() if "CONSOLE" in line] == []
    seen = [json.loads(text.replace("&quot;", '"')) for text in re.findall(r'data-seen="([^"]*)"', done.stdout)]
    assert [each["id"] for each in seen] == KEYS
    for each in seen:
        assert each["width"] > 800
        assert each["height"] > 100
        assert each["marks"] >= 3, each
        assert each["texts"] >= 6, each
        assert each["outside"] == [], each
