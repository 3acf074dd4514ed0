"""Memory: addresses, contiguous accesses as vector loads and stores, everything else as gathers and scatters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from darter.codegen.common import numbers
from darter.codegen.common.types import mangled, memory_type, register_type
from darter.codegen.cpu import lane_loops
from darter.codegen.cpu.context import Context
from darter.codegen.cpu.shapes import Kind, Shape, affine
from darter.dtypes import ScalarType
from darter.ir import nodes as ir


@dataclass(frozen=True, slots=True)
class Address:
    """Where an access goes: one ``ptr`` (uniform), lane 0's and a stride in bytes (affine), or a vector of them."""

    shape: Shape
    text: str
    dtype: ScalarType

    @property
    def element(self) -> str:
        return memory_type(self.dtype)


def element_type(pointer: ir.Value) -> ScalarType:
    assert isinstance(pointer.type, ir.PointerType)
    return pointer.type.element


def address(context: Context, pointer: ir.Value, offset: ir.Value) -> Address:
    """Return the address of ``pointer[offset]``, as regular as its parts allow."""
    dtype, text = element_type(pointer), context.text
    element, index = memory_type(dtype), register_type(offset.type)
    moved, by = context.shapes[pointer], context.shapes[offset]
    if Kind.VARYING not in (moved.kind, by.kind):
        base = text.value(f"getelementptr {element}, ptr {context.lane0(pointer)}, {index} {context.lane0(offset)}")
        if moved.uniform and by.uniform:
            return Address(context.shapes.level(pointer, offset), base, dtype)
        return Address(affine(moved.stride + by.stride * dtype.size_bytes), base, dtype)
    vector = context.vector
    if moved.uniform:
        start = f"ptr {context.lane0(pointer)}"
    else:
        start = f"{vector.type('ptr')} {context.lanes(pointer)}"
    base = text.value(f"getelementptr {element}, {start}, {vector.type(index)} {context.lanes(offset)}")
    return Address(Shape(Kind.VARYING), base, dtype)


def pointers(context: Context, where: Address) -> str:
    """Return the address of every lane, as a vector."""
    stride = where.shape.stride
    if where.shape.kind is Kind.AFFINE and abs(stride) * context.width < 1 << 31:
        # One base and 32-bit offsets: half as many gathers as with 64-bit addresses.
        steps, offsets = context.steps("i32", stride), context.vector.type("i32")
        return context.text.value(f"getelementptr i8, ptr {where.text}, {offsets} {steps}")
    return context.spread(where.text, "ptr", where.shape)


def emit_offset(context: Context, node: ir.Offset) -> None:
    where = address(context, node.pointer, node.offset)
    if context.shapes[node.result].kind is Kind.VARYING:
        context.define(node.result, pointers(context, where))
    else:
        context.define(node.result, where.text)


def emit_pointer_cast(context: Context, node: ir.PointerCast) -> None:
    context.define(node.result, context.held[node.pointer].text)


def emit_shared_alloc(context: Context, node: ir.SharedAlloc) -> None:
    offset = context.shared[node.result]
    context.define(node.result, context.text.preamble(f"getelementptr i8, ptr %scratch, i64 {offset}"))


def emit_dynamic_shared(context: Context, node: ir.DynamicShared) -> None:
    context.uses_dynamic_shared = True
    context.define(node.result, "%dynamic")


# -- loads ------------------------------------------------------------------------------------------------------------


def emit_load(context: Context, node: ir.Load) -> None:
    where, count = address(context, node.pointer, node.offset), len(node.results)
    f16c = context.has("f16c")
    if where.shape.uniform:
        for position, result in enumerate(node.results):
            at = _moved(context, where, position)
            align = node.align_bytes if position == 0 else where.dtype.size_bytes
            loaded = context.text.value(f"load {where.element}, ptr {at.text}, align {align}")
            context.define(result, numbers.from_memory(context.scalar, where.dtype, loaded, f16c))
        return
    if where.shape.kind is Kind.AFFINE and where.shape.stride == count * where.dtype.size_bytes:
        parts = _load_contiguous(context, where, count, node.align_bytes)
    else:
        parts = [_gather(context, _moved(context, where, position)) for position in range(count)]
    for result, part in zip(node.results, parts, strict=True):
        context.define(result, numbers.from_memory(context.vector, where.dtype, part, f16c))


