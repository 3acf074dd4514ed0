"""Slots: where values wait that are made in one region and read in another."""

from __future__ import annotations

from dataclasses import dataclass, replace

from darter.codegen.common.types import register_type
from darter.codegen.cpu.context import Context
from darter.codegen.cpu.shapes import Kind
from darter.ir import nodes as ir

_BYTES = {"ptr": 8, "float": 4, "double": 8, "i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8}


@dataclass(frozen=True, slots=True)
class Slot:
    """One scalar for the block on the stack, or an array in scratch memory with ``lanes`` lanes for each warp."""

    address: str
    element: str
    lanes: int
    per_warp: bool

    @property
    def type(self) -> str:
        """What is stored: a mask as an integer with a bit for each lane."""
        if self.element == "i1":
            return "i8" if self.lanes == 1 else f"i{self.lanes}"
        return self.element if self.lanes == 1 else f"<{self.lanes} x {self.element}>"

    @property
    def align_bytes(self) -> int:
        """What every entry's address is a multiple of."""
        return min(64, self.size_bytes)

    @property
    def size_bytes(self) -> int:
        """Size of one entry."""
        return self.lanes // 8 if self.element == "i1" and self.lanes > 1 else self.lanes * _BYTES[self.element]


def new_slot(context: Context, value: ir.Value, warps: int) -> Slot:
    """Return a new slot that holds ``value`` in the form of its shape."""
    element, shape = register_type(value.type), context.shapes[value]
    if shape.kind is Kind.BLOCK:
        return Slot(context.text.stack("i8" if element == "i1" else element, 8), element, 1, per_warp=False)
    lanes = context.width if shape.kind is Kind.VARYING else 1
    slot = Slot("", element, lanes, per_warp=True)
    offset = context.scratch.take(slot.size_bytes * warps, 64)
    return replace(slot, address=context.text.preamble(f"getelementptr i8, ptr %scratch, i64 {offset}"))


def _place(context: Context, slot: Slot) -> str:
    if not slot.per_warp:
        return slot.address
    return context.text.value(f"getelementptr {slot.type}, ptr {slot.address}, i64 {context.warp}")


def write(context: Context, slot: Slot, value: str) -> None:
    """Store ``value`` for the warp at hand."""
    if slot.element == "i1":
        if slot.lanes == 1:
            value = context.scalar.convert("zext", "i1", "i8", value)
        else:
            value = context.bits(value)
    context.text.line(f"store {slot.type} {value}, ptr {_place(context, slot)}, align {slot.align_bytes}")


def read(context: Context, slot: Slot) -> str:
    """Return what was stored for the warp at hand."""
    loaded = context.text.value(f"load {slot.type}, ptr {_place(context, slot)}, align {slot.align_bytes}")
    if slot.element != "i1":
        return loaded
    if slot.lanes == 1:
        return context.scalar.convert("trunc", "i8", "i1", loaded)
    return context.text.value(f"bitcast {slot.type} {loaded} to {context.vector.type('i1')}")
