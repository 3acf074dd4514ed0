"""The darter under a path: an installed tree, an environment, a build tree, or a source checkout, which is built."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_DEPENDENCIES = ("numpy", "llvmlite", "ml_dtypes", "typer", "rich", "platformdirs", "filelock")


@dataclass(frozen=True, slots=True)
class Tree:
    """``python`` imports darter from ``folder``; compiled code is kept in ``store``."""

    path: Path
    kind: str
    folder: Path
    python: str
    store: Path

    def environ(self) -> dict[str, str]:
        """Return the environment of a process that measures this tree with this checkout's benchmark."""
        path = os.pathsep.join([str(self.folder), str(ROOT)])
        return {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "DARTER_CACHE_DIR": str(self.store)}


def find_tree(path: Path, cache: Path) -> Tree:
    """Return the darter under ``path``; a source checkout is built into ``cache``, once for each state of its sources.

    Raises:
        LookupError: there is none, or it is of another Python, or it cannot be built; the message says what was tried.
    """
    path = path.resolve()
    if _is_package(path / "darter"):
        return _checked(_tree(path, "installed tree", path, cache))
    for packages in sorted(path.glob("lib/python*/site-packages")):
        if _is_package(packages / "darter"):
            own = path / "bin" / "python"
            python = str(own) if own.exists() else sys.executable
            return _checked(_tree(path, "environment", packages, cache, python))
    if (path / "CMakeCache.txt").is_file() and list(path.glob("_native.*so")):
        return _checked(_tree(path, "build tree", _assemble(path, cache), cache))
    # The module that may lie inside a checkout's sources can be older than they are: it is never taken.
    if (path / "pyproject.toml").is_file() and (path / "native").is_dir():
        return _checked(_tree(path, "source checkout", _build(path, cache), cache))
    raise LookupError(
        f"{path} holds no darter; looked for darter/_native.*.so, lib/python*/site-packages/darter, a build tree "
        f"(CMakeCache.txt and _native.*.so) and a checkout (pyproject.toml and native/)"
    )


def default_cache() -> Path:
    """Return where builds are kept: ``DARTER_REPLAY_CACHE``, or the user's cache directory."""
    named = os.environ.get("DARTER_REPLAY_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))) / "darter-hotpath-replay"


def source_digest(checkout: Path) -> str:
    """Return a digest of everything that a build of the checkout depends on, this Python and compiler among it."""
    files = [checkout / name for name in ("pyproject.toml", "CMakeLists.txt")]
    files += [path for path in sorted((checkout / "native").rglob("*")) if path.is_file()]
    files += sorted((checkout / "src").rglob("*.py"))
    digest = hashlib.sha256(f"{sys.version} {_compiler()}".encode())
    for file in files:
        content = file.read_bytes()
        digest.update(f"{file.relative_to(checkout)} {len(content)} ".encode() + content)
    return digest.hexdigest()[:20]


def _tree(path: Path, kind: str, folder: Path, cache: Path, python: str = sys.executable) -> Tree:
    store = cache / "stores" / hashlib.sha256(str(folder).encode()).hexdigest()[:20]
    store.mkdir(parents=True, exist_ok=True)
    return Tree(path, kind, folder, python, store)


def _checked(tree: Tree) -> Tree:
    """Return the tree if its Python imports darter from it.  Raises ``LookupError``."""
    command = [tree.python, "-c", "import darter; print(darter.__file__)"]
    done = subprocess.run(command, env=tree.environ(), cwd="/", capture_output=True, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:]
        raise LookupError(f"{tree.path}: {tree.python} cannot import darter from {tree.folder}: {' '.join(last)}")
    if Path(done.stdout.strip()).parents[1].resolve() != tree.folder.resolve():
        raise LookupError(f"{tree.path}: darter is imported from {done.stdout.strip()}, not from {tree.folder}")
    return tree


def _is_package(folder: Path) -> bool:
    return (folder / "__init__.py").is_file() and bool(list(folder.glob("_native.*so")))


def _assemble(build: Path, cache: Path) -> Path:
    """Return a folder with the package of a build tree: its module beside the sources that it was configured from."""
    home = re.search(r"^CMAKE_HOME_DIRECTORY:\w+=(.*)$", (build / "CMakeCache.txt").read_text(), re.MULTILINE)
    if home is None:
        raise LookupError(f"{build}/CMakeCache.txt names no source directory")
    folder = cache / "assembled" / hashlib.sha256(str(build).encode()).hexdigest()[:20]
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(Path(home[1]) / "src" / "darter", folder / "darter", ignore=shutil.ignore_patterns("*.so"))
    for module in build.glob("_native.*so"):
        shutil.copy2(module, folder / "darter")
    return folder


def _build(checkout: Path, cache: Path) -> Path:
    """Return a folder with the checkout's package, built by pip with this Python."""
    folder = cache / "built" / source_digest(checkout)
    if _is_package(folder / "darter"):
        return folder
    staged = folder.with_name(f"{folder.name}.{os.getpid()}")
    objects = cache / "objects" / hashlib.sha256(f"{checkout} {sys.version}".encode()).hexdigest()[:20]
    print(f"building {checkout} into {folder}", file=sys.stderr)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(staged)]
    command += ["-C", f"build-dir={objects}", str(checkout)]
    if all(importlib.util.find_spec(name) for name in _DEPENDENCIES):
        command.append("--no-deps")
    if importlib.util.find_spec("scikit_build_core"):
        command.append("--no-build-isolation")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        shutil.rmtree(staged, ignore_errors=True)
        raise LookupError(f"{checkout} cannot be built:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    try:
        staged.rename(folder)
    except OSError:  # somebody else was as quick
        shutil.rmtree(staged, ignore_errors=True)
    return folder


def _compiler() -> str:
    compiler = os.environ.get("CXX", "c++")
    done = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False)
    return done.stdout.partition("\n")[0]
