"""The entry of the CPU code generator: kernels in, one object out."""

from __future__ import annotations

import re
from collections.abc import Sequence

from darter.artifacts.artifact import KernelEntry
from darter.codegen.common.text import ModuleText
from darter.codegen.cpu.kernel import emit_kernel
from darter.ir.nodes import Kernel
from darter.target import Target

_ATTRIBUTES = 'nounwind "no-trapping-math"="true" "prefer-vector-width"="512"'
"""512-bit vectors where there are any: a softmax took 0.89 of the time that it took with 256, a vector add the same."""


def compile_kernels(kernels: Sequence[Kernel], target: Target) -> tuple[bytes, tuple[KernelEntry, ...]]:
    """Return one ELF object with all ``kernels`` and an entry for each, in order; raises ``CodegenError``."""
    from darter.codegen.llvm import emit_object

    text, entries = _lower(kernels, target)
    return emit_object(text, target), entries


def llvm_text(kernels: Sequence[Kernel], target: Target) -> str:
    """Return the LLVM text of ``kernels`` as darter writes it, before optimisation."""
    return _lower(kernels, target)[0]


def _lower(kernels: Sequence[Kernel], target: Target) -> tuple[str, tuple[KernelEntry, ...]]:
    module = ModuleText(_ATTRIBUTES)
    entries = tuple(
        emit_kernel(module, kernel, f"{_plain(kernel.name)}_{number}", target) for number, kernel in enumerate(kernels)
    )
    return module.finish(), entries


def _plain(name: str) -> str:
    """Return ``name`` with what no symbol may hold replaced."""
    return re.sub(r"[^A-Za-z0-9_]", "_", name)[:64]
