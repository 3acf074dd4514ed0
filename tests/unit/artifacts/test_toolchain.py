from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import darter
from darter.artifacts import toolchain

PROBE = """
import sys
from darter.artifacts.toolchain import toolchain_digest
print(toolchain_digest())
assert "llvmlite" not in sys.modules
"""


def _digest_of_copy(folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(folder)!r})\n{PROBE}"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def _copy_of_package(folder: Path) -> Path:
    shutil.copytree(Path(darter.__file__).parent, folder / "darter", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def test_a_copied_installation_has_the_same_digest_and_imports_no_llvmlite(tmp_path: Path) -> None:
    assert _digest_of_copy(_copy_of_package(tmp_path / "elsewhere")) == toolchain.toolchain_digest()


def test_one_changed_byte_in_a_generating_source_changes_it(tmp_path: Path) -> None:
    copy = _copy_of_package(tmp_path / "edited")
    with (copy / "darter" / "ir" / "nodes.py").open("a") as stream:
        stream.write("#")
    assert _digest_of_copy(copy) != toolchain.toolchain_digest()


def test_one_changed_byte_in_the_native_module_changes_it(tmp_path: Path) -> None:
    copy = _copy_of_package(tmp_path / "edited")
    (library,) = [
        path for path in (copy / "darter").glob("_native*.so") if sys.implementation.cache_tag[-3:] in path.name
    ]
    with library.open("ab") as stream:
        stream.write(b"\0")
    assert _digest_of_copy(copy) != toolchain.toolchain_digest()


def test_another_llvmlite_changes_it(tmp_path: Path) -> None:
    copy = _copy_of_package(tmp_path / "edited")
    version = copy / "llvmlite" / "_version.py"
    version.parent.mkdir()
    (copy / "llvmlite" / "__init__.py").write_text("")
    version.write_text("__version__ = '0.99'\n")
    assert _digest_of_copy(copy) != toolchain.toolchain_digest()


def test_a_source_that_generates_nothing_does_not_change_it(tmp_path: Path) -> None:
    copy = _copy_of_package(tmp_path / "edited")
    with (copy / "darter" / "artifacts" / "store.py").open("a") as stream:
        stream.write("#")
    assert _digest_of_copy(copy) == toolchain.toolchain_digest()


def test_every_folder_of_the_package_is_sorted_into_generating_or_not() -> None:
    """A new stage must not be left out of the digest by forgetting it."""
    others = {
        "artifacts",
        "cli",
        "benchmarks",  # an installed darter has these two
        "examples",
        "launch",
        "errors.py",
        "config.py",
        "kernel.py",
        "json_text.py",
        "later.py",
        "sha256.py",
        "pipeline.py",
        "process_lock.py",
        "__init__.py",
        "__main__.py",
        "_version.py",
    }
    package = Path(darter.__file__).parent
    parts = {path.name for path in package.glob("*.py")} | {path.parent.name for path in package.glob("*/__init__.py")}
    generating = {part for part in toolchain.GENERATING_SOURCES if "/" not in part}
    assert parts - others - generating == set()


def test_the_compiler_is_known_by_version_and_content() -> None:
    identity = toolchain.compiler_identity()
    assert identity.startswith("llvmlite\0")
    assert "sha256=" in identity or "size " in identity


REMEMBERED = """
import sys
from darter.artifacts import toolchain
from darter.artifacts.settings import StoreSettings
from darter.artifacts.store import Store
reads = []
read = toolchain._read
toolchain._read = lambda package: reads.append(1) or read(package)
digest = toolchain.toolchain_digest(Store(StoreSettings(sys.argv[1])))
print(digest, len(reads), read(sys.argv[2]))
"""


def _remembered(folder: Path) -> tuple[str, int]:
    """Return the digest that a new process finds for a copy, and how often it read the files; the digest is right."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(folder)!r})\n{REMEMBERED}"]
    arguments = [str(folder / "store"), str(folder / "darter")]
    done = subprocess.run([*command, *arguments], env=environment, capture_output=True, text=True, check=True)
    digest, reads, expected = done.stdout.split()
    assert digest == expected
    return digest, int(reads)


def _made_long_ago(folder: Path) -> None:
    """Wait until the system's clock has left the times of the files behind."""
    marks_ns = max(found.st_ctime_ns for path in folder.rglob("*") if (found := path.stat()))
    time.sleep(max(0.0, (marks_ns + toolchain._SETTLED_NS - time.time_ns()) / 1e9 + 0.01))


def test_files_that_nobody_touched_are_read_once(tmp_path: Path) -> None:
    copy = _copy_of_package(tmp_path / "copy")
    _made_long_ago(copy / "darter")
    first, second = _remembered(copy), _remembered(copy)
    assert (first[1], second[1]) == (1, 0)
    assert first[0] == second[0] == toolchain.toolchain_digest()


def test_a_changed_source_is_read_though_its_size_and_time_are_as_before(tmp_path: Path) -> None:
    copy = _copy_of_package(tmp_path / "copy")
    _made_long_ago(copy / "darter")
    before, _ = _remembered(copy)
    source = copy / "darter" / "ir" / "verify.py"
    held, text = source.stat(), source.read_bytes()
    source.write_bytes(text.replace(b"Raises", b"raises", 1))
    os.utime(source, ns=(held.st_atime_ns, held.st_mtime_ns))
    assert source.stat().st_size == held.st_size
    after, reads = _remembered(copy)
    assert reads == 1
    assert after != before


def test_a_source_that_was_touched_just_now_is_not_trusted(tmp_path: Path) -> None:
    """Its next change may leave the same marks, since a file system's clock ticks in milliseconds."""
    copy = _copy_of_package(tmp_path / "copy")
    assert [_remembered(copy)[1] for _ in range(2)] == [1, 1]


RUNNING = """
import os, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from pathlib import Path

text = "import darter as dt\\n@dt.jit\\ndef nothing(x: dt.Tensor):\\n    pass\\n"
Path(sys.argv[1], "launching.py").write_text(text)
import launching
x = np.zeros(4, np.float32)
key = launching.nothing.cache_key(x)
with open(os.path.join(sys.argv[1], "darter", "ir", "verify.py"), "a") as stream:
    stream.write("#")
os.environ["DARTER_CACHE_DIR"] += "-other"
assert launching.nothing.cache_key(x) == key
"""


def test_the_code_of_a_running_process_keeps_its_digest(tmp_path: Path) -> None:
    """An edit is for the next process, whatever store is asked: this one still compiles with the code from before."""
    copy = _copy_of_package(tmp_path / "copy")
    environment = {**os.environ, "DARTER_CACHE_DIR": str(tmp_path / "store")}
    subprocess.run([sys.executable, "-c", RUNNING, str(copy)], env=environment, check=True, timeout=60)
