from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from darter.artifacts import lock
from darter.artifacts.lock import CompileLocks

HOLD = """
import sys
from darter.artifacts.lock import CompileLocks
with CompileLocks(10).hold(sys.argv[1]) as held:
    print(held, flush=True)
    sys.stdin.readline()
"""


def _holder(path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        env={"PYTHONPATH": ":".join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "True\n"
    return process


def test_the_wait_for_another_process_is_bounded(tmp_path: Path) -> None:
    with _holder(tmp_path / "lock") as process:
        with CompileLocks(0.05).hold(str(tmp_path / "lock")) as held:
            assert not held
        process.communicate("\n", timeout=30)
    with CompileLocks(0.05).hold(str(tmp_path / "lock")) as held:
        assert held


def test_a_long_wait_is_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lock, "ANNOUNCED_AFTER_S", 0.05)
    with _holder(tmp_path / "lock") as process:
        with CompileLocks(0.1).hold(str(tmp_path / "lock")) as held:
            assert not held
        process.communicate("\n", timeout=30)
    assert "another process is compiling" in capsys.readouterr().err


def test_a_process_that_dies_gives_the_lock_back(tmp_path: Path) -> None:
    with _holder(tmp_path / "lock") as process:
        process.kill()
        process.communicate(timeout=30)
    with CompileLocks(5).hold(str(tmp_path / "lock")) as held:
        assert held


def test_the_same_thread_does_not_wait_for_itself(tmp_path: Path) -> None:
    path, locks = str(tmp_path / "lock"), CompileLocks(3600)
    with locks.hold(path) as outer, locks.hold(path) as inner:
        assert (outer, inner) == (True, False)


def test_a_lock_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with CompileLocks(0.05).hold(str(tmp_path / "file" / "lock")) as held:
        assert not held


def test_an_exception_inside_releases_it(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    with pytest.raises(ZeroDivisionError), CompileLocks(1).hold(path):
        raise ZeroDivisionError
    with CompileLocks(0.05).hold(path) as held:
        assert held
