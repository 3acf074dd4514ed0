"""Atomics: active lanes one after the other, each by an atomic instruction, or plainly where nobody else can look.

A block runs on one OS thread, so that memory which only its own threads touch (shared memory, block scope) needs no
atomic instruction.
"""

from __future__ import annotations

from dataclasses import dataclass

from darter.codegen.common.lanes import Lanes
from darter.codegen.common.text import FunctionText
from darter.codegen.common.types import register_type
from darter.codegen.cpu import memory
from darter.codegen.cpu.context import Context
from darter.codegen.cpu.lane_loops import active_lanes, buffer, lane_of
from darter.dtypes import ScalarType
from darter.ir import nodes as ir

_ORDERS = {
    ir.Order.RELAXED: "monotonic",
    ir.Order.ACQUIRE: "acquire",
    ir.Order.RELEASE: "release",
    ir.Order.ACQ_REL: "acq_rel",
}


@dataclass(frozen=True, slots=True)
class Update:
    """What an atomic does: ``order`` is LLVM's word, or empty where a plain update will do."""

    op: ir.AtomicOp
    dtype: ScalarType
    order: str

    @property
    def element(self) -> str:
        return register_type(self.dtype)

    @property
    def word(self) -> str:
        """The integer type of the same width."""
        return f"i{self.dtype.bits}"


def emit_atomic(context: Context, node: ir.Atomic) -> None:
    where = memory.address(context, node.pointer, node.offset)
    assert isinstance(node.pointer.type, ir.PointerType)
    private = node.scope is ir.Scope.BLOCK or node.pointer.type.space is ir.Space.SHARED
    update = Update(node.op, where.dtype, "" if private else _ORDERS[node.order])
    vector = context.vector
    t = vector.type(update.element)
    arguments = [
        (vector.type("ptr"), memory.pointers(context, where)),
        (t, context.lanes(node.value)),
        (f"i{context.width}", context.bits(context.mask) if context.mask else "-1"),
    ]
    if node.expected is not None:
        arguments.append((t, context.lanes(node.expected)))
    context.define(node.result, context.text.call_function(_helper(context, update), t, *arguments))


def _helper(context: Context, update: Update) -> str:
    """Return the helper that updates each active lane's place and returns what stood there."""
    module, width, element = context.module, context.width, update.element
    name = f"darter.atomic.{update.op.value}.{update.dtype.name}.{update.order or 'plain'}"

    def make() -> FunctionText:
        t = f"<{width} x {element}>"
        expected = f", {t} %expected" if update.op is ir.AtomicOp.CAS else ""
        header = f"define internal {t} @{name}(<{width} x ptr> %at, {t} %data, i{width} %mask{expected})"
        text = FunctionText(module, f"{header} #1")
        places, data = buffer(text, width, "ptr", "%at"), buffer(text, width, element, "%data")
        compared = buffer(text, width, element, "%expected") if expected else ""
        found = buffer(text, width, element, "zeroinitializer")
        with active_lanes(text, width, "%mask") as lane:
            place = text.value(f"load ptr, ptr {lane_of(text, 'ptr', places, lane)}")
            one = text.value(f"load {element}, ptr {lane_of(text, element, data, lane)}")
            other = text.value(f"load {element}, ptr {lane_of(text, element, compared, lane)}") if expected else ""
            before = _update(text, update, place, one, other)
            text.line(f"store {element} {before}, ptr {lane_of(text, element, found, lane)}")
        text.line(f"ret {t} {text.value(f'load {t}, ptr {found}, align 64')}")
        return text

    return module.helper(name, make)