def _moved(context: Context, where: Address, position: int) -> Address:
    """Return the address ``position`` elements further."""
    if position == 0:
        return where
    t = "ptr" if where.shape.kind is not Kind.VARYING else context.vector.type("ptr")
    text = context.text.value(f"getelementptr {where.element}, {t} {where.text}, i64 {position}")
    return Address(where.shape, text, where.dtype)


def _masked_access(context: Context, element: str) -> bool:
    """Return whether the target masks contiguous accesses of ``element`` in one instruction."""
    if element in ("i8", "i16"):
        return context.has("avx512bw")
    return context.has("avx2")


def _load_contiguous(context: Context, where: Address, count: int, align_bytes: int) -> list[str]:
    text, total = context.text, context.width * count
    wide = f"<{total} x {where.element}>"
    if context.mask is None:
        loaded = text.value(f"load {wide}, ptr {where.text}, align {align_bytes}")
    elif not _masked_access(context, where.element):
        return [_gather(context, _moved(context, where, position)) for position in range(count)]
    else:
        mask = _repeat(context, context.mask, count)
        loaded = text.call(
            "llvm.masked.load", f"{mangled(where.element, total)}.p0", wide,
            ("ptr", where.text), ("i32", str(align_bytes)), (f"<{total} x i1>", mask), (wide, "zeroinitializer"),
        )  # fmt: skip
    return _deinterleave(context, where.element, loaded, count)


