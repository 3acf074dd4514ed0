"""Rows of first launches from disk: which processes count, and what each of them measures."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from darter.cli.bench import disk_hits


def test_processes_that_fill_the_store_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[float] = []

    def first_launch(*_: object) -> tuple[str, float, float]:
        taken.append(float(len(taken)))
        is_filling = len(taken) % (disk_hits.FILLING + disk_hits.PROCESSES) in range(1, disk_hits.FILLING + 1)
        return ("compile" if is_filling else "disk"), taken[-1], taken[-1] / 2

    monkeypatch.setattr(disk_hits, "_first_launch", first_launch)
    row, _ = disk_hits.disk_hit_rows("cpu")
    assert (row.name, row.unit) == ("disk_hit/vector_add", "ms")
    assert row.more["all"] == [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]
    assert (row.value, row.more["min"]) == (6.0, 2.0)
    assert row.more["processor_ms"] == {"min": 1.0, "median": 3.0}


def test_a_launch_that_compiled_is_no_disk_hit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_hits, "_first_launch", lambda *_: ("compile", 1.0, 1.0))
    with pytest.raises(RuntimeError, match="vector_add: a first launch compiled"):
        next(iter(disk_hits.disk_hit_rows("cpu")))


@pytest.mark.parametrize("case", disk_hits.CASES)
def test_a_process_says_where_its_first_launch_found_the_code(tmp_path: Path, case: str) -> None:
    environment = {**os.environ, "DARTER_CACHE_DIR": str(tmp_path)}
    found = [disk_hits._first_launch("cpu", case, environment) for _ in range(2)]
    assert [origin for origin, _, _ in found] == ["compile", "disk"]
    assert all(wall > 0 and processor > 0 for _, wall, processor in found)
