"""LLVM text to PTX by llvmlite, and what the PTX may leave undefined."""

from __future__ import annotations

import functools
import re
from typing import Any

import llvmlite.binding as llvm

from darter.codegen.llvm import exclusive
from darter.errors import CodegenError
from darter.target import Target

TRIPLE = "nvptx64-nvidia-cuda"

ALLOWED_EXTERNS = frozenset({"vprintf", "darter_dynamic"})
"""What the driver answers, and the dynamic shared memory of a launch."""

_EXTERN = re.compile(r"^\.extern \.(?:func|shared|global)[^;]*?\b([A-Za-z_$][\w$]*)\s*(?:\(|\[|;)", re.MULTILINE)
_CALL_NUMBER = re.compile(r" *// callseq [\d, ]+")
_RETURN = re.compile(r"\(\.param [^)]*\)")


@functools.lru_cache(maxsize=8)
def _machine(arch: str) -> Any:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=arch, opt=3, reloc="default", codemodel="default")


@exclusive
def emit_ptx(text: str, target: Target) -> str:
    """Return the PTX of LLVM ``text`` for ``target.arch``; raises ``CodegenError`` where the text is at fault."""
    machine = _machine(target.arch)
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise CodegenError(f"LLVM refuses darter's code: {error}") from error
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    # Unrolling is the kernel author's (dt.static_range); vectorisation has no meaning on one thread's registers.
    options.loop_unrolling = False
    options.loop_vectorization = False
    options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    # LLVM numbers calls over the whole process, in a comment: the same kernel would give other text each time.
    ptx = _CALL_NUMBER.sub("", machine.emit_assembly(module))
    unknown = externs(ptx) - ALLOWED_EXTERNS
    if unknown:
        raise CodegenError(f"the code calls {', '.join(sorted(unknown))}, which nothing defines")
    return ptx


def externs(ptx: str) -> frozenset[str]:
    """Return the names that PTX declares ``.extern``."""
    # A function's return value stands before its name, in parentheses of its own.
    return frozenset(_EXTERN.findall(_RETURN.sub(" ", ptx, count=0)))
