"""Appends nodes to blocks and gives their results the right types; tests and generators of kernels write IR with it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

from darter.dtypes import Bool, ScalarType, i32, i64, u64
from darter.ir import nodes as n

Carried = Sequence[n.Value]


def pointer_type(element: ScalarType, space: n.Space = n.Space.GLOBAL) -> n.PointerType:
    """Return the type of a pointer to ``element``."""
    return n.PointerType(element, space)


def index_type(index: n.Index) -> ScalarType:
    """Return the type that reading ``index`` gives."""
    return i64 if index in (n.Index.BLOCK_IDX, n.Index.GRID_DIM) else i32


class Builder:
    """Appends to one block at a time; ``into`` redirects it.

    ``loc`` is given to every node that is appended; set it while building.
    """

    def __init__(self, block: n.Block | None = None) -> None:
        self.block = n.Block() if block is None else block
        self.loc = n.NOWHERE

    def append(self, node: n.Node) -> None:
        """Append ``node`` at the builder's position."""
        node.loc = self.loc
        self.block.nodes.append(node)

    @contextlib.contextmanager
    def into(self, block: n.Block) -> Iterator[n.Block]:
        """Append to ``block`` inside the ``with``."""
        before, self.block = self.block, block
        try:
            yield block
        finally:
            self.block = before

    def _value(self, make: Callable[[n.Value], n.Node], type: n.Type, hint: str = "") -> n.Value:
        result = n.Value(type, hint)
        self.append(make(result))
        return result

    # -- scalars ----------------------------------------------------------------------------------------------------

    def const(self, dtype: ScalarType, value: bool | int | float) -> n.Value:
        return self._value(lambda result: n.Const(result, value), dtype)

    def index(self, index: n.Index, axis: int = 0) -> n.Value:
        return self._value(lambda result: n.ReadIndex(result, index, axis), index_type(index), index.value)

    def unary(self, op: n.UnaryOp, operand: n.Value) -> n.Value:
        return self._value(lambda result: n.Unary(result, op, operand), operand.type)

    def binary(self, op: n.BinaryOp, lhs: n.Value, rhs: n.Value) -> n.Value:
        return self._value(lambda result: n.Binary(result, op, lhs, rhs), lhs.type)

    def add(self, lhs: n.Value, rhs: n.Value) -> n.Value:
        return self.binary(n.BinaryOp.ADD, lhs, rhs)

    def mul(self, lhs: n.Value, rhs: n.Value) -> n.Value:
        return self.binary(n.BinaryOp.MUL, lhs, rhs)

    def compare(self, op: n.CompareOp, lhs: n.Value, rhs: n.Value) -> n.Value:
        return self._value(lambda result: n.Compare(result, op, lhs, rhs), Bool)

    def select(self, condition: n.Value, on_true: n.Value, on_false: n.Value) -> n.Value:
        return self._value(lambda result: n.Select(result, condition, on_true, on_false), on_true.type)

    def cast(self, dtype: ScalarType, operand: n.Value) -> n.Value:
        return self._value(lambda result: n.Cast(result, operand), dtype)

    def bitcast(self, dtype: ScalarType, operand: n.Value) -> n.Value:
        return self._value(lambda result: n.Bitcast(result, operand), dtype)

    def fma(self, a: n.Value, b: n.Value, c: n.Value) -> n.Value:
        return self._value(lambda result: n.Fma(result, a, b, c), a.type)

    def math(self, op: n.MathOp, *operands: n.Value) -> n.Value:
        return self._value(lambda result: n.Math(result, op, operands), operands[0].type)

    # -- memory -----------------------------------------------------------------------------------------------------

    def offset(self, pointer: n.Value, offset: n.Value) -> n.Value:
        return self._value(lambda result: n.Offset(result, pointer, offset), pointer.type)

    def pointer_cast(self, element: ScalarType, pointer: n.Value) -> n.Value:
        space = _pointee(pointer).space
        return self._value(lambda result: n.PointerCast(result, pointer), n.PointerType(element, space))

    def load(self, pointer: n.Value, offset: n.Value) -> n.Value:
        """Return one element, aligned to its size."""
        return self.load_vector(pointer, offset, 1)[0]

    def load_vector(self, pointer: n.Value, offset: n.Value, width: int, align_bytes: int = 0) -> tuple[n.Value, ...]:
        """Return ``width`` elements; ``align_bytes`` 0 stands for the element's size."""
        element = _pointee(pointer).element
        results = tuple(n.Value(element) for _ in range(width))
        self.append(n.Load(results, pointer, offset, align_bytes or element.size_bytes))
        return results

    def store(self, pointer: n.Value, offset: n.Value, *values: n.Value, align_bytes: int = 0) -> None:
        """Store ``values`` one after the other; ``align_bytes`` 0 stands for the element's size."""
        self.append(n.Store(values, pointer, offset, align_bytes or _pointee(pointer).element.size_bytes))

    def atomic(
        self,
        op: n.AtomicOp,
        pointer: n.Value,
        offset: n.Value,
        value: n.Value,
        expected: n.Value | None = None,
        order: n.Order = n.Order.RELAXED,
        scope: n.Scope = n.Scope.DEVICE,
    ) -> n.Value:
        def make(result: n.Value) -> n.Node:
            return n.Atomic(result, op, pointer, offset, value, expected, order, scope)

        return self._value(make, value.type)

    def shared(self, element: ScalarType, count: int, align_bytes: int = 0) -> n.Value:
        align = align_bytes or element.size_bytes
        type = n.PointerType(element, n.Space.SHARED)
        return self._value(lambda result: n.SharedAlloc(result, count, align), type, "shared")

    def dynamic_shared(self, element: ScalarType) -> n.Value:
        return self._value(n.DynamicShared, n.PointerType(element, n.Space.SHARED), "dynamic_shared")

    # -- threads together -------------------------------------------------------------------------------------------

    def barrier(self) -> None:
        self.append(n.Barrier())

    def shuffle(self, mode: n.ShuffleMode, value: n.Value, lane: n.Value) -> n.Value:
        return self._value(lambda result: n.Shuffle(result, mode, value, lane), value.type)

    def vote(self, mode: n.VoteMode, predicate: n.Value) -> n.Value:
        dtype = u64 if mode is n.VoteMode.BALLOT else Bool
        return self._value(lambda result: n.Vote(result, mode, predicate), dtype)

    # -- structure --------------------------------------------------------------------------------------------------

    def if_(
        self,
        condition: n.Value,
        then: Callable[[], Carried | None],
        orelse: Callable[[], Carried | None] = lambda: None,
        why: str = "",
    ) -> tuple[n.Value, ...]:
        """Append an ``If``; each function builds its side and returns what the side yields."""
        taken, other = n.Block(), n.Block()
        for block, build in ((taken, then), (other, orelse)):
            with self.into(block):
                block.yields = tuple(build() or ())
        results = tuple(n.Value(value.type) for value in taken.yields)
        self.append(n.If(results, condition, taken, other, why))
        return results

    def for_(
        self,
        lower: n.Value,
        upper: n.Value,
        step: n.Value,
        initial: Carried,
        body: Callable[..., Carried | None],
    ) -> tuple[n.Value, ...]:
        """Append a ``For``; ``body(index, *carried)`` returns the next carried values."""
        block = n.Block((n.Value(lower.type, "k"), *(n.Value(value.type) for value in initial)))
        with self.into(block):
            block.yields = tuple(body(*block.arguments) or ())
        results = tuple(n.Value(value.type) for value in initial)
        self.append(n.For(results, lower, upper, step, tuple(initial), block))
        return results

    def while_(
        self,
        initial: Carried,
        test: Callable[..., n.Value],
        body: Callable[..., Carried | None],
    ) -> tuple[n.Value, ...]:
        """Append a ``While``; ``test(*carried)`` returns a Bool, ``body(*carried)`` the next carried values."""
        first = n.Block(tuple(n.Value(value.type) for value in initial))
        second = n.Block(tuple(n.Value(value.type) for value in initial))
        with self.into(first):
            first.yields = (test(*first.arguments),)
        with self.into(second):
            second.yields = tuple(body(*second.arguments) or ())
        results = tuple(n.Value(value.type) for value in initial)
        self.append(n.While(results, tuple(initial), first, second))
        return results


def _pointee(value: n.Value) -> n.PointerType:
    if not isinstance(value.type, n.PointerType):
        raise TypeError(f"{value!r} is no pointer")
    return value.type
