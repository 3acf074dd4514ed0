"""The type of every node, as the docstrings of ``nodes`` state it: one generator per family of nodes.

A violation here is a defect of the front end or of a pass, never a user's mistake; ``verify`` turns it into an error.
"""

from __future__ import annotations

from collections.abc import Iterator

from darter.dtypes import Bool, Kind, ScalarType, bf16, f16, f32, f64, i32, i64, u32, u64
from darter.ir import nodes as n

_WIDTHS = (1, 2, 4, 8, 16)
_WORDS = (i32, u32, i64, u64)
_ATOMIC_NUMBERS = (*_WORDS, f32, f64)
_BITWISE = (n.BinaryOp.AND, n.BinaryOp.OR, n.BinaryOp.XOR)
_SHIFTS = (n.BinaryOp.SHL, n.BinaryOp.SHR)
_ATOMIC_TYPES = {
    n.AtomicOp.ADD: _ATOMIC_NUMBERS,
    n.AtomicOp.MAX: _ATOMIC_NUMBERS,
    n.AtomicOp.MIN: _ATOMIC_NUMBERS,
    n.AtomicOp.AND: _WORDS,
    n.AtomicOp.OR: _WORDS,
    n.AtomicOp.XOR: _WORDS,
    n.AtomicOp.EXCHANGE: _ATOMIC_NUMBERS,
    n.AtomicOp.CAS: _ATOMIC_NUMBERS,
}

Complaints = Iterator[str]


def complaints(node: n.Node) -> Complaints:
    """Yield what is wrong with the types of ``node``, without looking inside its blocks."""
    match node:
        case n.Const() | n.ReadIndex():
            yield from _leaf(node)
        case n.Unary() | n.Binary() | n.Compare() | n.Select() | n.Cast() | n.Bitcast() | n.Fma() | n.Math():
            yield from _scalar(node)
        case n.Offset() | n.PointerCast() | n.Load() | n.Store() | n.Atomic() | n.SharedAlloc() | n.DynamicShared():
            yield from _memory(node)
        case n.Shuffle() | n.Vote() | n.Assert() | n.Print() | n.Raise():
            yield from _together(node)
        case n.If() | n.For() | n.While():
            yield from _structure(node)


def accepts_binary(op: n.BinaryOp, type: n.Type) -> bool:
    """Return whether ``op`` is defined on ``type``."""
    if not isinstance(type, ScalarType) or type.is_float8:
        return False
    if op in _BITWISE:
        return not type.is_float
    if op in _SHIFTS:
        return type.is_integer
    if op is n.BinaryOp.DIV:
        return type.is_float
    return type is not Bool


def accepts_unary(op: n.UnaryOp, type: n.Type) -> bool:
    """Return whether ``op`` is defined on ``type``."""
    if not isinstance(type, ScalarType) or type.is_float8:
        return False
    if op in n.BIT_COUNTS:
        return type.is_integer
    return not type.is_float if op is n.UnaryOp.NOT else type is not Bool


def accepts_shuffle(type: n.Type) -> bool:
    """Return whether a shuffle carries ``type``: 32- and 64-bit values, f16 and bf16."""
    return isinstance(type, ScalarType) and (type.bits in (32, 64) or type in (f16, bf16))


def accepts_atomic(op: n.AtomicOp, type: n.Type) -> bool:
    """Return whether ``op`` is defined on elements of ``type``."""
    return type in _ATOMIC_TYPES[op]


def accepts_constant(type: n.Type, value: object) -> bool:
    """Return whether ``value`` is a constant of ``type``."""
    if not isinstance(type, ScalarType):
        return False
    if type is Bool:
        return isinstance(value, bool)
    if type.kind is Kind.FLOAT:
        return isinstance(value, float)
    return isinstance(value, int) and not isinstance(value, bool) and type.min <= value <= type.max


def _same(what: str, *values: n.Value) -> Complaints:
    if any(value.type != values[0].type for value in values):
        yield f"{what} differ in type: {', '.join(map(repr, values))}"


