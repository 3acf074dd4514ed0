from __future__ import annotations

import pytest

from darter.cli.bench.timing import Candidate, Times, measure


def test_every_candidate_is_called_the_same_number_of_times() -> None:
    calls: dict[str, int] = {"one": 0, "four": 0}

    def count(name: str) -> None:
        calls[name] += 1

    names = {"count": count}
    four = "; ".join(["count('four')"] * 4)
    times = measure(
        [Candidate("one", "count('one')", names), Candidate("four", four, names, calls=4)], batches=3, batch_calls=40
    )
    # One batch more than is counted warms each candidate up.
    assert calls == {"one": 4 * 40, "four": 4 * 40}
    assert [len(each.batches_ns) for each in times.values()] == [3, 3]


def test_ratios_are_of_batches_that_ran_one_after_the_other() -> None:
    mine, theirs = Times((10.0, 200.0, 30.0)), Times((5.0, 100.0, 10.0))
    assert mine.over(theirs) == 2.0
    assert (mine.min_ns, mine.median_ns) == (10.0, 30.0)


def test_times_of_different_runs_have_no_ratio() -> None:
    with pytest.raises(ValueError, match=r"shorter|longer"):
        Times((1.0,)).over(Times((1.0, 2.0)))
