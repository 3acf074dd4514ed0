from __future__ import annotations

from pathlib import Path

import pytest

from darter.artifacts.settings import DEFAULT_LIMIT_BYTES, StoreSettings, settings_from
from darter.errors import StoreWarning


def test_the_environment_is_read_into_settings(tmp_path: Path) -> None:
    environment = {
        "DARTER_CACHE_DIR": str(tmp_path),
        "DARTER_CACHE_SHARED": "1",
        "DARTER_CACHE_LIMIT": "1000",
        "DARTER_LOCK_TIMEOUT": "2.5",
    }
    assert settings_from(environment) == StoreSettings(str(tmp_path), True, 1000, 2.5)


def test_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    settings = settings_from({})
    assert settings == StoreSettings("/home/somebody/.cache/darter", False, DEFAULT_LIMIT_BYTES, 60.0)


def test_a_relative_directory_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert settings_from({"DARTER_CACHE_DIR": "here"}).directory == str(tmp_path / "here")


def test_a_relative_directory_stays_where_it_was_when_the_process_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    first = settings_from({"DARTER_CACHE_DIR": "stays"})
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert settings_from({"DARTER_CACHE_DIR": "stays"}) == first


def test_a_relative_directory_of_nowhere_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert settings_from({"DARTER_CACHE_DIR": "nowhere"}).directory is None


def test_the_wait_for_a_lock_is_at_most_a_minute() -> None:
    assert settings_from({"DARTER_CACHE_DIR": "/x", "DARTER_LOCK_TIMEOUT": "3600"}).lock_timeout_s == 60.0


@pytest.mark.parametrize("text", ["much", "-1", "nan", "inf"])
def test_a_number_that_cannot_be_read_warns_and_gives_the_default(text: str) -> None:
    with pytest.warns(StoreWarning, match="DARTER_CACHE_LIMIT"):
        settings = settings_from({"DARTER_CACHE_DIR": "/x", "DARTER_CACHE_LIMIT": text})
    assert settings.limit_bytes == DEFAULT_LIMIT_BYTES


def test_no_home_gives_no_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert settings_from({}).directory is None