def _update(text: FunctionText, update: Update, place: str, value: str, expected: str) -> str:
    """Write one update of ``place``; return what stood there."""
    if not update.order:
        return _plain(text, update, place, value, expected)
    if update.op is ir.AtomicOp.CAS:
        return _compare_exchange(text, update, place, expected, value)
    if update.dtype.is_float and update.op not in (ir.AtomicOp.ADD, ir.AtomicOp.EXCHANGE):
        return _by_exchange(text, update, place, value)
    name = {ir.AtomicOp.EXCHANGE: "xchg"}.get(update.op, update.op.value)
    if update.dtype.is_float:
        name = "fadd" if update.op is ir.AtomicOp.ADD else name
    elif update.op in (ir.AtomicOp.MAX, ir.AtomicOp.MIN) and not update.dtype.is_signed:
        name = "u" + name
    return text.value(f"atomicrmw {name} ptr {place}, {update.element} {value} {update.order}")


def _combine(text: FunctionText, update: Update, before: str, value: str) -> str:
    """Return the new value of an update other than CAS."""
    scalar, element, dtype = Lanes(text, 1), update.element, update.dtype
    match update.op:
        case ir.AtomicOp.EXCHANGE:
            return value
        case ir.AtomicOp.ADD:
            return scalar.op("fadd" if dtype.is_float else "add", element, before, value)
        case ir.AtomicOp.MAX | ir.AtomicOp.MIN if dtype.is_float:
            return scalar.call(f"llvm.{update.op.value}imum", element, before, value)
        case ir.AtomicOp.MAX | ir.AtomicOp.MIN:
            return scalar.call(f"llvm.{'s' if dtype.is_signed else 'u'}{update.op.value}", element, before, value)
        case _:
            return scalar.op(update.op.value, element, before, value)


def _as_word(text: FunctionText, update: Update, value: str) -> str:
    return text.value(f"bitcast {update.element} {value} to {update.word}") if update.dtype.is_float else value


def _as_element(text: FunctionText, update: Update, word: str) -> str:
    return text.value(f"bitcast {update.word} {word} to {update.element}") if update.dtype.is_float else word


def _plain(text: FunctionText, update: Update, place: str, value: str, expected: str) -> str:
    before = text.value(f"load {update.element}, ptr {place}")
    if update.op is ir.AtomicOp.CAS:
        same = text.value(f"icmp eq {update.word} {_as_word(text, update, before)}, {_as_word(text, update, expected)}")
        after = text.value(f"select i1 {same}, {update.element} {value}, {update.element} {before}")
    else:
        after = _combine(text, update, before, value)
    text.line(f"store {update.element} {after}, ptr {place}")
    return before


def _exchange(text: FunctionText, update: Update, place: str, expected: str, value: str) -> str:
    """Write a compare-and-exchange of words; return the pair of what stood there and whether it was exchanged."""
    failed = "acquire" if update.order in ("acquire", "acq_rel") else "monotonic"
    return text.value(f"cmpxchg ptr {place}, {update.word} {expected}, {update.word} {value} {update.order} {failed}")


def _compare_exchange(text: FunctionText, update: Update, place: str, expected: str, value: str) -> str:
    pair = _exchange(text, update, place, _as_word(text, update, expected), _as_word(text, update, value))
    return _as_element(text, update, text.value(f"extractvalue {{ {update.word}, i1 }} {pair}, 0"))


def _by_exchange(text: FunctionText, update: Update, place: str, value: str) -> str:
    """Write an update that has no instruction: try until nobody came between."""
    first = text.value(f"load atomic {update.word}, ptr {place} monotonic, align {update.dtype.size_bytes}")
    head, done, before = text.fresh_label("try"), text.fresh_label("done"), text.label
    text.jump(head)
    text.begin(head)
    seen, slot = text.name(), text.reserve()
    old = _as_element(text, update, seen)
    new = _as_word(text, update, _combine(text, update, old, value))
    pair = _exchange(text, update, place, seen, new)
    found = text.value(f"extractvalue {{ {update.word}, i1 }} {pair}, 0")
    exchanged = text.value(f"extractvalue {{ {update.word}, i1 }} {pair}, 1")
    text.fill(slot, f"{seen} = phi {update.word} [ {first}, %{before} ], [ {found}, %{text.label} ]")
    text.branch(exchanged, done, head)
    text.begin(done)
    return old