def _is(what: str, value: n.Value, *types: n.Type) -> Complaints:
    if value.type not in types:
        yield f"{what} is {value!r}, accepted is {' or '.join(map(str, types))}"


def _leaf(node: n.Const | n.ReadIndex) -> Complaints:
    if isinstance(node, n.Const):
        if not accepts_constant(node.result.type, node.value):
            yield f"constant {node.value!r} does not fit {node.result!r}"
        return
    wide = node.index in (n.Index.BLOCK_IDX, n.Index.GRID_DIM)
    yield from _is(f"{node.index.value}", node.result, i64 if wide else i32)
    axes = 1 if node.index in (n.Index.LANE_ID, n.Index.WARP_ID) else 3
    if not 0 <= node.axis < axes:
        yield f"{node.index.value} has no axis {node.axis}"


def _scalar(node: n.Node) -> Complaints:
    match node:
        case n.Unary(result=result, op=op, operand=operand):
            yield from _same("operand and result", operand, result)
            if not accepts_unary(op, operand.type):
                yield f"{op.value} does not take {operand!r}"
        case n.Binary(result=result, op=op, lhs=lhs, rhs=rhs):
            yield from _same("operands and result", lhs, rhs, result)
            if not accepts_binary(op, lhs.type):
                yield f"{op.value} does not take {lhs!r}"
        case n.Compare(result=result, lhs=lhs, rhs=rhs):
            yield from _same("operands", lhs, rhs)
            yield from _is("result", result, Bool)
            if not isinstance(lhs.type, ScalarType) or lhs.type.is_float8:
                yield f"comparison does not take {lhs!r}"
        case n.Select():
            yield from _is("condition", node.condition, Bool)
            yield from _same("sides and result", node.on_true, node.on_false, node.result)
        case n.Cast(result=result, operand=operand) | n.Bitcast(result=result, operand=operand):
            yield from _conversion(node, result, operand)
        case n.Fma(result=result, a=a, b=b, c=c):
            yield from _same("operands and result", a, b, c, result)
            yield from _is("result", result, f32, f64)
        case n.Math(result=result, op=op, operands=operands):
            yield from _same("operands and result", *operands, result)
            yield from _is("result", result, f32, f64)
            if len(operands) != 1 + (op in n.BINARY_MATH):
                yield f"{op.value} has {len(operands)} operands"


def _conversion(node: n.Node, result: n.Value, operand: n.Value) -> Complaints:
    source, target = operand.type, result.type
    if isinstance(node, n.Bitcast) and isinstance(source, n.PointerType) and target is i64:
        return
    if not isinstance(source, ScalarType) or not isinstance(target, ScalarType):
        yield f"{operand!r} cannot become {result!r}"
    elif isinstance(node, n.Bitcast) and (source.bits != target.bits or Bool in (source, target)):
        yield f"the bits of {operand!r} are not those of {result!r}"


def _memory(node: n.Node) -> Complaints:
    match node:
        case n.SharedAlloc(result=result, count=count, align_bytes=align):
            yield from _pointer("result", result, n.Space.SHARED)
            yield from _alignment(align)
            if count < 1:
                yield f"{count} elements of shared memory"
        case n.DynamicShared(result=result):
            yield from _pointer("result", result, n.Space.SHARED)
        case n.PointerCast(result=result, pointer=pointer):
            yield from _pointer("pointer", pointer)
            if isinstance(pointer.type, n.PointerType):
                yield from _pointer("result", result, pointer.type.space)
        case n.Offset(result=result, pointer=pointer, offset=offset):
            yield from _pointer("pointer", pointer)
            yield from _is("offset", offset, i32, i64)
            yield from _same("pointer and result", pointer, result)
        case n.Load(results=values, pointer=pointer) | n.Store(values=values, pointer=pointer):
            yield from _access(node.offset, values, pointer, node.align_bytes)
        case n.Atomic():
            yield from _atomic(node)


