"""Group D: the disk cache; races, corruption, file systems, permissions.

Each test is named by its case.  A stub stands for the compiler, so that only the store is tested; a `Launcher` goes
the way that every cold launch goes.
"""

from __future__ import annotations

import builtins
import errno
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from darter.artifacts import format as entry_format
from darter.artifacts.lock import CompileLocks
from darter.artifacts.store import Build, Store
from darter.errors import StoreWarning
from tests.artifact_samples import entry_files, sample_artifact, sample_build, sample_key, settings_for

CODE = b"right code"


class Launcher:
    """What a process does at a cold call: ask the store, or compile; counts its compiles."""

    def __init__(self, directory: Path, function: str = "model:add", **settings: object) -> None:
        self.store = Store(settings_for(directory, **settings))
        self.key = sample_key(function=function)
        self.compiles = 0

    def __call__(self) -> bytes:
        return self.store.obtain(self.key, lambda manifest: manifest == b"now", self._compile).artifact.code

    def _compile(self) -> Build:
        self.compiles += 1
        return sample_build(code=CODE, manifest=b"now")


@contextmanager
def _warns_once(match: str) -> Iterator[None]:
    with pytest.warns(StoreWarning, match=match) as warned:
        yield
    assert len([w for w in warned if issubclass(w.category, StoreWarning)]) == 1


RANK = """
import json, os, sys, time
from pathlib import Path
from tests.artifact_samples import sample_build, sample_key, settings_for
from darter.artifacts.store import Store
directory, ready, start = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
compiles = 0
def compile():
    global compiles
    compiles += 1
    time.sleep(0.2)
    return sample_build(code=b"right code", manifest=b"now")
(ready / str(os.getpid())).touch()
while not start.exists():
    time.sleep(0.001)
build = Store(settings_for(directory)).obtain(sample_key(), lambda manifest: manifest == b"now", compile)
print(json.dumps([compiles, build.artifact.code.decode()]))
"""


def _ranks(count: int, tmp_path: Path) -> list[list[Any]]:
    """Start processes that all call at one moment; return [compiles, code] of each."""
    ready, start = tmp_path / "ready", tmp_path / "start"
    ready.mkdir()
    command = [sys.executable, "-c", RANK, str(tmp_path / "store"), str(ready), str(start)]
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    ranks = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(count)]
    while len(list(ready.iterdir())) < count:
        assert all(rank.poll() is None for rank in ranks)
    start.touch()
    answers = [rank.communicate(timeout=120)[0] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0] * count
    return [json.loads(answer) for answer in answers]


def test_D01_sixteen_processes_meet_on_an_empty_store(tmp_path: Path) -> None:
    answers = _ranks(16, tmp_path)
    assert {code for _, code in answers} == {"right code"}
    # D14: one compile per key per machine; the others waited for it.
    assert sum(compiles for compiles, _ in answers) == 1
    assert len(entry_files(tmp_path / "store")) == 1


def test_D01_a_file_in_writing_is_never_content(tmp_path: Path) -> None:
    launch = Launcher(tmp_path)
    launch()
    [file] = entry_files(tmp_path)
    file.rename(file.parent / ".0123456789abcdef")
    again = Launcher(tmp_path)
    assert again() == CODE
    assert again.compiles == 1


def test_D03_writers_of_different_content_leave_one_whole_entry(tmp_path: Path) -> None:
    """Two compiles of one key that differ: whoever is read, all its parts belong together."""
    store = Store(settings_for(tmp_path))
    sizes = {b"A" * 5000: 100, b"B" * 70: 9000}
    for _ in range(5):
        for code, shared_bytes in sizes.items():
            artifact = sample_artifact(code)
            kernels = tuple(
                type(kernel)(kernel.symbol, kernel.parameters, kernel.block, shared_bytes, 64, False)
                for kernel in artifact.kernels
            )
            artifact = type(artifact)(artifact.target, artifact.program, kernels, code, artifact.functions)
            store.publish(sample_key(), Build(b"now", artifact))
            found = store.lookup(sample_key(), lambda manifest: True)
            assert found is not None
            assert {kernel.shared_bytes for kernel in found.artifact.kernels} == {sizes[found.artifact.code]}
    assert len(entry_files(tmp_path)) == 1


def test_D03_parts_of_two_entries_do_not_make_one(tmp_path: Path) -> None:
    one = entry_format.encode(sample_key(), b"now", sample_artifact(b"A" * 500))
    two = entry_format.encode(sample_key(), b"now", sample_artifact(b"B" * 500))
    launch = Launcher(tmp_path)
    launch()
    [file] = entry_files(tmp_path)
    for cut in range(97, len(one), 97):
        mixed = one[:cut] + two[cut:]
        if mixed in (one, two):
            continue
        file.write_bytes(mixed)
        with _warns_once("damaged"):
            assert Launcher(tmp_path)() == CODE


