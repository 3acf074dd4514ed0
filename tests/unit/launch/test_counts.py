from __future__ import annotations

import pytest

from darter.launch.counts import Counts


def test_counts_are_read_by_attribute_and_by_name() -> None:
    counts = Counts()
    counts.compiles, counts.disk_hits, counts.shared_hits = 2, 1, 3
    info = counts.info(memory_hits=10, variants=2)
    assert (info.compiles, info.disk_hits, info.memory_hits, info.variants) == (2, 1, 13, 2)
    assert info["memory_hits"] == 13
    with pytest.raises(KeyError, match="compiles, disk_hits"):
        info["misses"]
