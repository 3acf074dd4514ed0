"""One kernel as one function: the loop over blocks, the loop over warps, the tail of the last warp."""

from __future__ import annotations

from collections import Counter

from darter.artifacts.artifact import KernelEntry
from darter.codegen.common import numbers
from darter.codegen.common.text import FunctionText, ModuleText
from darter.codegen.common.types import memory_type
from darter.codegen.cpu.body import emit_nodes
from darter.codegen.cpu.context import Context
from darter.codegen.cpu.crossing import has_barrier
from darter.codegen.cpu.features import features_of
from darter.codegen.cpu.regions import emit_regions
from darter.codegen.cpu.shapes import Shapes
from darter.dtypes import ScalarType
from darter.ir import nodes as ir
from darter.ir.operands import walk
from darter.target import Target

_SHARED_ALIGN_BYTES = 64


def emit_kernel(module: ModuleText, kernel: ir.Kernel, symbol: str, target: Target) -> KernelEntry:
    """Write ``kernel`` into ``module`` as function ``symbol`` of the CPU kernel ABI and return its entry."""
    header = (
        f"define void @{symbol}(ptr noalias readonly %params, ptr %launch, i64 %begin, i64 %end, ptr noalias %scratch) "
        "#0"
    )
    text = FunctionText(module, header)
    math_uses = Counter(node.op for node in walk(kernel.body) if isinstance(node, ir.Math))
    context = Context(module, text, kernel, features_of(target), Shapes(kernel), emit_nodes, math_uses)
    shared_bytes = _place_shared(context, kernel.body)
    _parameters(context)
    _blocks(context)
    scratch_bytes = -(-context.scratch.size_bytes // 64) * 64
    if context.uses_dynamic_shared:
        text.define_preamble("%dynamic", f"getelementptr i8, ptr %scratch, i64 {scratch_bytes}")
    module.add(symbol, text)
    codes = tuple(p.type.code if isinstance(p.type, ScalarType) else 0 for p in kernel.parameters)
    return KernelEntry(
        symbol, codes, kernel.block, shared_bytes, scratch_bytes, context.uses_dynamic_shared, tuple(context.messages)
    )


def _place_shared(context: Context, body: ir.Block) -> int:
    """Give every shared array its offset; return their size in bytes."""
    for node in body.nodes:
        if isinstance(node, ir.SharedAlloc):
            assert isinstance(node.result.type, ir.PointerType)
            size = node.count * node.result.type.element.size_bytes
            context.shared[node.result] = context.scratch.take(size, max(node.align_bytes, _SHARED_ALIGN_BYTES))
    return context.scratch.size_bytes


def _parameters(context: Context) -> None:
    """Read each parameter from the low bytes of its register."""
    text = context.text
    for position, parameter in enumerate(context.kernel.parameters):
        place = text.value(f"getelementptr ptr, ptr %params, i64 {position}")
        register = text.value(f"load ptr, ptr {place}, align 8")
        if isinstance(parameter.type, ir.PointerType):
            context.define(parameter, text.value(f"load ptr, ptr {register}, align 8"))
            continue
        raw = text.value(f"load {memory_type(parameter.type)}, ptr {register}, align 8")
        context.define(parameter, numbers.from_memory(context.scalar, parameter.type, raw, context.has("f16c")))
    places = [text.value(f"getelementptr i64, ptr %launch, i64 {axis}") for axis in range(3)]
    x, y, z = (text.value(f"load i64, ptr {place}, align 8") for place in places)
    context.grid = (x, y, z)


def _blocks(context: Context) -> None:
    """Run blocks ``begin`` to ``end``, one after the other."""
    text = context.text
    head, done, before = text.fresh_label("block"), text.fresh_label("end"), text.label
    text.branch(text.value("icmp slt i64 %begin, %end"), head, done)
    text.begin(head)
    block, slot = text.name(), text.reserve()
    context.block = block
    x, y, _ = context.grid
    above = text.value(f"udiv i64 {block}, {x}")
    context.block_index = (
        text.value(f"urem i64 {block}, {x}"),
        text.value(f"urem i64 {above}, {y}"),
        text.value(f"udiv i64 {above}, {y}"),
    )
    _warps(context)
    following = text.value(f"add nsw i64 {block}, 1")
    text.fill(slot, f"{block} = phi i64 [ %begin, %{before} ], [ {following}, %{text.label} ]")
    text.branch(text.value(f"icmp slt i64 {following}, %end"), head, done)
    text.begin(done)
    text.line("ret void")


def _warps(context: Context) -> None:
    """Run the warps of one block, one after the other."""
    kernel, text = context.kernel, context.text
    warps = -(-kernel.threads // kernel.warp_size)
    if warps == 1:
        context.mask = tail_mask(context, "0")
        emit_nodes(context, kernel.body.nodes)
        return
    if has_barrier(kernel.body):
        emit_regions(context, warps, tail_mask)
        return
    with text.counted(str(warps), "warp") as warp:
        context.warp = warp
        context.mask = tail_mask(context, warp)
        emit_nodes(context, kernel.body.nodes)


def tail_mask(context: Context, warp: str) -> str | None:
    """Return the lanes of ``warp`` that stand for threads; None when every warp of the block is whole."""
    threads, width = context.kernel.threads, context.width
    rest = threads % width
    if rest == 0:
        return None
    lanes = ", ".join(f"i1 {'true' if lane < rest else 'false'}" for lane in range(width))
    if threads < width:
        return f"<{lanes}>"
    last = context.text.value(f"icmp eq i64 {warp}, {threads // width}")
    t = context.vector.type("i1")
    return context.text.value(f"select i1 {last}, {t} <{lanes}>, {t} splat (i1 true)")
