"""Addresses, loads, stores, atomics and shared memory for NVPTX.

Source: NVVM IR specification (address spaces 1 global, 3 shared), PTX ISA 8.7 ("fence", "membar", "atom").
"""

from __future__ import annotations

from collections.abc import Sequence

from darter.codegen.common import numbers
from darter.codegen.common.types import memory_type, register_type
from darter.codegen.nvptx.context import Context, nvptx_type
from darter.dtypes import Bool, ScalarType
from darter.errors import KernelValueError
from darter.ir import nodes as ir
from darter.ir.nodes import PointerType

STATIC_SHARED_LIMIT_BYTES = 48 * 1024
_WORD_BITS = 32
_FENCES = {ir.Scope.BLOCK: "cta", ir.Scope.DEVICE: "gpu", ir.Scope.SYSTEM: "sys"}
_INTEGER_ATOMICS = {
    ir.AtomicOp.ADD: "add",
    ir.AtomicOp.AND: "and",
    ir.AtomicOp.OR: "or",
    ir.AtomicOp.XOR: "xor",
}


def element_of(pointer: ir.Value) -> ScalarType:
    assert isinstance(pointer.type, PointerType)
    return pointer.type.element


def address(context: Context, pointer: ir.Value, offset: ir.Value) -> str:
    """Return the address of ``pointer[offset]``; an i32 offset is sign-extended by the instruction."""
    base, index = context.read(pointer), context.read(offset)
    if index == "0":
        return base
    t = nvptx_type(pointer.type)
    signed = register_type(offset.type)
    if not offset.dtype.is_signed and offset.dtype.bits < 64:
        index, signed = context.lanes.convert("zext", signed, "i64", index), "i64"
    return context.text.value(f"getelementptr {memory_type(element_of(pointer))}, {t} {base}, {signed} {index}")


def emit_offset(context: Context, node: ir.Offset) -> None:
    context.define(node.result, address(context, node.pointer, node.offset))


def emit_pointer_cast(context: Context, node: ir.PointerCast) -> None:
    context.define(node.result, context.read(node.pointer))


def emit_load(context: Context, node: ir.Load) -> None:
    dtype = element_of(node.pointer)
    place = address(context, node.pointer, node.offset)
    t = nvptx_type(node.pointer.type)
    count = len(node.results)
    if count == 1:
        words = [context.text.value(f"load {memory_type(dtype)}, {t} {place}, align {node.align_bytes}")]
    else:
        words = _load_vector(context, dtype, count, f"{t} {place}", node.align_bytes)
    for result, word in zip(node.results, words, strict=True):
        context.define(result, numbers.from_memory(context.lanes, dtype, word, True))


def _load_vector(context: Context, dtype: ScalarType, count: int, place: str, align_bytes: int) -> list[str]:
    """Load ``count`` elements as few wide words, and take them apart: PTX loads at most 16 bytes, in words."""
    element = memory_type(dtype)
    vector = f"<{count} x {element}>"
    wide = _wide_type(dtype, count)
    loaded = context.text.value(f"load {wide}, {place}, align {align_bytes}")
    if wide != vector:
        loaded = context.text.value(f"bitcast {wide} {loaded} to {vector}")
    return [context.text.value(f"extractelement {vector} {loaded}, i32 {lane}") for lane in range(count)]


def _wide_type(dtype: ScalarType, count: int) -> str:
    """Return how a vector of narrow elements is loaded and stored: in 32-bit words where it fills some."""
    bits = dtype.bits * count
    if dtype.bits < _WORD_BITS and bits >= _WORD_BITS:
        return f"<{bits // _WORD_BITS} x i32>" if bits > _WORD_BITS else "i32"
    return f"<{count} x {memory_type(dtype)}>"


def emit_store(context: Context, node: ir.Store) -> None:
    dtype = element_of(node.pointer)
    place = address(context, node.pointer, node.offset)
    t = nvptx_type(node.pointer.type)
    words = [numbers.to_memory(context.lanes, dtype, context.read(value), True) for value in node.values]
    if len(words) == 1:
        context.text.line(f"store {memory_type(dtype)} {words[0]}, {t} {place}, align {node.align_bytes}")
        return
    vector, wide = _pack(context, dtype, words)
    context.text.line(f"store {wide} {vector}, {t} {place}, align {node.align_bytes}")


def _pack(context: Context, dtype: ScalarType, words: Sequence[str]) -> tuple[str, str]:
    element = memory_type(dtype)
    vector_type = f"<{len(words)} x {element}>"
    vector = "poison"
    for lane, word in enumerate(words):
        vector = context.text.value(f"insertelement {vector_type} {vector}, {element} {word}, i32 {lane}")
    wide = _wide_type(dtype, len(words))
    if wide != vector_type:
        vector = context.text.value(f"bitcast {vector_type} {vector} to {wide}")
    return vector, wide


# -- shared memory ----------------------------------------------------------------------------------------------------


