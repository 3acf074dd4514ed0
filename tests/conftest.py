"""What every test shares: a store of its own, and the Hypothesis profiles."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Generated cases, not the clock, decide: shared machines stall, so no deadline.
settings.register_profile("ci", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fuzz", deadline=None, max_examples=10_000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("DARTER_HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session", autouse=True)
def _store_of_the_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep tests, and the processes that they start, away from the user's store."""
    directory = tmp_path_factory.mktemp("store")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DARTER_CACHE_DIR", str(directory))
        yield directory


@pytest.fixture
def fresh_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store directory of this test's own, not made yet; set for this process and those that it starts."""
    directory = tmp_path / "fresh-store"
    monkeypatch.setenv("DARTER_CACHE_DIR", str(directory))
    return directory
