"""IR to PTX: one LLVM function per kernel, a value per register of a thread."""

from __future__ import annotations

import re
from collections.abc import Sequence

from darter.artifacts.artifact import KernelEntry
from darter.codegen.common.text import ModuleText
from darter.codegen.nvptx.kernel import emit_kernel
from darter.codegen.nvptx.ptx import TRIPLE, emit_ptx
from darter.ir.nodes import Kernel
from darter.target import Target


def llvm_text(kernels: Sequence[Kernel], target: Target) -> tuple[str, tuple[KernelEntry, ...]]:
    """Return the LLVM text of ``kernels`` and their entries; a kernel's symbol is its name and its number."""
    module = ModuleText()
    entries = tuple(
        emit_kernel(module, kernel, f"{_plain(kernel.name)}_{number}", target) for number, kernel in enumerate(kernels)
    )
    return f'target triple = "{TRIPLE}"\n{module.finish()}', entries


def compile_kernels(kernels: Sequence[Kernel], target: Target) -> tuple[str, tuple[KernelEntry, ...]]:
    """Return the PTX of ``kernels`` for ``target`` (``arch`` is ``sm_90``, ``sm_90a``, …) and their entries."""
    text, entries = llvm_text(kernels, target)
    return emit_ptx(text, target), entries


def _plain(name: str) -> str:
    """Return ``name`` with what no symbol may hold replaced."""
    return re.sub(r"[^A-Za-z0-9_]", "_", name)[:64]