def test_D04_the_loser_of_a_race_need_not_see_the_winner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rename succeeds and the file stays invisible, as over NFS with a cached negative lookup."""
    launch = Launcher(tmp_path)

    def vanish(source: str, target: str) -> None:
        os.unlink(source)

    monkeypatch.setattr(os, "replace", vanish)
    assert launch() == CODE
    assert launch() == CODE


@pytest.mark.parametrize("code", [errno.ESTALE, errno.EIO, errno.EACCES])
def test_D05_an_entry_that_cannot_be_opened_is_a_miss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    Launcher(tmp_path)()
    launch = Launcher(tmp_path)
    monkeypatch.setattr(builtins, "open", _failing_open(code, times=100))
    with _warns_once("could not be read"):
        assert launch() == CODE
    assert launch.compiles == 1


def test_D05_an_entry_that_cannot_be_opened_hides_no_other(tmp_path: Path) -> None:
    launcher = Launcher(tmp_path)
    launcher()
    [entry] = entry_files(tmp_path)
    newer = entry.with_name("f" * 32)
    newer.mkdir()
    os.utime(newer, (2**32, 2**32))
    again = Launcher(tmp_path)
    with _warns_once("an entry could not be read"):
        assert again() == CODE
    assert again.compiles == 0


def test_D05_a_handle_that_is_stale_once_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Launcher(tmp_path)()
    launch = Launcher(tmp_path)
    monkeypatch.setattr(builtins, "open", _failing_open(errno.ESTALE, times=1))
    assert launch() == CODE
    assert launch.compiles == 0


def test_D05_an_error_in_the_middle_of_reading_is_a_miss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Launcher(tmp_path)()
    launch = Launcher(tmp_path)

    def stale(*_: object) -> None:
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))

    monkeypatch.setattr(entry_format, "read_artifact", stale)
    with _warns_once("could not be read"):
        assert launch() == CODE
    assert launch.compiles == 1


def _failing_open(code: int, times: int) -> Any:
    """Return an ``open`` that fails with ``code`` for the first ``times`` reads of an entry."""
    real, failures = open, []

    def failing(file: Any, mode: str = "r", *rest: Any, **options: Any) -> Any:
        if mode == "rb" and isinstance(file, str) and len(os.path.basename(file)) == 32 and len(failures) < times:
            failures.append(file)
            raise OSError(code, os.strerror(code), file)
        return real(file, mode, *rest, **options)

    return failing


def test_D06_an_entry_cut_at_any_length_heals(tmp_path: Path) -> None:
    Launcher(tmp_path)()
    [file] = entry_files(tmp_path)
    whole = file.read_bytes()
    for length in sorted({0, 1, len(whole) // 2, len(whole) - 1, *range(0, len(whole), 61)}):
        file.write_bytes(whole[:length])
        launch = Launcher(tmp_path)
        with _warns_once("damaged"):
            assert launch() == CODE
        assert launch.compiles == 1
        healed = Launcher(tmp_path)
        assert healed() == CODE
        assert healed.compiles == 0


def test_D06_a_flipped_bit_heals(tmp_path: Path) -> None:
    Launcher(tmp_path)()
    [file] = entry_files(tmp_path)
    whole = file.read_bytes()
    for position in range(0, len(whole), 53):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << (position % 8)
        file.write_bytes(bytes(damaged))
        launch = Launcher(tmp_path)
        with _warns_once("damaged"):
            assert launch() == CODE
        assert launch.compiles == 1
        assert file.read_bytes() == whole


def test_D06_an_entry_of_zeros_heals(tmp_path: Path) -> None:
    """What a power cut leaves of a file that was renamed before its blocks were written."""
    Launcher(tmp_path)()
    [file] = entry_files(tmp_path)
    file.write_bytes(bytes(file.stat().st_size))
    with _warns_once("damaged"):
        assert Launcher(tmp_path)() == CODE
    healed = Launcher(tmp_path)
    assert healed() == CODE
    assert healed.compiles == 0


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
def test_D06_a_write_that_fails_leaves_nothing_and_the_launch_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    launch = Launcher(tmp_path)

    class FullDisk(io.FileIO):
        def write(self, data: Any) -> int:
            raise OSError(code, os.strerror(code))

    def full(file: Any, mode: str = "r", *rest: Any, **options: Any) -> Any:
        return FullDisk(file, mode) if isinstance(file, int) else real(file, mode, *rest, **options)

    real = open
    monkeypatch.setattr(builtins, "open", full)
    with _warns_once("could not be written"):
        assert launch() == CODE
        assert launch() == CODE
    left = [path for path in tmp_path.rglob("*") if path.is_file() and path.parent.name != "locks"]
    assert left == []


def test_D08_a_cache_directory_under_a_file_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    launch = Launcher(tmp_path / "file" / "store")
    with _warns_once("is not used"):
        assert launch() == CODE
        assert launch() == CODE


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write everywhere")
def test_D08_a_read_only_place_is_no_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    launch = Launcher(tmp_path / "store")
    with _warns_once("is not used"):
        assert launch() == CODE


def test_D08_a_store_that_may_only_be_read_serves_hits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Launcher(tmp_path)()

    def refuse(path: Any, *rest: Any, **options: Any) -> Any:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)

    for file in entry_files(tmp_path):
        os.utime(file, (10_000, 10_000))  # old enough for its use to be noted
    for name in ("utime", "unlink", "replace", "mkdir"):
        monkeypatch.setattr(os, name, refuse)
    launch = Launcher(tmp_path)
    assert launch() == CODE
    assert launch.compiles == 0


def test_D08_no_home_is_no_error(tmp_path: Path) -> None:
    program = """
