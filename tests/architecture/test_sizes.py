"""Sizes that keep a file readable: a module is split before 500 lines, a function fits on a screen."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODULE_LINES = 500
FUNCTION_LINES = 60


def _sources() -> list[Path]:
    return sorted(
        [*(ROOT / "src").rglob("*.py"), *(ROOT / "native").rglob("*.[ch]pp"), *(ROOT / "benchmarks").rglob("*.py")]
    )


def test_modules_are_short() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in _sources()
        if (lines := path.read_text().count("\n")) >= MODULE_LINES
    }
    assert long == {}


def test_functions_fit_on_a_screen() -> None:
    long = {}
    for path in _sources():
        if path.suffix != ".py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > FUNCTION_LINES:
                    long[f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"] = lines
    assert long == {}


def test_names_of_modules_say_what_they_hold() -> None:
    vague = {"utils", "util", "helpers", "helper", "manager", "misc", "common_utils"}
    assert [str(path) for path in _sources() if path.stem in vague] == []
