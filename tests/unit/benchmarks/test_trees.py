"""Finding the darter under a path."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

import darter
from benchmarks.hotpath_replay import trees
from benchmarks.hotpath_replay.trees import ROOT, find_tree, source_digest

INSTALLED = Path(darter.__file__).parents[1]


def test_an_installed_tree_is_taken_as_it_is(tmp_path: Path) -> None:
    tree = find_tree(INSTALLED, tmp_path)
    assert (tree.kind, tree.folder, tree.python) == ("installed tree", INSTALLED.resolve(), sys.executable)
    assert tree.environ()["PYTHONPATH"].split(":") == [str(INSTALLED.resolve()), str(ROOT)]


def test_an_environment_is_known_by_its_packages(tmp_path: Path) -> None:
    packages = tmp_path / "env" / "lib" / "python3.x" / "site-packages"
    packages.mkdir(parents=True)
    shutil.copytree(INSTALLED / "darter", packages / "darter", ignore=shutil.ignore_patterns("__pycache__"))
    assert find_tree(tmp_path / "env", tmp_path / "cache").kind == "environment"


def test_a_build_tree_is_put_together_with_its_sources(tmp_path: Path) -> None:
    build = tmp_path / "build"
    build.mkdir()
    (build / "CMakeCache.txt").write_text(f"CMAKE_HOME_DIRECTORY:INTERNAL={ROOT}\n")
    for module in (INSTALLED / "darter").glob("_native.*so"):
        shutil.copy2(module, build)
    tree = find_tree(build, tmp_path / "cache")
    assert tree.kind == "build tree"
    assert (tree.folder / "darter" / "kernel.py").read_bytes() == (ROOT / "src/darter/kernel.py").read_bytes()


def test_a_checkout_is_built_even_if_a_module_lies_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout = tmp_path / "checkout"
    (checkout / "native").mkdir(parents=True)
    (checkout / "pyproject.toml").write_text("")
    shutil.copytree(INSTALLED / "darter", checkout / "src" / "darter", ignore=shutil.ignore_patterns("__pycache__"))
    built = []
    monkeypatch.setattr(trees, "_build", lambda path, cache: built.append(path) or INSTALLED)
    assert find_tree(checkout, tmp_path / "cache").kind == "source checkout"
    assert built == [checkout]


def test_nothing_there_is_said_with_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match="holds no darter; looked for"):
        find_tree(tmp_path, tmp_path)


def test_every_source_counts_for_the_cache(tmp_path: Path) -> None:
    for name in ("native/jit/launch.cpp", "src/darter/a.py", "pyproject.toml", "CMakeLists.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    seen = {source_digest(tmp_path)}
    for name in ("native/jit/launch.cpp", "src/darter/a.py", "pyproject.toml", "CMakeLists.txt"):
        (tmp_path / name).write_text("2")
        seen.add(source_digest(tmp_path))
    assert len(seen) == 5
