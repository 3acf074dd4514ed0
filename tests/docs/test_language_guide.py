"""The language guide names everything that kernel code may call, and gives the errors that are tested."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from darter import lang
from darter.codegen.common.mathematics import LARGEST_ERROR_ULPS
from darter.codegen.nvptx import libdevice
from darter.ir.nodes import LIBRARY_MATH
from darter.lang import library

GUIDE = (Path(__file__).parents[2] / "docs" / "language.md").read_text(encoding="utf-8")
NAMES = sorted({*lang.__all__, *library.__all__} - {"KernelFunction", "static"})


@pytest.mark.parametrize("name", NAMES)
def test_the_guide_names(name: str) -> None:
    assert re.search(rf"\bdt\.{name}\b", GUIDE)


def test_the_table_of_errors_is_the_one_that_is_tested() -> None:
    rows = re.findall(r"^\| (\w+) \| ([\d.]+) \| ([\d.]+) \|(?: \d+ \| \d+ \|)?$", GUIDE, re.MULTILINE)
    written = {name: (float(single), float(double)) for name, single, double in rows}
    assert written == {op.value: bounds for op, bounds in LARGEST_ERROR_ULPS.items()}


def test_the_table_of_the_device_library_is_nvidias() -> None:
    rows = re.findall(r"^\| (\w+) \| [\d.]+ \| [\d.]+ \| (\d+) \| (\d+) \|$", GUIDE, re.MULTILINE)
    written = {name: (int(single), int(double)) for name, single, double in rows}
    assert written == {op.value: bounds for op, bounds in libdevice.LARGEST_ERROR_ULPS.items()}
    assert set(libdevice.LARGEST_ERROR_ULPS) == set(LIBRARY_MATH)
