"""Asserts and prints: each lane that has something to say calls the host, which knows the text."""

from __future__ import annotations

from collections.abc import Sequence

from darter.artifacts.artifact import DeviceMessage
from darter.codegen.common import numbers
from darter.codegen.common.types import register_type
from darter.codegen.cpu.context import Context
from darter.codegen.cpu.lane_loops import active_lanes, buffer, lane_of
from darter.codegen.cpu.shapes import Kind
from darter.dtypes import Int64, ScalarType
from darter.ir import nodes as ir

_DECLARATION = "declare void @darter_message(ptr, i32, i64, i64, ptr)"


def emit_assert(context: Context, node: ir.Assert) -> None:
    if context.shapes[node.condition].kind is not Kind.VARYING:
        text, inverted = context.text, context.scalar.op("xor", "i1", context.lane0(node.condition), "true")
        failed, after = text.fresh_label("failed"), text.fresh_label("after")
        text.branch(inverted, failed, after)
        text.begin(failed)
        _say(context, node, node.operands, context.mask)
        text.jump(after)
        text.begin(after)
        return
    inverted = context.vector.op("xor", "i1", context.lanes(node.condition), "splat (i1 true)")
    fails = context.both(context.mask, inverted)
    text = context.text
    failed, after = text.fresh_label("failed"), text.fresh_label("after")
    text.branch(context.any(fails), failed, after)
    text.begin(failed)
    _say(context, node, node.operands, fails)
    text.jump(after)
    text.begin(after)


def emit_print(context: Context, node: ir.Print) -> None:
    _say(context, node, node.operands, context.mask)


def _dtype(value: ir.Value) -> ScalarType:
    """Return the type that an operand is shown as; an address is a number."""
    return Int64 if isinstance(value.type, ir.PointerType) else value.type


def _message(node: ir.Assert | ir.Print) -> DeviceMessage:
    pieces = node.pieces if isinstance(node, ir.Print) else _pieces(node.message, len(node.operands))
    codes = tuple(_dtype(operand).code for operand in node.operands)
    loc = node.loc
    return DeviceMessage(isinstance(node, ir.Assert), pieces, codes, loc.function, loc.line, loc.column)


def _pieces(message: str, operands: int) -> tuple[str, ...]:
    """Cut an assert's message at its ``{}``, one per operand; operands without a place follow it."""
    pieces = message.split("{}")
    if len(pieces) == operands + 1:
        return tuple(pieces)
    return (message + (": " if operands else ""), *[", "] * (operands - 1), *[""] * bool(operands))


def _say(context: Context, node: ir.Assert | ir.Print, operands: Sequence[ir.Value], mask: str | None) -> None:
    """Call the host once for each lane of ``mask`` (None: all)."""
    text, width = context.text, context.width
    index = context.message_indices.get(node)
    if index is None:
        index = context.message_indices[node] = len(context.messages)
        context.messages.append(_message(node))
    context.module.declare("darter_message", _DECLARATION)
    buffers = [_buffer(context, operand) for operand in operands]
    words = text.stack(f"[{len(operands)} x i64]", 8) if operands else "null"
    first = text.value(f"mul i64 {context.warp}, {width}")
    with active_lanes(text, width, "-1" if mask is None else context.bits(mask)) as lane:
        for position, (operand, place) in enumerate(zip(operands, buffers, strict=True)):
            word = _word(context, operand, place, lane)
            at = text.value(f"getelementptr i64, ptr {words}, i64 {position}")
            text.line(f"store i64 {word}, ptr {at}, align 8")
        thread = text.value(f"add i64 {first}, {lane}")
        text.line(
            f"call void @darter_message(ptr %launch, i32 {index}, i64 {context.block}, i64 {thread}, ptr {words})"
        )


def _buffer(context: Context, operand: ir.Value) -> str:
    element, data = register_type(operand.type), context.lanes(operand)
    if element == "i1":
        element, data = "i8", context.vector.convert("zext", "i1", "i8", data)
    return buffer(context.text, context.width, element, data)


def _word(context: Context, operand: ir.Value, place: str, lane: str) -> str:
    """Return the 64-bit word of one lane's operand, its value in the low bytes."""
    text, scalar = context.text, context.scalar
    element = register_type(operand.type)
    element = "i8" if element == "i1" else element
    one = text.value(f"load {element}, ptr {lane_of(text, element, place, lane)}")
    if element == "ptr":
        return text.value(f"ptrtoint ptr {one} to i64")
    dtype = _dtype(operand)
    if element == "i8":
        return scalar.convert("zext", "i8", "i64", one)
    stored = numbers.to_memory(scalar, dtype, one, context.has("f16c"))
    bits = f"i{dtype.bits}"
    if dtype.is_float and dtype.bits >= 32:
        stored = scalar.convert("bitcast", element, bits, stored)
    return stored if bits == "i64" else scalar.convert("zext", bits, "i64", stored)
