"""IR to PTX: one LLVM function per kernel, a value per register of a thread."""

from __future__ import annotations

import re
from collections.abc import Sequence

from darter.artifacts.artifact import KernelEntry
from darter.codegen.common.text import ModuleText
from darter.codegen.nvptx.kernel import emit_kernel
from darter.codegen.nvptx.lines import LineTable
from darter.codegen.nvptx.ptx import TRIPLE, emit_ptx
from darter.ir.nodes import Kernel
from darter.ir.places import FunctionName
from darter.target import Target


def llvm_text(
    kernels: Sequence[Kernel], target: Target, functions: Sequence[FunctionName] = ()
) -> tuple[str, tuple[KernelEntry, ...]]:
    """Return the LLVM text of ``kernels`` and their entries; a kernel's symbol is its name and its number.

    ``functions`` is the table that their places refer to; without it the code has no line table.
    """
    module, lines = ModuleText(), LineTable(functions)
    entries = tuple(
        emit_kernel(module, kernel, f"{_plain(kernel.name)}_{number}", target, lines)
        for number, kernel in enumerate(kernels)
    )
    return f'target triple = "{TRIPLE}"\n{module.finish()}{lines.finish()}', entries


def compile_kernels(
    kernels: Sequence[Kernel], target: Target, functions: Sequence[FunctionName] = ()
) -> tuple[str, tuple[KernelEntry, ...]]:
    """Return the PTX of ``kernels`` for ``target`` (``arch`` is ``sm_90``, ``sm_90a``, …) and their entries.

    ``functions`` is the table that their places refer to; without it the code has no line table.
    """
    text, entries = llvm_text(kernels, target, functions)
    return emit_ptx(text, target), entries


def _plain(name: str) -> str:
    """Return ``name`` with what no symbol may hold replaced."""
    return re.sub(r"[^A-Za-z0-9_]", "_", name)[:64]