def _deinterleave(context: Context, element: str, data: str, count: int) -> list[str]:
    """Return every ``count``-th element of ``data`` from the first, the second, … on; ``count`` is a power of two.

    By halves: shuffles of two registers each, where one shuffle per result would take many and is slow to compile.
    """
    if count == 1:
        return [data]
    total = context.width * count
    wide = f"<{total} x {element}>"
    even, odd = (_pick(context, wide, data, range(first, total, 2)) for first in range(2))
    halves = (_deinterleave(context, element, half, count // 2) for half in (even, odd))
    return [part for pair in zip(*halves, strict=True) for part in pair]


def _repeat(context: Context, mask: str, count: int) -> str:
    """Return ``mask`` with every lane ``count`` times."""
    if count == 1:
        return mask
    return _pick(
        context, context.vector.type("i1"), mask, [lane for lane in range(context.width) for _ in range(count)]
    )


def _pick(context: Context, source: str, vector: str, lanes: Sequence[int], other: str = "poison") -> str:
    indices = ", ".join(f"i32 {lane}" for lane in lanes)
    return context.text.value(f"shufflevector {source} {vector}, {source} {other}, <{len(lanes)} x i32> <{indices}>")


def _gather(context: Context, where: Address) -> str:
    vector, element = context.vector, where.element
    ptrs = pointers(context, where)
    if not context.has("avx512f") or element in ("i8", "i16"):
        name = lane_loops.gather(context.module, element, context.width)
        bits = context.bits(context.mask) if context.mask else "-1"
        return context.text.call_function(
            name, vector.type(element), (vector.type("ptr"), ptrs), (f"i{context.width}", bits)
        )
    suffix = f"{mangled(element, context.width)}.{mangled('ptr', context.width)}"
    return context.text.call(
        "llvm.masked.gather", suffix, vector.type(element),
        (vector.type("ptr"), ptrs), ("i32", str(where.dtype.size_bytes)), (vector.type("i1"), context.mask_text()),
        (vector.type(element), "zeroinitializer"),
    )  # fmt: skip


# -- stores -----------------------------------------------------------------------------------------------------------


def emit_store(context: Context, node: ir.Store) -> None:
    where, count = address(context, node.pointer, node.offset), len(node.values)
    f16c = context.has("f16c")
    if where.shape.uniform:
        for position, value in enumerate(node.values):
            one = _last_active(context, value)
            stored = numbers.to_memory(context.scalar, where.dtype, one, f16c)
            at = _moved(context, where, position)
            align = node.align_bytes if position == 0 else where.dtype.size_bytes
            context.text.line(f"store {where.element} {stored}, ptr {at.text}, align {align}")
        return
    parts = [numbers.to_memory(context.vector, where.dtype, context.lanes(value), f16c) for value in node.values]
    contiguous = where.shape.kind is Kind.AFFINE and where.shape.stride == count * where.dtype.size_bytes
    if contiguous and (context.mask is None or _masked_access(context, where.element)):
        _store_contiguous(context, where, parts, node.align_bytes)
        return
    for position, part in enumerate(parts):
        _scatter(context, _moved(context, where, position), part)


def _last_active(context: Context, value: ir.Value) -> str:
    """Return the scalar that remains when all active lanes store ``value`` to one place: the last one's."""
    if context.shapes[value].uniform:
        return context.lane0(value)
    t = context.vector.type(register_type(value.type))
    if context.mask is None:
        return context.text.value(f"extractelement {t} {context.lanes(value)}, i32 {context.width - 1}")
    whole = f"i{context.width}"
    zeros = context.text.call("llvm.ctlz", whole, whole, (whole, context.bits(context.mask)), ("i1", "true"))
    last = context.text.value(f"sub {whole} {context.width - 1}, {zeros}")
    return context.text.value(f"extractelement {t} {context.lanes(value)}, {whole} {last}")


def _store_contiguous(context: Context, where: Address, parts: list[str], align_bytes: int) -> None:
    """Store in pieces of one register each, in the order of addresses.

    LLVM cuts a longer store too, but may write its pieces backwards, which took 1.4 times as long on arrays that are
    not 64-byte aligned.
    """
    total, data = context.width * len(parts), _interleave(context, where.element, parts)
    mask = None if context.mask is None else _repeat(context, context.mask, len(parts))
    wide, whole = f"<{total} x {where.element}>", f"<{total} x i1>"
    length = min(total, (64 if context.has("avx512f") else 32) // where.dtype.size_bytes)
    for start in range(0, total, length):
        lanes = range(start, start + length)
        piece = data if length == total else _pick(context, wide, data, lanes)
        at = _moved(context, where, start)
        align = align_bytes if start * where.dtype.size_bytes % align_bytes == 0 else where.dtype.size_bytes
        piece_type = f"<{length} x {where.element}>"
        if mask is None:
            context.text.line(f"store {piece_type} {piece}, ptr {at.text}, align {align}")
            continue
        on = mask if length == total else _pick(context, whole, mask, lanes)
        context.text.call(
            "llvm.masked.store", f"{mangled(where.element, length)}.p0", "void",
            (piece_type, piece), ("ptr", at.text), ("i32", str(align)), (f"<{length} x i1>", on),
        )  # fmt: skip


def _interleave(context: Context, element: str, parts: list[str]) -> str:
    """Return lane 0 of all ``parts`` in order, then lane 1 of all, and so on; their number is a power of two."""
    if len(parts) == 1:
        return parts[0]
    even, odd = _interleave(context, element, parts[0::2]), _interleave(context, element, parts[1::2])
    half = context.width * len(parts) // 2
    order = [position for i in range(half) for position in (i, half + i)]
    return _pick(context, f"<{half} x {element}>", even, order, odd)


def _scatter(context: Context, where: Address, data: str) -> None:
    vector, element = context.vector, where.element
    ptrs = pointers(context, where)
    if not context.has("avx512f") or element in ("i8", "i16"):
        name = lane_loops.scatter(context.module, element, context.width)
        bits = context.bits(context.mask) if context.mask else "-1"
        context.text.call_function(
            name, "void", (vector.type("ptr"), ptrs), (vector.type(element), data), (f"i{context.width}", bits)
        )
        return
    context.text.call(
        "llvm.masked.scatter", f"{mangled(element, context.width)}.{mangled('ptr', context.width)}", "void",
        (vector.type(element), data), (vector.type("ptr"), ptrs), ("i32", str(where.dtype.size_bytes)),
        (vector.type("i1"), context.mask_text()),
    )  # fmt: skip
