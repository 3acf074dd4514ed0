"""NVIDIA's assemblers outside of the driver: the program ``ptxas`` and the library nvJitLink.

They need no device and assemble for any architecture.  Their identity is version and content: where a toolkit lies on
one machine is nobody else's business.
"""

from __future__ import annotations

import ctypes
import functools
import os
import subprocess
import tempfile
from collections.abc import Sequence

from darter.artifacts import cuda_toolkit
from darter.backends.assembler import Assembler
from darter.errors import CompileError, ConfigError
from darter.target import Target

_REMEDY = "install nvidia-cuda-nvcc (ptxas) or nvidia-nvjitlink from PyPI, or set CUDA_HOME"
_TIMEOUT_S = 300.0
_PTX_INPUT = 2  # NVJITLINK_INPUT_PTX


def choose(asked: str | None, ptxas: str | None) -> Assembler:
    """Return the assembler ``asked`` for ("ptxas" or "nvjitlink"; None: what is to be found).

    ``ptxas`` is the path that ``DARTER_PTXAS`` gives.

    Raises:
        ConfigError: it is not to be found, or what is found is none.
    """
    if asked == "ptxas" or (asked is None and (ptxas or cuda_toolkit.find(cuda_toolkit.PTXAS))):
        return _ptxas(ptxas)
    if asked == "nvjitlink" or cuda_toolkit.find(cuda_toolkit.NVJITLINK):
        return _nvjitlink()
    raise ConfigError(f"no CUDA driver is here, and no other assembler is to be found: {_REMEDY}")


# -- ptxas ------------------------------------------------------------------------------------------------------------


def _ptxas(given: str | None) -> Assembler:
    path = os.path.abspath(given) if given else cuda_toolkit.find(cuda_toolkit.PTXAS)
    if path is None:
        raise ConfigError(f"DARTER_ASSEMBLER is 'ptxas', and no ptxas is to be found: {_REMEDY}, or DARTER_PTXAS")
    return Assembler(_ptxas_identity(path), functools.partial(_run_ptxas, path))


@functools.lru_cache(maxsize=8)
def _ptxas_identity(path: str) -> str:
    """Return version and digest: the version tells where ``path`` is a script that starts another ptxas."""
    try:
        found = cuda_toolkit.digest(path)
    except OSError as error:
        raise ConfigError(f"DARTER_PTXAS is {path!r}: {error.strerror}") from error
    version = _run([path, "--version"])
    if version.returncode != 0 or not version.stdout.strip():
        raise ConfigError(f"{path} is no ptxas: --version gives {_text(version)!r}")
    return f"ptxas {version.stdout.decode('utf-8', 'replace').strip().splitlines()[-1]} sha256 {found}"


def _run_ptxas(path: str, ptx: str, target: Target) -> bytes:
    with tempfile.TemporaryDirectory(prefix="darter-") as folder:
        with open(os.path.join(folder, "darter.ptx"), "w", encoding="ascii") as stream:
            stream.write(ptx)
        done = _run([path, f"-arch={target.arch}", "-lineinfo", "darter.ptx", "-o", "darter.cubin"], folder)
        if done.returncode != 0:
            raise CompileError(f"ptxas refuses {_kernels(ptx)} for {target.arch}:\n{_text(done)}")
        with open(os.path.join(folder, "darter.cubin"), "rb") as made:
            return made.read()


def _run(command: Sequence[str], folder: str | None = None) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"{command[0]} cannot be run: {error}") from error


def _text(done: subprocess.CompletedProcess[bytes]) -> str:
    return (done.stderr + done.stdout).decode("utf-8", "replace").strip()


def _kernels(ptx: str) -> str:
    """Return the kernels of a text by name, for messages."""
    names = [line.split()[-1].rstrip("(") for line in ptx.splitlines() if line.startswith(".visible .entry")]
    return f"kernel {', '.join(repr(name) for name in names)}" if names else "the code"


# -- nvJitLink --------------------------------------------------------------------------------------------------------


def _nvjitlink() -> Assembler:
    path = cuda_toolkit.find(cuda_toolkit.NVJITLINK)
    if path is None:
        raise ConfigError(f"DARTER_ASSEMBLER is 'nvjitlink', and no libnvJitLink.so is to be found: {_REMEDY}")
    return Assembler(_nvjitlink_identity(path), functools.partial(_run_nvjitlink, path))


@functools.lru_cache(maxsize=8)
def _nvjitlink_identity(path: str) -> str:
    library = _library(path)
    major, minor = ctypes.c_uint(), ctypes.c_uint()
    library.nvJitLinkVersion(ctypes.byref(major), ctypes.byref(minor))
    return f"nvJitLink {major.value}.{minor.value} sha256 {cuda_toolkit.digest(path)}"


@functools.lru_cache(maxsize=8)
def _library(path: str) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(path)
        # Of 12.3 and newer; the rest of what is called is older.
        library.nvJitLinkVersion  # noqa: B018
    except (OSError, AttributeError) as error:
        raise ConfigError(f"{path} cannot be used: {error}") from error
    return library


def _run_nvjitlink(path: str, ptx: str, target: Target) -> bytes:
    """Return the cubin; the library's log is the error's text.

    Source: nvJitLink documentation, "nvJitLinkCreate" (options), "nvJitLinkAddData" (handle, kind, data, size, name).
    """
    library, handle, text = _library(path), ctypes.c_void_p(), ptx.encode()
    options = (ctypes.c_char_p * 2)(f"-arch={target.arch}".encode(), b"-lineinfo")
    if library.nvJitLinkCreate(ctypes.byref(handle), ctypes.c_uint32(2), options) != 0:
        raise CompileError(f"nvJitLink does not assemble for {target.arch}")
    try:
        status = library.nvJitLinkAddData(handle, _PTX_INPUT, text, ctypes.c_size_t(len(text)), b"darter")
        status = status or library.nvJitLinkComplete(handle)
        if status != 0:
            log = _nvjitlink_bytes(library, handle, "ErrorLog").decode("utf-8", "replace").strip("\0\n ")
            raise CompileError(f"nvJitLink refuses {_kernels(ptx)} for {target.arch} (status {status}):\n{log}")
        return _nvjitlink_bytes(library, handle, "LinkedCubin")
    finally:
        library.nvJitLinkDestroy(ctypes.byref(handle))


def _nvjitlink_bytes(library: ctypes.CDLL, handle: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    library[f"nvJitLinkGet{what}Size"](handle, ctypes.byref(size))
    data = ctypes.create_string_buffer(size.value)
    library[f"nvJitLinkGet{what}"](handle, data)
    return data.raw