def emit_shared(context: Context, node: ir.SharedAlloc) -> None:
    dtype = element_of(node.result)
    align = max(16, node.align_bytes)
    size = node.count * dtype.size_bytes
    offset = -(-context.shared_bytes // align) * align
    context.shared_bytes = offset + size
    if context.shared_bytes > STATIC_SHARED_LIMIT_BYTES:
        raise KernelValueError(
            f"kernel {context.kernel.name}: {context.shared_bytes} bytes of static shared memory; CUDA has "
            f"{STATIC_SHARED_LIMIT_BYTES}. Use dt.dynamic_shared and launch with shared=<bytes>"
        )
    name = f"{context.symbol}.shared{offset}"
    context.module.declare(name, f"@{name} = internal addrspace(3) global [{size} x i8] undef, align {align}")
    context.define(node.result, f"@{name}")


def emit_dynamic_shared(context: Context, node: ir.DynamicShared) -> None:
    context.uses_dynamic_shared = True
    context.module.declare("darter_dynamic", "@darter_dynamic = external addrspace(3) global [0 x i8], align 16")
    context.define(node.result, "@darter_dynamic")


# -- atomics ----------------------------------------------------------------------------------------------------------


def emit_atomic(context: Context, node: ir.Atomic) -> None:
    """``atomicrmw`` on NVPTX drops its ordering and scope, so fences stand around it."""
    place = address(context, node.pointer, node.offset)
    if node.order in (ir.Order.RELEASE, ir.Order.ACQ_REL):
        _fence(context, node.scope)
    if node.op is ir.AtomicOp.CAS:
        result = _compare_and_swap(context, node, place)
    else:
        result = _update(context, node, place)
    context.define(node.result, result)
    if node.order in (ir.Order.ACQUIRE, ir.Order.ACQ_REL):
        _fence(context, node.scope)


def _fence(context: Context, scope: ir.Scope) -> None:
    context.effect(f"fence.acq_rel.{_FENCES[scope]};")


def _update(context: Context, node: ir.Atomic, place: str) -> str:
    dtype, t = node.value.dtype, nvptx_type(node.pointer.type)
    element, value = register_type(dtype), context.read(node.value)
    if dtype.is_float and node.op in (ir.AtomicOp.MAX, ir.AtomicOp.MIN):
        return _float_extreme(context, node, place)
    match node.op:
        case ir.AtomicOp.EXCHANGE:
            return _exchange(context, dtype, f"{t} {place}", value)
        case ir.AtomicOp.ADD if dtype.is_float:
            op = "fadd"
        case ir.AtomicOp.MAX | ir.AtomicOp.MIN:
            op = ("" if dtype.is_signed else "u") + node.op.value
        case _:
            op = _INTEGER_ATOMICS[node.op]
    return context.text.value(f"atomicrmw {op} {t} {place}, {element} {value} monotonic")


def _exchange(context: Context, dtype: ScalarType, place: str, value: str) -> str:
    element, word = register_type(dtype), f"i{dtype.bits}"
    lanes = context.lanes
    bits = lanes.convert("bitcast", element, word, value) if dtype.is_float else value
    old = context.text.value(f"atomicrmw xchg {place}, {word} {bits} monotonic")
    return lanes.convert("bitcast", word, element, old) if dtype.is_float else old


def _compare_and_swap(context: Context, node: ir.Atomic, place: str) -> str:
    assert node.expected is not None
    dtype, t = node.value.dtype, nvptx_type(node.pointer.type)
    element, word, lanes = register_type(dtype), f"i{dtype.bits}", context.lanes
    expected, value = context.read(node.expected), context.read(node.value)
    if dtype.is_float:
        expected = lanes.convert("bitcast", element, word, expected)
        value = lanes.convert("bitcast", element, word, value)
    pair = context.text.value(f"cmpxchg {t} {place}, {word} {expected}, {word} {value} monotonic monotonic")
    old = context.text.value(f"extractvalue {{ {word}, i1 }} {pair}, 0")
    return lanes.convert("bitcast", word, element, old) if dtype.is_float else old


def _float_extreme(context: Context, node: ir.Atomic, place: str) -> str:
    """A loop of compare-and-swap: the hardware's own maximum would lose NaN."""
    dtype, t = node.value.dtype, nvptx_type(node.pointer.type)
    element, word, lanes, text = register_type(dtype), f"i{dtype.bits}", context.lanes.strict(), context.text
    value = context.read(node.value)
    first = text.value(f"load atomic {word}, {t} {place} monotonic, align {dtype.size_bytes}")
    head, done, before = text.fresh_label("extreme"), text.fresh_label("extreme_done"), text.label
    text.jump(head)
    text.begin(head)
    seen = text.name()
    slot = text.reserve()
    base = "llvm.maximum" if node.op is ir.AtomicOp.MAX else "llvm.minimum"
    wanted = lanes.call(base, element, lanes.convert("bitcast", word, element, seen), value)
    bits = lanes.convert("bitcast", element, word, wanted)
    pair = text.value(f"cmpxchg {t} {place}, {word} {seen}, {word} {bits} monotonic monotonic")
    found = text.value(f"extractvalue {{ {word}, i1 }} {pair}, 0")
    text.fill(slot, f"{seen} = phi {word} [ {first}, %{before} ], [ {found}, %{head} ]")
    text.branch(text.value(f"extractvalue {{ {word}, i1 }} {pair}, 1"), done, head)
    text.begin(done)
    return lanes.convert("bitcast", word, element, found)


def parameter_type(type: ir.Type) -> str:
    """Return the LLVM type of a kernel parameter; Bool is passed as a byte."""
    if isinstance(type, PointerType):
        return nvptx_type(type)
    return "i8" if type is Bool else memory_type(type)
