"""The state of emitting one kernel for NVPTX: every value is one register of one thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from darter.artifacts.artifact import DeviceMessage
from darter.codegen.common.lanes import Lanes
from darter.codegen.common.text import FunctionText, ModuleText
from darter.codegen.common.types import register_type
from darter.codegen.nvptx.lines import LineTable
from darter.ir import nodes as ir
from darter.ir.nodes import PointerType, Space, Type
from darter.target import Target

FAST_FLAGS = " contract reassoc arcp afn"
"""What ``fast_math`` allows; never ninf, nnan, nsz: launchers use -inf."""

_SPACES = {Space.GLOBAL: "ptr addrspace(1)", Space.SHARED: "ptr addrspace(3)"}


def nvptx_type(type: Type) -> str:
    """Return the LLVM type of a value of ``type`` in a register."""
    return _SPACES[type.space] if isinstance(type, PointerType) else register_type(type)


@dataclass(slots=True)
class Context:
    """Everything that emitting a node reads and changes.

    ``symbol`` is the kernel's in its module, where several kernels may have one name; ``constants`` holds the values of
    integer constants, which make shifts and divisions cheap; ``subprogram`` is the kernel in ``lines``.
    """

    module: ModuleText
    text: FunctionText
    kernel: ir.Kernel
    symbol: str
    target: Target
    emit: Callable[[Context, Sequence[ir.Node]], None]
    lines: LineTable
    subprogram: str
    held: dict[ir.Value, str] = field(default_factory=dict)
    constants: dict[ir.Value, int] = field(default_factory=dict)
    messages: list[DeviceMessage] = field(default_factory=list)
    prints: int = 0
    shared_bytes: int = 0
    uses_dynamic_shared: bool = False

    @property
    def lanes(self) -> Lanes:
        """One lane, with the kernel's fast-math flags."""
        return Lanes(self.text, 1, FAST_FLAGS if self.kernel.options.fast_math else "")

    @property
    def capability(self) -> int:
        """The target's compute capability: 80 for sm_80, 90 for sm_90a."""
        return int("".join(ch for ch in self.target.arch if ch.isdigit()))

    def read(self, value: ir.Value) -> str:
        return self.held[value]

    def define(self, value: ir.Value, text: str) -> None:
        self.held[value] = text

    def call(self, name: str, returns: str, *arguments: tuple[str, str]) -> str:
        """Call the NVVM intrinsic or runtime function ``name``, declared here."""
        self.module.declare(name, f"declare {returns} @{name}({', '.join(type for type, _ in arguments)})")
        return self.text.call_function(name, returns, *arguments)

    def assembly(self, template: str, constraints: str, returns: str, *arguments: tuple[str, str]) -> str:
        """Write one PTX instruction that has no side effect and no LLVM spelling."""
        listed = ", ".join(f"{type} {value}" for type, value in arguments)
        return self.text.value(f'call {returns} asm "{template}", "{constraints}"({listed})')

    def effect(self, template: str) -> None:
        """Write one PTX instruction that orders memory."""
        self.text.line(f'call void asm sideeffect "{template}", "~{{memory}}"()')
