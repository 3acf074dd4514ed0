"""The entry of the CPU code generator: kernels in, one object out."""

from __future__ import annotations

import re
from collections.abc import Sequence

from darter.artifacts.artifact import KernelEntry
from darter.codegen.common.text import ModuleText
from darter.codegen.cpu.kernel import emit_kernel
from darter.ir.nodes import Kernel, Math
from darter.ir.operands import walk
from darter.target import Target


def compile_kernels(kernels: Sequence[Kernel], target: Target) -> tuple[bytes, tuple[KernelEntry, ...]]:
    """Return one ELF object with all ``kernels`` and an entry for each, in order; raises ``CodegenError``."""
    from darter.codegen.llvm import emit_object

    text, entries = _lower(kernels, target)
    return emit_object(text, target), entries


def llvm_text(kernels: Sequence[Kernel], target: Target) -> str:
    """Return the LLVM text of ``kernels`` as darter writes it, before optimisation."""
    return _lower(kernels, target)[0]


def _lower(kernels: Sequence[Kernel], target: Target) -> tuple[str, tuple[KernelEntry, ...]]:
    module = ModuleText(_attributes(kernels))
    entries = tuple(
        emit_kernel(module, kernel, f"darter_{position}_{_plain(kernel.name)}", target)
        for position, kernel in enumerate(kernels)
    )
    return module.finish(), entries


def _attributes(kernels: Sequence[Kernel]) -> str:
    """Return the attributes of all functions of one module: they pass vectors to each other, so they must agree.

    Kernels that mostly move data use 256-bit vectors: on arrays that are not 64-byte aligned (most of numpy's) vector
    add took 1.15 times numpy's time with 512 bits, whose every access touches two cache lines, and 1.00 with 256.
    Kernels with mathematics use 512: a softmax took 0.89 of the time that it took with 256.
    """
    computes = any(isinstance(node, Math) for kernel in kernels for node in walk(kernel.body))
    bits = 512 if computes else 256
    width = f'"prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits if computes else 0}"'
    return f'nounwind "no-trapping-math"="true" {width}'


def _plain(name: str) -> str:
    """Return ``name`` with what no symbol may hold replaced."""
    return re.sub(r"[^A-Za-z0-9_]", "_", name)[:64]
