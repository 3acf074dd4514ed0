"""The CPU backend: kernels as ELF objects that the native module loads, blocks spread over OpenMP threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from darter import _native
from darter.artifacts.artifact import Artifact, KernelEntry
from darter.backends import Loaded
from darter.errors import ArtifactError
from darter.target import Device, Target

if TYPE_CHECKING:
    from darter.backends.assembler import Assembler
    from darter.ir.nodes import Module

WARP_SIZE = 32
HOST = Device("cpu", 0)
HOST_FUNCTIONS = ("memcpy", "memmove", "memset", "darter_message")
"""What compiled code may call, and nothing else."""


def target(device: Device = HOST, arch: str | None = None) -> Target:
    """Return the target of this machine: its x86-64 level as LLVM names it, and what it has beyond that level.

    ``arch`` is a GPU's business and not looked at: a launcher on CPU arrays runs here, whatever is asked for there.
    """
    level, features = _native.cpu_architecture()
    return Target("cpu", level, features, WARP_SIZE)


def compile(module: Module, target: Target, assembler: Assembler | None = None) -> Artifact:
    """Return the artifact of a verified module.

    Raises:
        CompileError: the launcher or a kernel uses what the CPU backend does not have.
    """
    # Here and not above: they import LLVM, which a launch from disk must not need.
    from darter.codegen.cpu import compile_kernels
    from darter.codegen.program import lower
    from darter.ir.encoding import encode

    launch_program = encode(lower(module))
    # A launcher may launch nothing, for these arguments: then there is no code object either.
    code, kernels = compile_kernels(module.kernels, target) if module.kernels else (b"", ())
    return Artifact(target, launch_program, kernels, code, tuple(module.functions), module.written)


def readable(module: Module, target: Target, stage: str) -> str | None:
    """Return the LLVM text of the kernels before optimisation, or their assembly."""
    from darter.codegen.cpu import llvm_text
    from darter.codegen.llvm import emit_assembly

    text = llvm_text(module.kernels, target)
    return text if stage == "llvm" else emit_assembly(text, target)


def load(artifact: Artifact, device: Device = HOST) -> Loaded:
    """Return the artifact's kernels, ready to launch.

    Raises:
        ArtifactError: the code is damaged, calls what it must not, or is for another machine.
    """
    host = target()
    if not runs_on(artifact.target, host):
        raise ArtifactError(f"artifact is for {_describe(artifact.target)}, this machine is {_describe(host)}")
    if not artifact.kernels:
        return Loaded(None, ())
    code = _native.load_object(artifact.code, HOST_FUNCTIONS)
    return Loaded(code, tuple(_kernel(code, entry) for entry in artifact.kernels))


def runs_on(target: Target, host: Target) -> bool:
    """Return whether ``host`` has all that code for ``target`` may use."""
    if target.backend != "cpu" or target.warp_size != host.warp_size:
        return False
    if target.arch == host.arch:
        return _features(target) <= _features(host)
    levels = ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4")
    if target.arch not in levels or host.arch not in levels:
        return False
    return levels.index(target.arch) < levels.index(host.arch) and _features(target) <= _features(host)


def _features(target: Target) -> set[str]:
    return set(target.features.split(",")) - {""}


def _describe(target: Target) -> str:
    return " ".join(part for part in (target.backend, target.arch, target.features) if part)


def _kernel(code: _native.CodeObject, entry: KernelEntry) -> _native.CpuKernel:
    messages = tuple((m.is_assert, m.pieces, m.operand_dtypes) for m in entry.messages)
    return _native.CpuKernel(
        code, entry.symbol, len(entry.parameters), entry.block, entry.scratch_bytes, messages, entry.name
    )
