from __future__ import annotations

import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from darter.artifacts import directory, store as store_module
from darter.artifacts.settings import StoreSettings
from darter.artifacts.store import Build, Store, local_store
from darter.errors import StoreWarning
from tests.artifact_samples import entry_files, sample_artifact, sample_build, sample_key, settings_for


def _any(manifest: bytes) -> bool:
    return True


def _no_compile() -> Build:
    raise AssertionError("this should have been a hit")


def test_a_miss_then_a_hit_from_another_store_object(settings: StoreSettings) -> None:
    key = sample_key()
    assert Store(settings).lookup(key, _any) is None
    Store(settings).publish(key, sample_build())
    found = Store(settings).lookup(key, _any)
    assert found == Build(b"manifest", sample_artifact(), from_disk=True)


def test_nothing_is_made_before_the_first_use(settings: StoreSettings, tmp_path: Path) -> None:
    Store(settings)
    assert list(tmp_path.iterdir()) == []


def test_the_directory_is_private(store: Store, tmp_path: Path) -> None:
    store.publish(sample_key(), sample_build())
    assert (tmp_path / "store").stat().st_mode & 0o777 == 0o700
    assert [file.stat().st_mode & 0o077 for file in entry_files(tmp_path)] == [0]


def test_a_store_that_was_removed_under_the_process_comes_back_private(store: Store, tmp_path: Path) -> None:
    old_mask = os.umask(0)
    try:
        store.publish(sample_key(), sample_build())
        shutil.rmtree(tmp_path / "store")
        store.publish(sample_key(), sample_build())
    finally:
        os.umask(old_mask)
    assert store.lookup(sample_key(), _any) is not None
    assert (tmp_path / "store").stat().st_mode & 0o777 == 0o700


def test_manifests_accumulate_and_the_one_that_resolves_is_the_hit(store: Store) -> None:
    key = sample_key()
    for value in (b"1", b"2", b"3"):
        store.publish(key, sample_build(code=b"code of " + value, manifest=value))
    for value in (b"2", b"1", b"3"):
        found = store.lookup(key, lambda manifest, value=value: manifest == value)
        assert found is not None
        assert found.artifact.code == b"code of " + value
    assert store.lookup(key, lambda manifest: False) is None


def test_manifests_under_one_key_are_bounded(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory, "MANIFESTS_LIMIT", 8)
    for number in range(11):
        store.publish(sample_key(), sample_build(manifest=str(number).encode()))
    assert len(entry_files(tmp_path)) == 8
    assert store.lookup(sample_key(), lambda manifest: manifest == b"10") is not None


def test_an_expected_entry_is_found_among_any_number(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "_MOST_LOOKED_INTO", 2)
    for number in range(9):
        store.publish(sample_key(), sample_build(manifest=b"%d" % number))
        os.utime(max(entry_files(tmp_path), key=lambda path: path.stat().st_mtime_ns), (number + 1, number + 1))
    expected: list[bytes] = []
    looked_into = []

    def accept(manifest: bytes) -> bool:
        looked_into.append(manifest)
        expected.extend([b"gone", b"3"] if manifest != b"3" else [])
        return manifest == b"3"

    found = store.lookup(sample_key(), accept, expected)
    assert found is not None
    assert found.manifest == b"3"
    assert looked_into == [b"8", b"3"]
    looked_into.clear()
    assert store.lookup(sample_key(), lambda manifest: bool(looked_into.append(manifest))) is None
    assert looked_into == [b"3", b"8"]  # the hit has made 3 the newest


def test_a_hash_alone_never_decides(store: Store, tmp_path: Path) -> None:
    """An entry under this key's digest whose record is another one's is no hit."""
    key, other = sample_key(), sample_key("def sub(x): ...")
    store.publish(other, sample_build())
    [file] = entry_files(tmp_path)
    forged = file.parents[2] / key.digest[:2] / key.digest[2:32] / file.name
    forged.parent.mkdir(parents=True)
    file.rename(forged)
    assert store.lookup(key, _any) is None


