from __future__ import annotations

from pathlib import Path

from darter.artifacts.settings import StoreSettings
from darter.artifacts.store import Store
from darter.cli.info import store_facts
from tests.artifact_samples import sample_build, sample_key


def test_the_store_is_described_and_not_made(tmp_path: Path) -> None:
    settings = StoreSettings(str(tmp_path / "store"), limit_bytes=1 << 20)
    assert store_facts(settings)["entries"] == "0, 0.0 MiB of at most 1 MiB"
    assert not (tmp_path / "store").exists()
    Store(settings).publish(sample_key(), sample_build())
    assert store_facts(settings)["entries"].startswith("1, ")


def test_no_place_for_a_store_is_said_with_the_way_out() -> None:
    assert "DARTER_CACHE_DIR" in store_facts(StoreSettings(None))["store"]
