"""llvmlite at work: LLVM text in, verified and optimised, an object out; what it may not contain is checked.

LLVM's fatal errors end the process, so text is checked before (a whitelist of intrinsics, in ``common.text``) and the
object after: an undefined symbol is a library call that nobody will answer.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import llvmlite.binding as llvm

from darter.errors import CodegenError
from darter.target import Target

ALLOWED_SYMBOLS = frozenset({"memcpy", "memset", "memmove", "darter_message"})
"""What an object may leave to the loader."""


Arguments = ParamSpec("Arguments")
Emitted = TypeVar("Emitted")


@functools.cache
def _lock() -> threading.RLock:
    # llvmlite's own lock, held by another thread at a fork, would stay so in the child, and LLVM half done.
    lock = threading.RLock()
    os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
    return lock


def exclusive(emit: Callable[Arguments, Emitted]) -> Callable[Arguments, Emitted]:
    """Make a function that uses LLVM one that no fork interrupts: it runs in one thread at a time, and forks wait."""

    @functools.wraps(emit)
    def locked(*arguments: Arguments.args, **keywords: Arguments.kwargs) -> Emitted:
        with _lock():
            return emit(*arguments, **keywords)

    return locked


@functools.lru_cache(maxsize=8)
def _machine(arch: str, features: str) -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(cpu=arch, features=features, opt=2, reloc="pic", codemodel="small")


def _parse(text: str) -> Any:
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise CodegenError(f"LLVM refuses darter's code: {error}") from error
    return module


def _optimise(module: Any, machine: Any) -> None:
    """Run the few passes that the text needs: its loops and vectors come out as they are meant to run.

    The whole pipeline of -O2 made a softmax no faster and took six times as long; loop invariants and what is common
    are found by code generation itself.
    """
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, builder)


@exclusive
def emit_object(text: str, target: Target) -> bytes:
    """Return the ELF object of LLVM ``text`` for CPU ``target``; raises ``CodegenError`` where the text is at fault."""
    machine = _machine(target.arch, target.features)
    module = _parse(text)
    _optimise(module, machine)
    code: bytes = machine.emit_object(module)
    unknown = undefined_symbols(code) - ALLOWED_SYMBOLS
    if unknown:
        raise CodegenError(f"the code calls {', '.join(sorted(unknown))}, which nothing defines")
    return code


@exclusive
def emit_assembly(text: str, target: Target) -> str:
    """Return the assembly of LLVM ``text``, for people to read."""
    machine = _machine(target.arch, target.features)
    module = _parse(text)
    _optimise(module, machine)
    assembly: str = machine.emit_assembly(module)
    return assembly


def undefined_symbols(code: bytes) -> frozenset[str]:
    """Return the names that ELF64 object ``code`` refers to and does not define.

    Source: System V ABI, chapters "Object Files" (section header at e_shoff, symbols of 24 bytes).
    """
    sections_at = int.from_bytes(code[40:48], "little")
    size, count = int.from_bytes(code[58:60], "little"), int.from_bytes(code[60:62], "little")
    headers = [code[sections_at + i * size : sections_at + (i + 1) * size] for i in range(count)]
    found = set()
    for header in headers:
        if int.from_bytes(header[4:8], "little") != 2:
            continue
        names = headers[int.from_bytes(header[40:44], "little")]
        names_at = int.from_bytes(names[24:32], "little")
        offset, length = int.from_bytes(header[24:32], "little"), int.from_bytes(header[32:40], "little")
        for at in range(offset + 24, offset + length, 24):
            name = names_at + int.from_bytes(code[at : at + 4], "little")
            if code[at + 6 : at + 8] == b"\0\0" and code[name]:
                found.add(code[name : code.index(b"\0", name)].decode())
    return frozenset(found)