import os, warnings
warnings.simplefilter("error")
import pwd
def unknown(uid): raise KeyError(uid)
pwd.getpwuid = unknown
import darter
from darter.artifacts.store import local_store
from darter.errors import StoreWarning
from tests.artifact_samples import sample_build, sample_key
warnings.simplefilter("always")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(2):
        build = local_store().obtain(sample_key(), lambda manifest: True, sample_build)
        assert not build.from_disk
assert [w.category for w in caught] == [StoreWarning], caught
"""
    environment = {"PYTHONPATH": ":".join(sys.path), "PATH": os.environ["PATH"]}
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command, check=False, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == []


def test_D09_a_directory_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Launcher(tmp_path)()
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    launch = Launcher(tmp_path)
    with _warns_once("belongs to user"):
        assert launch() == CODE
    assert launch.compiles == 1
    shared = Launcher(tmp_path, shared=True)
    assert shared() == CODE
    assert shared.compiles == 0


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702, 0o1777])
def test_D09_a_directory_that_others_can_write_is_refused(tmp_path: Path, mode: int) -> None:
    directory = tmp_path / "store"
    Launcher(directory)()
    directory.chmod(mode)
    launch = Launcher(directory)
    with _warns_once("can be written by others"):
        assert launch() == CODE
    assert launch.compiles == 1
    shared = Launcher(directory, shared=True)
    assert shared() == CODE
    assert shared.compiles == 0


@pytest.mark.parametrize("error", [PermissionError, FileExistsError, OSError])
def test_D11_a_rename_that_fails_is_harmless(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[OSError]
) -> None:
    def refuse(source: str, target: str) -> None:
        raise error(errno.EACCES, "in use")

    monkeypatch.setattr(os, "replace", refuse)
    launch = Launcher(tmp_path)
    with _warns_once("could not be written"):
        assert launch() == CODE
    left = [path for path in tmp_path.rglob("*") if path.is_file() and path.parent.name != "locks"]
    assert left == []


def test_D12_file_names_are_short_and_of_one_length(tmp_path: Path) -> None:
    deep = tmp_path
    while len(str(deep)) < 200:
        deep = deep / ("d" * 20)
    deep.mkdir(parents=True)
    lengths = set()
    for name in ("k", "k" * 300, "größe" * 50):
        launch = Launcher(deep / "store", function=name)
        assert launch() == CODE
        again = Launcher(deep / "store", function=name)
        assert again() == CODE
        assert again.compiles == 0
    for file in entry_files(deep):
        lengths.add(len(str(file.relative_to(deep / "store"))))
    assert len(lengths) == 1
    assert max(lengths) <= 72


def test_D14_a_second_start_is_all_hits(tmp_path: Path) -> None:
    assert sum(compiles for compiles, _ in _ranks(4, tmp_path)) == 1
    (tmp_path / "ready").rename(tmp_path / "first-ready")
    (tmp_path / "start").unlink()
    assert sum(compiles for compiles, _ in _ranks(4, tmp_path)) == 0


def test_D14_the_wait_is_bounded(tmp_path: Path) -> None:
    """A process that hangs in its compile holds nobody up for longer than the timeout."""
    launch = Launcher(tmp_path, lock_timeout_s=0.1)
    launch.store.lookup(launch.key, lambda manifest: False)
    lock = tmp_path / "1" / "locks" / launch.key.digest[:2]
    lock.parent.mkdir(parents=True)
    holder = """
import sys
from darter.artifacts.lock import CompileLocks
with CompileLocks(10).hold(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.readline()
"""
    command = [sys.executable, "-c", holder, str(lock)]
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, text=True, **pipes) as process:  # type: ignore[call-overload]
        assert process.stdout.readline() == "held\n"
        assert launch() == CODE
        assert launch.compiles == 1
        process.communicate("\n", timeout=30)
    with CompileLocks(1).hold(str(lock)) as held:
        assert held
