"""Where parts of NVIDIA's CUDA toolkit lie on this machine: its wheels from PyPI, then a toolkit that is installed.

Nothing of the toolkit is needed; what is found here is used where it was asked for, or where a kernel needs it.
"""

from __future__ import annotations

import functools
import glob
import hashlib
import importlib.util
import os
from collections.abc import Iterator

PTXAS = ("bin/ptxas", "cuda_nvcc/bin/ptxas")
NVJITLINK = ("lib/libnvJitLink.so.1?", "nvjitlink/lib/libnvJitLink.so.1?", "lib64/libnvJitLink.so.1?")
LIBDEVICE = (
    "nvvm/libdevice/libdevice.10.bc",
    "cuda_nvcc/nvvm/libdevice/libdevice.10.bc",
    "lib/libdevice.10.bc",
)
"""Places below a root: those of the wheels for CUDA 13 and of a toolkit, of the wheels for CUDA 12, of Triton."""


def find(places: tuple[str, ...]) -> str | None:
    """Return the path of a part of the toolkit, or None.

    Looked for in the wheels of this Python, in ``CUDA_HOME`` and ``CUDA_PATH``, in ``/usr/local/cuda``, beside the
    ``ptxas`` of ``PATH``, and in Triton, which comes with torch, in this order.
    """
    for root in _roots():
        for place in places:
            # The newest of several versions of a library.
            found = sorted(path for path in glob.glob(os.path.join(glob.escape(root), place)) if os.path.isfile(path))
            if found:
                return found[-1]
    return None


@functools.lru_cache(maxsize=1)
def libdevice() -> str | None:
    """Return the path of CUDA's device library, or None; looked for once per process."""
    return find(LIBDEVICE)


@functools.lru_cache(maxsize=8)
def digest(path: str) -> str:
    """Return the SHA-256 of a file in hexadecimal, once per process: 20 ms for ptxas.

    Raises:
        OSError: the file cannot be read.
    """
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _roots() -> Iterator[str]:
    yield from _wheels()
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(name):
            yield os.environ[name]
    yield "/usr/local/cuda"
    for folder in os.get_exec_path():
        if os.path.isfile(os.path.join(folder, "ptxas")):
            yield os.path.dirname(os.path.abspath(folder))
    for folder in _package("triton"):
        yield os.path.join(folder, "backends", "nvidia")


def _wheels() -> Iterator[str]:
    for folder in _package("nvidia"):
        yield from sorted(glob.glob(os.path.join(glob.escape(folder), "cu[0-9]*")), reverse=True)
        yield folder


def _package(name: str) -> list[str]:
    """Return the folders of an installed package, which is not imported."""
    spec = importlib.util.find_spec(name)
    return list(spec.submodule_search_locations or ()) if spec else []
