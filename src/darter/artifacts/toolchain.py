"""The identity of everything that generates code, as one digest: part of every key record.

It is a content hash and no version number, so that an edited compiler never meets the artifacts of the old one.  To
read 170 files takes longer than all else that a launch from disk does; so the store remembers the digest under what
the system tells of these files without reading them, and only a process that finds one of them touched reads them.
"""

from __future__ import annotations

import importlib.machinery
import os
import sys
import time
from functools import lru_cache
from typing import TYPE_CHECKING

from darter.sha256 import sha256

if TYPE_CHECKING:
    from darter.artifacts.store import Store

GENERATING_SOURCES = (
    "artifacts/artifact.py",
    "backends",
    "capture",
    "codegen",
    "dtypes.py",
    "frontend",
    "frozen.py",
    "ir",
    "lang",
    "signature",
    "source",
    "target.py",
)
"""Parts of the package whose text decides what an artifact holds, relative to the package's folder."""

_COMPILER_LIBRARY = "libllvmlite.so"

_SETTLED_NS = 2_000_000_000
"""How long a file must have been left alone: one that is changed twice within a tick of its clock looks unchanged."""


def toolchain_digest(store: Store | None = None) -> str:
    """Return the SHA-256, in hexadecimal, over the code-generating sources, the native module, Python's version and the
    compiler, as they are now: a process asks once, since its code does not change with them.

    Never imports llvmlite.  Paths do not enter: a copied installation has the same digest.  With a ``store``, files
    are read (7 ms) only where it does not know the digest of files with these paths, sizes, times and inodes (1 ms).
    """
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if store is None:
        return _read(package)
    topic = f"toolchain of {package}, {_python()}"
    marks, changed_ns = _marks(package)
    known = store.remembered(topic, marks)
    if known is not None:
        return known
    digest = _read(package)
    if changed_ns < time.time_ns() - _SETTLED_NS and _marks(package)[0] == marks:
        store.remember(topic, marks, digest)
    return digest


@lru_cache(maxsize=1)
def compiler_identity() -> str:
    """Return what identifies the installed llvmlite and the LLVM inside it, without importing it.

    The wheel's RECORD holds a hash of the shared library, which spares reading 100 MB; an installation without that
    line is known by its version and the library's size in bytes.
    """
    folder = _compiler_folder()
    if folder is None:
        return "llvmlite absent"
    parts = ["llvmlite", _text(os.path.join(folder, "_version.py"))]
    recorded = _recorded_library_hash(os.path.dirname(folder))
    parts.append(recorded or f"size {_size(os.path.join(folder, 'binding', _COMPILER_LIBRARY))}")
    return "\0".join(parts)


# -- by content -------------------------------------------------------------------------------------------------------


def _read(package: str) -> str:
    digest = sha256()
    for name, path in sorted(_source_files(package)):
        with open(path, "rb") as stream:
            text = stream.read()
        # Length-prefixed, so that text cannot move from one file into the next unnoticed.
        digest.update(f"{name}\0{len(text)}\0".encode())
        digest.update(text)
    # The native module reads what artifacts hold: programs, code, arguments.
    native = _native_module(package)
    if native is None:
        digest.update(b"native module absent")
    else:
        with open(native, "rb") as stream:
            digest.update(sha256(stream.read()).digest())
    digest.update(f"{_python()}\0".encode())
    digest.update(compiler_identity().encode())
    return digest.hexdigest()


def _python() -> str:
    """Return the version of Python: static Python in kernels runs on this interpreter's semantics."""
    return f"python {sys.version_info[0]}.{sys.version_info[1]}"


# -- by what the system tells without reading -------------------------------------------------------------------------


def _marks(package: str) -> tuple[str, int]:
    """Return what tells the files as they are from files with other content, and the latest change, in ns since 1970.

    The time of the last change of the inode stands among it, which no program can set back as it can the time of the
    content.
    """
    compiler = _compiler_folder() or ""
    files = [
        *_source_files(package),
        ("native module", _native_module(package) or ""),
        ("compiler's version", os.path.join(compiler, "_version.py")),
        ("compiler", os.path.join(compiler, "binding", _COMPILER_LIBRARY)),
    ]
    lines, changed_ns = [compiler], 0
    for name, path in files:
        try:
            found = os.stat(path)
        except OSError:
            lines.append(f"{name} absent")
            continue
        content_ns, inode_ns = found.st_mtime_ns, found.st_ctime_ns
        lines.append(f"{name} {found.st_size} {content_ns} {inode_ns} {found.st_ino}")
        changed_ns = max(changed_ns, content_ns, inode_ns)
    lines.sort()
    return "\n".join(lines), changed_ns


# -- where it all is --------------------------------------------------------------------------------------------------


def _source_files(package: str) -> list[tuple[str, str]]:
    """Return (name relative to the package with ``/``, path) of every generating source."""
    found: list[tuple[str, str]] = []
    for part in GENERATING_SOURCES:
        path = os.path.join(package, part)
        if not part.endswith(".py"):
            _add_sources(path, part, found)
        elif os.path.exists(path):
            found.append((part, path))
    return found


def _add_sources(folder: str, inner: str, found: list[tuple[str, str]]) -> None:
    try:
        entries = os.scandir(folder)
    except FileNotFoundError:
        return
    with entries:
        for entry in entries:
            name = entry.name
            if name.endswith(".py"):
                found.append((f"{inner}/{name}", entry.path))
            elif name != "__pycache__" and entry.is_dir():
                _add_sources(entry.path, f"{inner}/{name}", found)


def _native_module(package: str) -> str | None:
    candidates = (os.path.join(package, f"_native{suffix}") for suffix in importlib.machinery.EXTENSION_SUFFIXES)
    return next(filter(os.path.exists, candidates), None)


def _compiler_folder() -> str | None:
    """Return llvmlite's folder; found by the path finder, which is imported already, where that finds it."""
    loaded = sys.modules.get("llvmlite")
    spec = importlib.machinery.PathFinder.find_spec("llvmlite") if loaded is None else loaded.__spec__
    if spec is None:
        from importlib.util import find_spec  # asks the finders of editable installations, too

        spec = find_spec("llvmlite")
    return None if spec is None or spec.origin is None else os.path.dirname(spec.origin)


def _recorded_library_hash(site: str) -> str:
    """Return the RECORD line of llvmlite's shared library, or ``""``."""
    for name in sorted(os.listdir(site)):
        if name.startswith("llvmlite-") and name.endswith(".dist-info"):
            for line in _text(os.path.join(site, name, "RECORD")).splitlines():
                path, _, rest = line.partition(",")
                if path.endswith(_COMPILER_LIBRARY):
                    return rest
    return ""


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read()
    except OSError:
        return ""


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
