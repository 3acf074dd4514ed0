from __future__ import annotations

import os
import shutil
import subprocess
import sys
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
        "later.py",
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
