"""The interpreter as a backend: launchers run as ever, kernels run in ``ir.interpreter`` instead of compiled code.

Chosen by ``DARTER_INTERPRET=1``.  Its artifact holds the kernels' IR as text, so that it goes to disk and back like any
other.  A race, a read of shared memory that nobody wrote, or divergent flow at a barrier ends the launch with an error;
kernels are traced with bounds checks, so that an index outside a tensor does, too.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from darter import _native
from darter.artifacts.artifact import Artifact, DeviceMessage, KernelEntry
from darter.backends import Loaded
from darter.backends.assembler import Assembler
from darter.dtypes import Int64, ScalarType
from darter.errors import ArgumentValueError, ArtifactError, DeviceAssertError, KernelCheckError
from darter.ir.carets import source_line
from darter.ir.nodes import Assert, FunctionName, Kernel, Module, PointerType, Print, Value
from darter.ir.operands import walk
from darter.ir.report import Finding, Message, Report
from darter.target import Device, Target

WARP_SIZE = 32
HOST = Device("cpu", 0)


def target(device: Device = HOST, arch: str | None = None) -> Target:
    """Return the one target there is; ``arch`` is not looked at.

    Raises:
        ArgumentValueError: the arguments are not in host memory.
    """
    if device.backend != HOST.backend:
        raise ArgumentValueError(f"the arguments are on {device}; DARTER_INTERPRET=1 runs kernels on CPU arrays only")
    return Target("interpret", "numpy", "", WARP_SIZE)


def compile(module: Module, target: Target, assembler: Assembler | None = None) -> Artifact:
    """Return the artifact of a verified module: its launch program and the text of its kernels."""
    from darter.codegen.program import lower
    from darter.ir.encoding import encode
    from darter.ir.serialise import kernels_to_bytes

    entries = tuple(_entry(kernel) for kernel in module.kernels)
    code = kernels_to_bytes(module.kernels)
    return Artifact(target, encode(lower(module)), entries, code, tuple(module.functions), module.written)


def readable(module: Module, target: Target, stage: str) -> str | None:
    """Return None: the IR is all that there is."""
    return None


def load(artifact: Artifact, device: Device = HOST) -> Loaded:
    """Return the artifact's kernels, ready to launch.

    Raises:
        ArtifactError: the artifact is damaged, or of another backend.
    """
    from darter.ir.serialise import kernels_from_bytes

    if artifact.target != target(device):
        raise ArtifactError(f"artifact is for {artifact.target.backend}, not for the interpreter")
    kernels = kernels_from_bytes(artifact.code)
    if len(kernels) != len(artifact.kernels):
        raise ArtifactError(f"artifact has {len(kernels)} kernels for {len(artifact.kernels)} entries")
    runners = tuple(InterpretedKernel(kernel, artifact.functions) for kernel in kernels)
    return Loaded(runners, tuple(map(_handle, runners)))


class InterpretedKernel:
    """One kernel as a function of a launch: the native launch program calls it."""

    def __init__(self, kernel: Kernel, functions: Sequence[FunctionName]) -> None:
        self.kernel = kernel
        self.messages = _message_nodes(kernel)
        self._functions = tuple(functions)
        self._launches = 0

    def __call__(self, words: tuple[int, ...], grid: tuple[int, int, int], shared_bytes: int) -> None:
        """Run the kernel over ``grid``; each launch orders warps anew.

        Raises:
            KernelCheckError: the interpreter found a defect of the kernel.
            DeviceAssertError: an assertion of the kernel failed.
        """
        from darter.ir.interpreter import run_kernel

        self._launches += 1
        report = run_kernel(self.kernel, words, grid, shared_bytes, seed=self._launches)
        for message in report.messages:
            if isinstance(message.node, Print):
                sys.stdout.write(message.text + "\n")
        self._raise_findings(report)
        self._raise_asserts(report, grid)

    def _raise_findings(self, report: Report) -> None:
        if report.findings:
            lines = [f"{finding}\n{self._place(finding)}" for finding in report.findings]
            raise KernelCheckError(f"kernel '{self.kernel.name}': " + "\n".join(lines))

    def _place(self, finding: Finding) -> str:
        function = finding.loc.function
        if not 0 <= function < len(self._functions):
            return "  at an unknown place"
        return source_line(self._functions[function], finding.loc)

    def _raise_asserts(self, report: Report, grid: tuple[int, int, int]) -> None:
        failed = [message for message in report.messages if isinstance(message.node, Assert)]
        if failed:
            first = min(failed, key=lambda message: (message.block, message.thread))
            where = f"block {_position(first.block, grid)}, thread {_position(first.thread, self.kernel.block)}"
            text = f"kernel '{self.kernel.name}': assertion failed: {first.text} at {where}"
            raise DeviceAssertError(text, self._number(first))

    def _number(self, message: Message) -> int:
        return next(number for number, node in enumerate(self.messages) if node is message.node)


def _position(linear: int, extents: tuple[int, int, int]) -> tuple[int, int, int]:
    x, y, _ = extents
    return linear % x, linear // x % y, linear // (x * y)


def _message_nodes(kernel: Kernel) -> tuple[Assert | Print, ...]:
    return tuple(node for node in walk(kernel.body) if isinstance(node, Assert | Print))


def _code(value: Value) -> int:
    return Int64.code if isinstance(value.type, PointerType) else value.type.code


def _entry(kernel: Kernel) -> KernelEntry:
    codes = tuple(p.type.code if isinstance(p.type, ScalarType) else 0 for p in kernel.parameters)
    messages = tuple(_message(node) for node in _message_nodes(kernel))
    return KernelEntry(kernel.name, codes, kernel.block, 0, 0, False, messages)


def _message(node: Assert | Print) -> DeviceMessage:
    pieces = (node.message,) if isinstance(node, Assert) else node.pieces
    codes = tuple(_code(value) for value in node.operands)
    return DeviceMessage(isinstance(node, Assert), pieces, codes, node.loc.function, node.loc.line, node.loc.column)


def _handle(runner: InterpretedKernel) -> _native.KernelHandle:
    kernel = runner.kernel
    count, messages = len(kernel.parameters), len(runner.messages)
    return _native.PythonKernel(runner, kernel.name, count, kernel.block, messages)
