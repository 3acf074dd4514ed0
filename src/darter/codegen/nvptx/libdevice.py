"""Functions of CUDA's device library, taken from its bitcode by name, with all that they call.

The bitcode is NVIDIA's, of the machine's own installation (``artifacts.cuda_toolkit``); each function of it that a
kernel needs is written into the module as LLVM text.  What it asks of the compiler by ``__nvvm_reflect`` is answered
here: denormals are kept, division and roots are exact.

Source: NVIDIA, "libdevice User's Guide" (names: ``__nv_NAME`` for f64, ``__nv_NAMEf`` for f32; ``__nvvm_reflect``).
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import llvmlite.binding as llvm

from darter.artifacts import cuda_toolkit
from darter.codegen.nvptx.context import Context
from darter.errors import CodegenError
from darter.ir.nodes import MathOp

LARGEST_ERROR_ULPS = MappingProxyType(
    {
        MathOp.LOG10: (2, 1),
        MathOp.EXPM1: (1, 1),
        MathOp.LOG1P: (1, 1),
        MathOp.TAN: (4, 2),
        MathOp.ASIN: (2, 2),
        MathOp.ACOS: (2, 2),
        MathOp.ATAN: (2, 2),
        MathOp.ATAN2: (3, 2),
        MathOp.SINH: (3, 2),
        MathOp.COSH: (2, 1),
        MathOp.ASINH: (3, 3),
        MathOp.ACOSH: (4, 3),
        MathOp.ATANH: (3, 2),
        MathOp.ERFC: (4, 5),
        MathOp.TGAMMA: (5, 10),
        MathOp.LGAMMA: (6, 4),
        MathOp.CBRT: (1, 1),
        MathOp.HYPOT: (3, 2),
    }
)
"""Largest errors of f32 and f64 in units in the last place, of lgamma but for x from -24 to -2.

Source: CUDA C++ Programming Guide, "Mathematical Functions", standard functions.
"""

_NAME = re.compile(r"@([\w.$]+)")
_REFLECT = re.compile(r"call i32 @__nvvm_reflect\(ptr (?:nonnull )?(?:addrspacecast \(ptr addrspace\(4\) )?@([\w.]+).*")
_ATTRIBUTES = re.compile(r"(?<=\)) (?:local_unnamed_addr )?#\d+|(?<=\)) #\d+")
_METADATA = re.compile(r",? ![\w.]+ !\d+")
_TYPE = re.compile(r"%(?:struct|class|union)\.[\w.]+")
_ANSWERS = {"__CUDA_FTZ": 0, "__CUDA_PREC_DIV": 1, "__CUDA_PREC_SQRT": 1}


@dataclass(frozen=True, slots=True)
class _Function:
    """A definition as text, the globals that it reads, the declarations and definitions that it calls."""

    text: str
    globals: tuple[tuple[str, str], ...]
    declarations: tuple[tuple[str, str], ...]
    calls: tuple[str, ...]


def emit(context: Context, op: MathOp, element: str, operands: list[str]) -> str | None:
    """Return ``op`` of ``operands`` by a function of the library; None where this machine has no library.

    Raises:
        CodegenError: the library does not have the function.
    """
    path = cuda_toolkit.libdevice()
    if path is None:
        return None
    name = f"__nv_{op.value}{'f' if element == 'float' else ''}"
    _define(context, path, name)
    return context.text.call_function(name, element, *((element, operand) for operand in operands))


def _define(context: Context, path: str, name: str) -> None:
    waiting = [name]
    while waiting:
        name = waiting.pop()
        if context.module.defines(name):
            continue
        function = _function(path, name, context.capability)
        for symbol, text in function.globals:
            context.module.define_global(symbol, text)
        for symbol, text in function.declarations:
            context.module.declare(symbol, text)
        context.module.define(name, function.text)
        waiting += function.calls


@functools.lru_cache(maxsize=256)
def _function(path: str, name: str, capability: int) -> _Function:
    library = _library(path)
    try:
        found = library.get_function(name)
    except NameError as error:
        raise CodegenError(f"{path} has no {name}") from error
    text = _REFLECT.sub(lambda match: f"add i32 0, {_answer(path, match[1], capability)}", str(found))
    text = _METADATA.sub("", _ATTRIBUTES.sub("", text))
    text = re.sub(r"^; .*\n", "", text, flags=re.MULTILINE).strip()
    text = _TYPE.sub(lambda match: _types(path).get(match[0], match[0]), text)
    header, brace, body = text.partition("{\n")
    header = re.sub(r"^define (?:internal |linkonce_odr )?", "define internal ", header).rstrip()
    constants: list[tuple[str, str]] = []
    declarations: list[tuple[str, str]] = []
    calls: list[str] = []
    for symbol in dict.fromkeys(_NAME.findall(body)):
        kind, line = _symbol(path, symbol)
        if kind == "global":
            constants.append((symbol, line))
        elif kind == "declaration":
            declarations.append((symbol, line))
        else:
            calls.append(symbol)
    return _Function(f"{header} nounwind {brace}{body}", tuple(constants), tuple(declarations), tuple(calls))


def _symbol(path: str, symbol: str) -> tuple[str, str]:
    library = _library(path)
    try:
        function = library.get_function(symbol)
    except NameError:
        return "global", _globals(path)[symbol]
    if function.is_declaration:
        line = next(line for line in str(function).splitlines() if line.startswith("declare "))
        return "declaration", _ATTRIBUTES.sub("", line)
    return "definition", ""


def _answer(path: str, symbol: str, capability: int) -> int:
    """Return what ``__nvvm_reflect`` of the text in global ``symbol`` is: 0 for what is not known, as LLVM has it."""
    asked = re.search(r'c"([^\\"]+)', _globals(path)[symbol])
    question = asked[1] if asked else ""
    return capability * 10 if question == "__CUDA_ARCH" else _ANSWERS.get(question, 0)


@functools.lru_cache(maxsize=2)
def _library(path: str) -> Any:
    """Return the parsed bitcode; read once per process, at the first kernel that needs a function of it."""
    with open(path, "rb") as stream:
        data = stream.read()
    try:
        return llvm.parse_bitcode(data)
    except RuntimeError as error:
        raise CodegenError(f"LLVM cannot read {path}: {error}") from error


@functools.lru_cache(maxsize=2)
def _globals(path: str) -> dict[str, str]:
    return {found.name: str(found).strip() for found in _library(path).global_variables}


@functools.lru_cache(maxsize=2)
def _types(path: str) -> dict[str, str]:
    """Return the library's named types by name; its text here has their bodies in their place."""
    pairs = (str(found).strip().partition(" = type ") for found in _library(path).struct_types)
    return {name: body for name, _, body in pairs}
