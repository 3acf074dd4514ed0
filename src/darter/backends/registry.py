"""Which backend serves a device."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from darter import _native
from darter.backends import Loaded
from darter.errors import ArgumentValueError, StreamCaptureError
from darter.target import Device

if TYPE_CHECKING:
    from darter.backends.assembler import Assembler
    from darter.backends.backend import Backend
    from darter.config import Steering
    from darter.ir.places import Loc

_MODULES = {"cpu": "darter.backends.cpu", "cuda": "darter.backends.cuda", "hip": "darter.backends.hip"}


def refuse_capture(device: Device, stream: int, name: str) -> None:
    """Raise ``StreamCaptureError`` if ``stream``, which ``name`` would be first launched on, is captured."""
    from darter.backends import cuda

    if cuda.is_capturing(device.ordinal, stream):
        raise StreamCaptureError(
            f"{name}(): the first launch for arguments like these falls into a stream capture: compile before capture, "
            f"with {name}.warm(...) or dt.compile({name}, ...) on the same arguments"
        )


def assembler_of(device: Device, steering: Steering) -> Assembler | None:
    """Return what turns a backend's text into machine code; None where LLVM does it.

    Raises:
        ConfigError: the one that ``steering`` asks for is not to be found.
    """
    if device.backend != "cuda":
        return None
    from darter.backends import cuda

    return cuda.assembler(steering)


def describe_messages(device: Device, loaded: Loaded, places: Callable[[Loc], str]) -> None:
    """Let assertions of loaded code that fail after their launch say where they stand."""
    if device.backend == "cuda" and loaded.number:
        from darter.backends import cuda

        cuda.describe_messages(loaded.number, places)


def unload(loaded: Loaded) -> None:
    """Take loaded code out of its context, unless a stream capture holds it; the next launch loads it again."""
    if isinstance(loaded.code, _native.CudaModule):
        loaded.code.unload()


def backend_for(device: Device, interpret: bool) -> Backend:
    """Return the backend that serves ``device``; the interpreter, where ``interpret`` asks for it.

    Imported at the first need, so that a process without a GPU never looks for one.

    Raises:
        ArgumentValueError: no backend of this version serves the device.
    """
    name = "darter.backends.interpret" if interpret else _MODULES[device.backend]
    try:
        module: Backend = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise ArgumentValueError(f"the arguments are on {device}; this darter has no backend for it") from error
    return module
