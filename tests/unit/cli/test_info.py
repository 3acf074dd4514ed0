from __future__ import annotations

from pathlib import Path

import pytest

from darter.artifacts import cuda_toolkit
from darter.artifacts.settings import StoreSettings
from darter.artifacts.store import Store
from darter.cli.info import cuda_facts, store_facts
from tests.artifact_samples import sample_build, sample_key


def test_the_store_is_described_and_not_made(tmp_path: Path) -> None:
    settings = StoreSettings(str(tmp_path / "store"), limit_bytes=1 << 20)
    assert store_facts(settings)["entries"] == "0, 0.0 MiB of at most 1 MiB"
    assert not (tmp_path / "store").exists()
    Store(settings).publish(sample_key(), sample_build())
    assert store_facts(settings)["entries"].startswith("1, ")


def test_no_place_for_a_store_is_said_with_the_way_out() -> None:
    assert "DARTER_CACHE_DIR" in store_facts(StoreSettings(None))["store"]


def test_what_makes_cubins_is_told_or_why_nothing_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_toolkit, "find", lambda places: None)
    monkeypatch.setenv("DARTER_ASSEMBLER", "ptxas")
    cuda_toolkit.libdevice.cache_clear()
    assert cuda_facts()["CUDA assembler"].startswith("none: DARTER_ASSEMBLER is 'ptxas'")
    assert cuda_facts()["libdevice"] == "none"
    cuda_toolkit.libdevice.cache_clear()