def _pointer(what: str, value: n.Value, space: n.Space | None = None) -> Complaints:
    if not isinstance(value.type, n.PointerType):
        yield f"{what} is {value!r}, not a pointer"
    elif space is not None and value.type.space is not space:
        yield f"{what} is {value!r}, not a pointer into {space.value} memory"


def _alignment(align_bytes: int) -> Complaints:
    if align_bytes < 1 or align_bytes & (align_bytes - 1):
        yield f"alignment {align_bytes} is no power of two"


def _access(offset: n.Value, values: tuple[n.Value, ...], pointer: n.Value, align_bytes: int) -> Complaints:
    yield from _pointer("pointer", pointer)
    yield from _is("offset", offset, i32, i64)
    yield from _alignment(align_bytes)
    if len(values) not in _WIDTHS:
        yield f"access of {len(values)} elements; accepted are {_WIDTHS}"
    if isinstance(pointer.type, n.PointerType):
        for value in values:
            yield from _is("element", value, pointer.type.element)


def _atomic(node: n.Atomic) -> Complaints:
    yield from _pointer("pointer", node.pointer)
    yield from _is("offset", node.offset, i32, i64)
    expected = () if node.expected is None else (node.expected,)
    yield from _same("result, value and expected value", node.result, node.value, *expected)
    if (node.op is n.AtomicOp.CAS) != (node.expected is not None):
        yield f"atomic {node.op.value} {'without' if node.expected is None else 'with'} an expected value"
    if isinstance(node.pointer.type, n.PointerType):
        yield from _is("value", node.value, node.pointer.type.element)
    if not accepts_atomic(node.op, node.value.type):
        yield f"atomic {node.op.value} does not take {node.value!r}"


def _together(node: n.Node) -> Complaints:
    match node:
        case n.Shuffle(result=result, value=value, lane=lane):
            yield from _same("value and result", value, result)
            yield from _is("lane", lane, i32)
            if not accepts_shuffle(value.type):
                yield f"shuffle does not take {value!r}"
        case n.Vote(result=result, mode=mode, predicate=predicate):
            yield from _is("predicate", predicate, Bool)
            yield from _is("result", result, u64 if mode is n.VoteMode.BALLOT else Bool)
        case n.Assert(condition=condition):
            yield from _is("condition", condition, Bool)
        case n.Print(pieces=pieces, operands=operands) | n.Raise(pieces=pieces, operands=operands):
            if len(pieces) != len(operands) + 1:
                yield f"{len(pieces)} pieces of text around {len(operands)} values"


def _structure(node: n.Node) -> Complaints:
    match node:
        case n.If(results=results, condition=condition, then=then, orelse=orelse):
            yield from _is("condition", condition, Bool)
            for block in (then, orelse):
                yield from _matching("yields", block.yields, results)
                yield from _matching("arguments", block.arguments, ())
        case n.For(results=results, initial=initial, body=body):
            bounds = (node.lower, node.upper, node.step)
            yield from _same("bounds", *bounds)
            if not isinstance(node.lower.type, ScalarType) or not node.lower.type.is_integer:
                yield f"bounds are no integers: {bounds!r}"
            yield from _matching("arguments", body.arguments, (node.lower, *initial))
            yield from _matching("yields", body.yields, initial)
            yield from _matching("results", results, initial)
        case n.While(results=results, initial=initial, test=test, body=body):
            yield from _matching("arguments of the test", test.arguments, initial)
            yield from _matching("arguments of the body", body.arguments, initial)
            yield from _matching("yields", body.yields, initial)
            yield from _matching("results", results, initial)
            if len(test.yields) != 1 or test.yields[0].type is not Bool:
                yield f"the test yields {test.yields!r}, not one Bool"


def _matching(what: str, found: tuple[n.Value, ...], wanted: tuple[n.Value, ...]) -> Complaints:
    if [value.type for value in found] != [value.type for value in wanted]:
        yield f"{what} {found!r} do not match {wanted!r}"
