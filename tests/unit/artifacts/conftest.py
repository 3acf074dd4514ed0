"""A small artifact, key and store to test with."""

from __future__ import annotations

from pathlib import Path

import pytest

from darter.artifacts.settings import StoreSettings
from darter.artifacts.store import Store
from tests.artifact_samples import settings_for


@pytest.fixture
def settings(tmp_path: Path) -> StoreSettings:
    return settings_for(tmp_path / "store")


@pytest.fixture
def store(settings: StoreSettings) -> Store:
    return Store(settings)
