"""The committed instruction counts: what is compared on which machine."""

from __future__ import annotations

import pytest

from benchmarks.instructions.__main__ import CHANGED, compare, over_python

HERE = {"python": "3.11.7", "compiler": "12.2.0"}
COUNTS = {"launch/numpy/S": 1000.0, "launch/numpy/S/python": 200.0}
KNOWN = [{"environment": HERE, "instructions": COUNTS}]


def changed(count: float, environment: dict[str, str] = HERE) -> int:
    return compare({**COUNTS, "launch/numpy/S": count}, KNOWN, environment)


@pytest.mark.parametrize(("count", "status"), [(1000, 0), (1019, 0), (981, 0), (1021, CHANGED), (979, CHANGED)])
def test_in_the_same_environment_two_percent_are_allowed(count: float, status: int) -> None:
    assert changed(count) == status


def test_another_machine_compares_multiples_of_an_empty_function_and_only_roughly() -> None:
    other = {"python": "3.11.9", "compiler": "13.1.0"}
    assert changed(1200, other) == 0
    assert changed(1400, other) == CHANGED
    assert compare({"launch/numpy/S": 2600.0, "launch/numpy/S/python": 500.0}, KNOWN, other) == 0


def test_another_python_is_not_compared(capsys: pytest.CaptureFixture) -> None:
    assert changed(9000, {"python": "3.12.1", "compiler": "12.2.0"}) == 0
    assert "not compared" in capsys.readouterr().out


def test_pythons_own_counts_are_not_judged() -> None:
    assert compare({**COUNTS, "launch/numpy/S/python": 300.0}, KNOWN, HERE) == 0


def test_multiples() -> None:
    assert over_python(COUNTS) == {"launch/numpy/S": 5.0}
