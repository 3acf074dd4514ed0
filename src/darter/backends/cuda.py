"""The CUDA backend: PTX by LLVM, a cubin by the driver's assembler, modules in the primary contexts of the frameworks.

Nothing here touches the driver before the first CUDA argument, and nothing changes a thread's current device.
"""

from __future__ import annotations

import functools
import itertools
import struct
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from darter import _native
from darter.artifacts.artifact import Artifact, DeviceMessage, KernelEntry
from darter.backends import Loaded
from darter.dtypes import by_code
from darter.errors import ArtifactError, ConfigError, DeviceAssertError
from darter.target import Device, Target

if TYPE_CHECKING:
    from darter.ir.nodes import Module

WARP_SIZE = 32
ARCHITECTURES = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_120")
"""What ``DARTER_ARCH`` may ask for on a CUDA device."""

_module_numbers = itertools.count(1)
_messages: dict[int, tuple[KernelEntry, ...]] = {}
_lock = threading.Lock()


@functools.lru_cache(maxsize=64)
def context(ordinal: int) -> _native.CudaContext:
    """Return the primary context of a device, retained for the life of the process.

    Raises:
        DriverError: there is no driver, no such device, or this process was forked after CUDA was used.
    """
    return _native.CudaContext(ordinal, _raise_assert)


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


def compile(module: Module, target: Target) -> Artifact:
    """Return the artifact of a verified module: the code is a cubin.

    Raises:
        CompileError: the launcher or a kernel uses what the CUDA backend does not have.
        DriverError: the driver's assembler refuses the PTX.
    """
    # Here and not above: they import LLVM, which a launch from disk must not need.
    from darter.codegen.nvptx import compile_kernels
    from darter.codegen.program import lower

    program = lower(module)
    ptx, kernels = compile_kernels(module.kernels, target)
    code = assemble(ptx, target) if kernels else b""
    return Artifact(target, program, kernels, code, tuple(module.functions), module.written)


def readable(module: Module, target: Target, stage: str) -> str | None:
    """Return the LLVM text of the kernels before optimisation, or their PTX."""
    from darter.codegen.nvptx import compile_kernels, llvm_text

    lowered = llvm_text if stage == "llvm" else compile_kernels
    return lowered(module.kernels, target)[0]


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
    number = next(_module_numbers)
    if any(entry.messages for entry in artifact.kernels):
        with _lock:
            _messages[number] = artifact.kernels
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
    return Loaded(module, kernels)


def synchronize(ordinal: int) -> None:
    """Wait for all work of a device; raises ``DeviceAssertError`` for a failed device assertion."""
    context(ordinal).synchronize()


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
    """Raise what device code recorded; called by the native module at a launch or a synchronise."""
    with _lock:
        kernels = _messages.get(owner >> 32, ())
    kernel = owner & 0xFFFFFFFF
    if kernel >= len(kernels):
        raise DeviceAssertError(f"a device assertion failed in block {block}, thread {thread}")
    entry = kernels[kernel]
    message = entry.messages[index]
    more = f" ({count} threads in all)" if count > 1 else ""
    raise DeviceAssertError(
        f"{_text(message, operands)}: kernel '{entry.symbol}', block {block}, thread {thread}{more}, "
        f"line {message.line + 1} of the function"
    )


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
