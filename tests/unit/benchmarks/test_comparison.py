"""When a row counts as slower."""

from __future__ import annotations

import pytest

from benchmarks.hotpath_replay.comparison import Comparison

STEADY = (100.0, 101.0, 99.0, 100.0, 102.0)


def row(fixed: tuple[float, ...], *instructions: float, name: str = "replay/mixed/jit") -> Comparison:
    return Comparison(name, "ns", STEADY, fixed, *instructions)


def test_the_same_is_not_slower() -> None:
    assert row(STEADY).slower(1.10) is None
    assert row(STEADY, 4000, 4000).slower(1.10) is None


def test_more_instructions_are_slower_whatever_the_time_says() -> None:
    assert row(STEADY, 4000, 4081).slower(1.10) == "instructions +2.0%"
    assert row(STEADY, 4000, 4079).slower(1.10) is None


@pytest.mark.parametrize(("factor", "slower"), [(1.5, True), (1.11, True), (1.09, False), (0.5, False)])
def test_without_instructions_time_decides(factor: float, slower: bool) -> None:
    assert (row(tuple(value * factor for value in STEADY)).slower(1.10) is not None) == slower


def test_a_time_within_its_spread_is_not_slower() -> None:
    noisy = (90.0, 130.0, 180.0, 95.0, 200.0)
    assert row(noisy).ratio > 1.10
    assert row(noisy).slower(1.10) is None


def test_a_busy_machine_does_not_lengthen_the_least_sample() -> None:
    disturbed = Comparison("replay/mixed/jit", "ns", STEADY, (150.0, 151.0, 149.0, 152.0, 150.0), least=(97.0, 98.0))
    assert disturbed.slower(1.10) is None


def test_one_disturbed_run_hides_nothing() -> None:
    assert row((150.0, 152.0, 9000.0, 149.0, 151.0)).slower(1.10) == "time +51%"


def test_waiting_costs_no_instructions_and_is_slower_when_the_pairs_agree() -> None:
    assert row((150.0, 151.0, 149.0, 152.0, 150.0), 4000, 4001).slower(1.10) == "time +50%"
    assert row((150.0, 107.0, 104.0, 152.0, 150.0), 4000, 4001).slower(1.10) is None


def test_only_plain_calls_are_judged() -> None:
    assert row(STEADY).gated
    assert not row(STEADY, name="replay/mixed/compiled").gated
    assert not row(STEADY, name="replay/mixed/jit_over_python").gated


def test_bounds_leave_the_outermost_pairs_out_of_five_and_more() -> None:
    five = row((100.0, 202.0, 99.0, 50.0, 102.0))
    assert five.bounds == (1.0, 1.0)
    assert Comparison("r", "ns", STEADY[:2], (110.0, 101.0)).bounds == (1.0, 1.1)