def test_resolving_reads_only_the_head(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.publish(sample_key(), sample_build())

    def refuse(*_: object) -> None:
        raise AssertionError("the artifact was read although its manifest did not resolve")

    monkeypatch.setattr(store_module.entry_format, "read_artifact", refuse)
    assert store.lookup(sample_key(), lambda manifest: False) is None


def test_an_exception_of_resolve_reaches_the_caller(store: Store) -> None:
    store.publish(sample_key(), sample_build())

    def broken(manifest: bytes) -> bool:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.lookup(sample_key(), broken)


def test_obtain_compiles_once_and_then_hits(store: Store, settings: StoreSettings) -> None:
    made = store.obtain(sample_key(), _any, sample_build)
    assert not made.from_disk
    assert store.obtain(sample_key(), _any, _no_compile).from_disk
    assert Store(settings).obtain(sample_key(), _any, _no_compile).from_disk


def test_a_failed_compile_leaves_nothing(store: Store, tmp_path: Path) -> None:
    def fail() -> Build:
        raise ValueError("does not compile")

    for _ in range(2):
        with pytest.raises(ValueError, match="does not compile"):
            store.obtain(sample_key(), _any, fail)
    assert entry_files(tmp_path) == []


def test_threads_compile_a_key_once(store: Store) -> None:
    compiles: list[int] = []
    barrier = threading.Barrier(8)

    def compile() -> Build:
        compiles.append(1)
        return sample_build()

    def call() -> Build:
        barrier.wait(30)
        return store.obtain(sample_key(), _any, compile)

    with ThreadPoolExecutor(8) as pool:
        builds = [future.result(60) for future in [pool.submit(call) for _ in range(8)]]
    assert len(compiles) == 1
    assert {build.artifact for build in builds} == {sample_artifact()}


def test_a_build_under_other_captured_values_is_not_taken_over(store: Store) -> None:
    """A thread that waited for a compile uses the result only if it still resolves."""
    flying, release = threading.Event(), threading.Event()

    def slow() -> Build:
        flying.set()
        assert release.wait(30)
        return sample_build(manifest=b"old")

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(store.obtain, sample_key(), lambda manifest: manifest == b"old", slow)
        assert flying.wait(30)
        second = pool.submit(
            store.obtain, sample_key(), lambda manifest: manifest == b"new", lambda: sample_build(manifest=b"new")
        )
        threading.Timer(0.1, release.set).start()
        assert (first.result(30).manifest, second.result(30).manifest) == (b"old", b"new")


def test_a_compile_may_call_for_another_key(store: Store) -> None:
    """Also when both keys share one of the 256 lock files."""
    outer = sample_key()
    inner = next(key for n in range(100_000) if (key := sample_key(f"def f{n}(): ...")).digest[:2] == outer.digest[:2])

    def compile() -> Build:
        store.obtain(inner, _any, lambda: sample_build(code=b"inner"))
        return sample_build(code=b"outer")

    assert store.obtain(outer, _any, compile).artifact.code == b"outer"


def test_the_least_recently_used_go_first(tmp_path: Path) -> None:
    size = 2000
    store = Store(settings_for(tmp_path / "store", limit_bytes=20 * size))
    keys = [sample_key(f"def f{number}(): ...") for number in range(40)]
    for age, key in enumerate(keys):
        before = set(entry_files(tmp_path))
        store.publish(key, sample_build(code=b"\0" * size))
        for file in set(entry_files(tmp_path)) - before:
            os.utime(file, (10_000 + age, 10_000 + age))
    files = entry_files(tmp_path)
    assert sum(file.stat().st_size for file in files) <= 20 * size
    assert files != []
    found = [store.lookup(key, _any) is not None for key in keys]
    # Once one is kept, all younger ones are.
    assert found == sorted(found)
    assert found[-1]


def test_a_hit_notes_the_use(store: Store, tmp_path: Path) -> None:
    store.publish(sample_key(), sample_build())
    [file] = entry_files(tmp_path)
    os.utime(file, (10_000, 10_000))
    assert store.lookup(sample_key(), _any) is not None
    assert file.stat().st_mtime > 1_000_000


def test_what_a_dead_process_was_writing_goes_after_an_hour(
    store: Store, settings: StoreSettings, tmp_path: Path
) -> None:
    store.publish(sample_key(), sample_build())
    [file] = entry_files(tmp_path)
    left, fresh = file.parent / ".0123456789abcdef", file.parent / ".fedcba9876543210"
    left.touch()
    fresh.touch()
    os.utime(left, (10_000, 10_000))
    Store(settings).publish(sample_key(), sample_build())
    assert not left.exists()
    assert fresh.exists()


def test_an_entry_larger_than_the_limit_is_not_kept(tmp_path: Path) -> None:
    store = Store(settings_for(tmp_path / "store", limit_bytes=100))
    store.publish(sample_key(), sample_build())
    assert entry_files(tmp_path) == []


def test_a_limit_of_zero_makes_nothing(tmp_path: Path) -> None:
    store = Store(settings_for(tmp_path / "store", limit_bytes=0))
    assert not store.obtain(sample_key(), _any, sample_build).from_disk
    assert list(tmp_path.iterdir()) == []


def test_without_a_place_it_warns_once_and_compiles() -> None:
    store = Store(StoreSettings(None))
    with pytest.warns(StoreWarning, match="DARTER_CACHE_DIR"):
        assert not store.obtain(sample_key(), _any, sample_build).from_disk
    assert not store.obtain(sample_key(), _any, sample_build).from_disk  # a second warning would be an error


def test_the_processs_store_follows_the_environment(fresh_store: Path) -> None:
    store = local_store()
    assert local_store() is store
    assert not fresh_store.exists()
    store.publish(sample_key(), sample_build())
    assert len(entry_files(fresh_store)) == 1


def test_answers_are_remembered_between_processes(tmp_path: Path) -> None:
    settings = settings_for(tmp_path / "store")
    assert Store(settings).remembered("topic", "which?") is None
    Store(settings).remember("topic", "which?\nand how?", "this one")
    assert Store(settings).remembered("topic", "which?\nand how?") == "this one"
    assert Store(settings).remembered("topic", "which?") is None
    assert Store(settings).remembered("another", "which?\nand how?") is None


def test_a_topic_has_one_answer(tmp_path: Path) -> None:
    store = Store(settings_for(tmp_path / "store"))
    store.remember("topic", "which?", "this one")
    store.remember("topic", "and now?", "that one")
    assert store.remembered("topic", "which?") is None
    assert store.remembered("topic", "and now?") == "that one"
    assert len(list((tmp_path / "store").rglob("notes/*"))) == 1


@pytest.mark.parametrize("damage", [b"", b"\0" * 40, None])
def test_a_damaged_answer_is_none(tmp_path: Path, damage: bytes | None) -> None:
    settings = settings_for(tmp_path / "store")
    Store(settings).remember("topic", "which?", "this one")
    (note,) = (tmp_path / "store").rglob("notes/*")
    note.write_bytes(note.read_bytes()[:-1] if damage is None else damage)
    assert Store(settings).remembered("topic", "which?") is None


def test_a_store_that_keeps_nothing_remembers_nothing(tmp_path: Path) -> None:
    store = Store(settings_for(tmp_path / "store", limit_bytes=0))
    store.remember("topic", "which?", "this one")
    assert store.remembered("topic", "which?") is None
