"""The CUDA backend: PTX by LLVM, a cubin by an assembler, modules in the primary contexts of the frameworks.

Nothing here touches the driver before the first CUDA argument, and nothing changes a thread's current device.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from darter import _native
from darter.artifacts.artifact import Artifact, DeviceMessage, KernelEntry
from darter.backends import Loaded
from darter.backends.assembler import Assembler, driver_identity
from darter.config import Steering
from darter.dtypes import by_code
from darter.errors import ArtifactError, ConfigError, DeviceAssertError, DriverError
from darter.ir.places import Loc
from darter.process_lock import ProcessLock
from darter.target import Device, Target

if TYPE_CHECKING:
    from darter.ir.nodes import Module

Describe = Callable[[Loc], str]
"""Returns the source line of a place with carets, or an empty text."""

WARP_SIZE = 32
ARCHITECTURES = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_120")
"""What ``DARTER_ARCH`` may ask for on a CUDA device."""


class _Devices:
    """The contexts that this process uses, and what the messages of loaded modules say."""

    __slots__ = ("_contexts", "_lock", "_messages", "_numbers", "_places")

    def __init__(self) -> None:
        self._contexts: dict[int, _native.CudaContext] = {}
        self._messages: dict[int, tuple[KernelEntry, ...]] = {}
        self._places: dict[int, Describe] = {}
        self._numbers = itertools.count(1)
        self._lock = ProcessLock()

    def context(self, ordinal: int) -> _native.CudaContext:
        found = self._contexts.get(ordinal)
        if found is not None:
            return found
        with self._lock:
            if ordinal not in self._contexts:
                self._contexts[ordinal] = _native.CudaContext(ordinal, _raise_assert)
            return self._contexts[ordinal]

    def used(self) -> tuple[_native.CudaContext, ...]:
        with self._lock:
            return tuple(self._contexts.values())

    def number(self, kernels: tuple[KernelEntry, ...]) -> int:
        """Return a new number for a module, under which device code names what failed."""
        with self._lock:
            number = next(self._numbers)
            if any(entry.messages for entry in kernels):
                self._messages[number] = kernels
            return number

    def describe(self, number: int, places: Describe) -> None:
        with self._lock:
            if number in self._messages:
                self._places[number] = places

    def message(self, number: int, kernel: int, index: int) -> tuple[KernelEntry, DeviceMessage, str] | None:
        """Return a kernel's entry, its message and the message's place in the source."""
        with self._lock:
            kernels, places = self._messages.get(number, ()), self._places.get(number)
        if kernel >= len(kernels):
            return None
        entry = kernels[kernel]
        asserts = [message for message in entry.messages if message.is_assert]
        found = asserts[index]
        place = (
            "" if places is None else places(Loc(found.function, found.line, found.column, found.line, found.column))
        )
        return entry, found, place


_devices = _Devices()


def context(ordinal: int) -> _native.CudaContext:
    """Return the primary context of a device, retained for the life of the process.

    Raises:
        DriverError: there is no driver, no such device, or this process was forked after CUDA was used.
    """
    return _devices.context(ordinal)


def target(device: Device, arch: str | None) -> Target:
    """Return the target of a device: its own architecture, or the one asked for, which it must be able to run.

    ``sm_90`` is the default on a device of compute capability 9.0; ``sm_90a`` and ``sm_100a`` are asked for.
    """
    major, minor = context(device.ordinal).capability()
    own = f"sm_{major}{minor}"
    if arch is None:
        return Target("cuda", own, "", WARP_SIZE)
    if arch not in ARCHITECTURES:
        raise ConfigError(f"DARTER_ARCH is {arch!r}; accepted on CUDA: {', '.join(ARCHITECTURES)}")
    if arch.rstrip("a") != own and (
        arch.endswith("a") or int(arch[3:]) // 10 != major or int(arch[3:]) > major * 10 + minor
    ):
        raise ConfigError(f"DARTER_ARCH is {arch!r}; {device} is {own} and cannot run code for it")
    return Target("cuda", arch, "", WARP_SIZE)


def compile(module: Module, target: Target, assembler: Assembler | None = None) -> Artifact:
    """Return the artifact of a verified module: the code is a cubin, made by ``assembler`` (None: by the driver).

    Raises:
        CompileError: the launcher or a kernel uses what the CUDA backend does not have, or the PTX is refused.
        DriverError: the driver refuses the PTX, or cannot assemble for ``target``.
    """
    # Here and not above: they import LLVM, which a launch from disk must not need.
    from darter.backends.line_table import without_text
    from darter.codegen.nvptx import compile_kernels
    from darter.codegen.program import lower
    from darter.ir.encoding import encode

    program = encode(lower(module))
    ptx, kernels = compile_kernels(module.kernels, target, module.functions)
    make = assemble if assembler is None else assembler.assemble
    code = without_text(make(ptx, target)) if kernels else b""
    return Artifact(target, program, kernels, code, tuple(module.functions), module.written)


def readable(module: Module, target: Target, stage: str) -> str | None:
    """Return the LLVM text of the kernels before optimisation, or their PTX."""
    from darter.codegen.nvptx import compile_kernels, llvm_text

    lowered = llvm_text if stage == "llvm" else compile_kernels
    return lowered(module.kernels, target, module.functions)[0]


def assemble(ptx: str, target: Target) -> bytes:
    """Return the cubin of PTX for ``target``, made by the driver on a device that can run it.

    Raises:
        DriverError: no such device is here, or the assembler refuses the text.
    """
    return context(_device_for(target.arch)).link(ptx, 0)


def load(artifact: Artifact, device: Device) -> Loaded:
    """Return the artifact's kernels, loaded into the primary context of ``device``.

    Raises:
        ArtifactError: the cubin is for another architecture.
        DriverError: the driver refuses it.
    """
    if artifact.target.backend != "cuda":
        raise ArtifactError(f"artifact is for {artifact.target.backend}, the device is {device}")
    if not artifact.kernels:
        return Loaded(None, ())
    number = _devices.number(artifact.kernels)
    module = context(device.ordinal).load(artifact.code, number)
    kernels = tuple(
        module.kernel(
            entry.symbol,
            entry.name,
            index,
            len(entry.parameters),
            sum(message.is_assert for message in entry.messages),
            entry.block,
        )
        for index, entry in enumerate(artifact.kernels)
    )
    return Loaded(module, kernels, number)


def describe_messages(number: int, places: Describe) -> None:
    """Let failed assertions of the module ``number`` say their place in the source, which ``places`` returns."""
    _devices.describe(number, places)


def synchronize(ordinal: int | None) -> None:
    """Wait for all work of a device, or of every one that was used.

    Raises:
        DeviceAssertError: a device assertion has failed.
        DriverError: the work failed, or there is no such device.
    """
    for used in _devices.used() if ordinal is None else (context(ordinal),):
        used.synchronize()


def assembler(steering: Steering) -> Assembler:
    """Return what makes cubins under ``steering``: by default the driver, and without one what else is here.

    Raises:
        ConfigError: the assembler that is asked for is not to be found, or none is.
        DriverError: the driver is asked for, and there is none.
    """
    if steering.assembler in (None, "driver"):
        try:
            return Assembler(driver_identity(), assemble)
        except DriverError:
            if steering.assembler is not None:
                raise
    # Here and not above: they start processes, which a launch by the driver must not need.
    from darter.backends.toolkit_assemblers import choose

    return choose(steering.assembler, steering.ptxas)


def is_capturing(ordinal: int, stream: int) -> bool:
    """Return whether a stream (by handle) is being captured."""
    return context(ordinal).is_capturing(stream)


def _device_for(arch: str) -> int:
    number = arch[3:].rstrip("a")
    for ordinal in range(_native.cuda_device_count()):
        major, minor = context(ordinal).capability()
        if f"{major}{minor}" == number or (not arch.endswith("a") and number[0] == str(major)):
            return ordinal
    raise ConfigError(f"no device here assembles for {arch}; the driver assembles for the devices it drives")


def _raise_assert(owner: int, index: int, block: int, thread: int, operands: Sequence[int], count: int) -> None:
    """Raise what device code recorded; called by the native module at a launch or a synchronise.

    ``block`` and ``thread`` are linear numbers, x first; ``count`` threads failed since the last report.
    """
    found = _devices.message(owner >> 32, owner & 0xFFFFFFFF, index)
    if found is None:
        raise DeviceAssertError(f"a device assertion failed in block {block}, thread {thread}")
    entry, message, place = found
    text = f"kernel '{entry.symbol}': assertion failed: {_text(message, operands)} at block {block}, thread {thread}"
    if count > 1:
        text += f"; it is one of {count} failures"
    raise DeviceAssertError(f"{text}\n{place}" if place else text)


def _text(message: DeviceMessage, operands: Sequence[int]) -> str:
    parts = [message.pieces[0]]
    for code, word, piece in zip(message.operand_dtypes, operands, message.pieces[1:], strict=False):
        parts += [str(_value(code, word)), piece]
    return "".join(parts)


def _value(code: int, word: int) -> Any:
    dtype = by_code(code)
    import numpy as np

    data = struct.pack("<Q", word)[: dtype.size_bytes]
    return np.frombuffer(data, dtype.numpy())[0]
