"""The identity of everything that generates code, as one digest: part of every key record.

It is a content hash and no version number, so that an edited compiler never meets the artifacts of the old one.
"""

from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.util
import os
import sys
from functools import lru_cache

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
    "source.py",
    "target.py",
)
"""Parts of the package whose text decides what an artifact holds, relative to the package's folder."""

_COMPILER_LIBRARY = "libllvmlite.so"


@lru_cache(maxsize=1)
def toolchain_digest() -> str:
    """Return the SHA-256, in hexadecimal, over the code-generating sources, the native module, Python's version and the
    compiler.

    Reads each file once per process (about 3 ms) and never imports llvmlite.  Paths do not enter: a copied
    installation has the same digest.
    """
    digest = hashlib.sha256()
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for name, path in _source_files(package):
        with open(path, "rb") as stream:
            text = stream.read()
        # Length-prefixed, so that text cannot move from one file into the next unnoticed.
        digest.update(f"{name}\0{len(text)}\0".encode())
        digest.update(text)
    digest.update(_native_module(package))
    # Static Python in kernels runs on this interpreter's semantics.
    digest.update(f"python {sys.version_info[0]}.{sys.version_info[1]}\0".encode())
    digest.update(compiler_identity().encode())
    return digest.hexdigest()


@lru_cache(maxsize=1)
def compiler_identity() -> str:
    """Return what identifies the installed llvmlite and the LLVM inside it, without importing it.

    The wheel's RECORD holds a hash of the shared library, which spares reading 100 MB; an installation without that
    line is known by its version and the library's size in bytes.
    """
    spec = importlib.util.find_spec("llvmlite")
    if spec is None or spec.origin is None:
        return "llvmlite absent"
    folder = os.path.dirname(spec.origin)
    parts = ["llvmlite", _text(os.path.join(folder, "_version.py"))]
    recorded = _recorded_library_hash(os.path.dirname(folder))
    parts.append(recorded or f"size {_size(os.path.join(folder, 'binding', _COMPILER_LIBRARY))}")
    return "\0".join(parts)


def _native_module(package: str) -> bytes:
    """Return the SHA-256 of the native module, which reads what artifacts hold: programs, code, arguments."""
    for suffix in importlib.machinery.EXTENSION_SUFFIXES:
        path = os.path.join(package, f"_native{suffix}")
        if os.path.exists(path):
            with open(path, "rb") as stream:
                return hashlib.file_digest(stream, "sha256").digest()
    return b"native module absent"


def _source_files(package: str) -> list[tuple[str, str]]:
    """Return (name relative to the package with ``/``, path) of every generating source, sorted by name."""
    found = []
    for part in GENERATING_SOURCES:
        root = os.path.join(package, part)
        if part.endswith(".py"):
            found.append((part, root))
            continue
        for folder, _, names in os.walk(root):
            inner = folder[len(package) + 1 :].replace(os.sep, "/")
            found += [(f"{inner}/{name}", os.path.join(folder, name)) for name in names if name.endswith(".py")]
    return sorted(entry for entry in found if os.path.exists(entry[1]))


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
