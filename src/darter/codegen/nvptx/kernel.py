"""One kernel as an NVPTX function, and the table of how each node is emitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from darter.artifacts.artifact import KernelEntry
from darter.codegen.common import numbers
from darter.codegen.common.text import FunctionText, ModuleText
from darter.codegen.nvptx import arithmetic, flow, memory, warp
from darter.codegen.nvptx.context import Context
from darter.codegen.nvptx.lines import LineTable
from darter.dtypes import Bool
from darter.errors import CodegenError
from darter.ir import nodes as ir
from darter.ir.nodes import PointerType
from darter.target import Target

_EMITTERS: dict[type[ir.Node], Callable[[Context, Any], None]] = {
    ir.Const: arithmetic.emit_const,
    ir.Unary: arithmetic.emit_unary,
    ir.Binary: arithmetic.emit_binary,
    ir.Compare: arithmetic.emit_compare,
    ir.Select: arithmetic.emit_select,
    ir.Cast: arithmetic.emit_cast,
    ir.Bitcast: arithmetic.emit_bitcast,
    ir.Fma: arithmetic.emit_fma,
    ir.Math: arithmetic.emit_math,
    ir.ReadIndex: warp.emit_read_index,
    ir.Offset: memory.emit_offset,
    ir.PointerCast: memory.emit_pointer_cast,
    ir.Load: memory.emit_load,
    ir.Store: memory.emit_store,
    ir.Atomic: memory.emit_atomic,
    ir.SharedAlloc: memory.emit_shared,
    ir.DynamicShared: memory.emit_dynamic_shared,
    ir.Barrier: warp.emit_barrier,
    ir.Shuffle: warp.emit_shuffle,
    ir.Vote: warp.emit_vote,
    ir.Assert: warp.emit_assert,
    ir.Print: warp.emit_print,
    ir.If: flow.emit_if,
    ir.For: flow.emit_for,
    ir.While: flow.emit_while,
}


def emit_nodes(context: Context, nodes: Sequence[ir.Node]) -> None:
    """Write ``nodes`` in order, each instruction with its node's place in the source."""
    text, lines, subprogram = context.text, context.lines, context.subprogram
    outside = text.location
    for node in nodes:
        text.location = lines.location(subprogram, node.loc)
        emitter = _EMITTERS.get(type(node))
        if emitter is None:
            raise CodegenError(f"a {type(node).__name__} node cannot stand in a kernel")
        emitter(context, node)
    text.location = outside


def emit_kernel(module: ModuleText, kernel: ir.Kernel, symbol: str, target: Target, lines: LineTable) -> KernelEntry:
    """Write ``kernel`` into ``module`` as ``symbol``, its places into ``lines``, and return its entry."""
    asserts = _has_asserts(kernel.body)
    names = [f"%p{index}" for index in range(len(kernel.parameters))]
    parameters = [
        f"{memory.parameter_type(value.type)}{_promise(kernel, value)} {name}"
        for value, name in zip(kernel.parameters, names, strict=True)
    ]
    if asserts:
        parameters += ["ptr %asserts", "i64 %owner"]
    subprogram = lines.subprogram(symbol, kernel.function)
    attributes = _attributes(kernel) + (f" !dbg {subprogram}" if subprogram else "")
    text = FunctionText(module, f"define ptx_kernel void @{symbol}({', '.join(parameters)}) {attributes}")
    context = Context(module, text, kernel, symbol, target, emit_nodes, lines, subprogram)
    for value, name in zip(kernel.parameters, names, strict=True):
        context.define(value, _received(context, value, name))
    emit_nodes(context, kernel.body.nodes)
    text.line("ret void")
    module.add(symbol, text)
    return KernelEntry(
        symbol=symbol,
        parameters=tuple(0 if isinstance(v.type, PointerType) else v.type.code for v in kernel.parameters),
        block=kernel.block,
        shared_bytes=context.shared_bytes,
        scratch_bytes=0,
        uses_dynamic_shared=context.uses_dynamic_shared,
        messages=tuple(context.messages),
    )


def _promise(kernel: ir.Kernel, value: ir.Value) -> str:
    """Say of a tensor's pointer what the launch has checked, so that what is only read goes by the read-only cache."""
    alone = isinstance(value.type, PointerType) and value.hint in kernel.options.noalias
    return " noalias" if alone else ""


def _received(context: Context, value: ir.Value, name: str) -> str:
    if isinstance(value.type, PointerType):
        return name
    if value.type is Bool:
        return context.lanes.compare("ne", "i8", name, "0")
    return numbers.from_memory(context.lanes, value.type, name, True)


def _attributes(kernel: ir.Kernel) -> str:
    """``reqntid`` lets the assembler plan registers for the one block shape there is."""
    attributes = [f'"nvvm.reqntid"="{",".join(map(str, kernel.block))}"']
    if kernel.options.min_blocks_per_multiprocessor:
        attributes.append(f'"nvvm.minctasm"="{kernel.options.min_blocks_per_multiprocessor}"')
    if kernel.options.max_registers:
        attributes.append(f'"nvvm.maxnreg"="{kernel.options.max_registers}"')
    return "nounwind " + " ".join(attributes)


def _has_asserts(block: ir.Block) -> bool:
    return any(isinstance(node, ir.Assert) or any(map(_has_asserts, ir.children(node))) for node in block.nodes)
