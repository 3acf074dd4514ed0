"""Registers of a launch program: which value stands where, and from when on its register is free again.

A launcher body has no loops, so the order in which its nodes are written is the order in which they run, and a value is
needed from its definition to its last use in that order.  ``Lifetimes`` finds the last uses, ``Registers`` hands out.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from darter.ir import nodes as n
from darter.ir.operands import operands_of, results_of


def alias_of(node: n.Node) -> n.Value | None:
    """Return the operand whose register can serve as the node's result, or None.

    A register may hold anything above the bytes of its type, so the compiler's own narrowing of an integer (a ``Cast``
    without a position) costs nothing.
    """
    match node:
        case n.PointerCast():
            return node.pointer
        case n.Cast(operand=operand, result=result):
            source, dtype = operand.dtype, result.dtype
            narrows = source.is_integer and dtype.is_integer and dtype.bits <= source.bits
            return operand if dtype is source or (narrows and node.loc.function < 0) else None
        case _:
            return None


class Lifetimes:
    """When each value of a body is used last, in steps: one for a node, one for the end of each side of an ``If``."""

    def __init__(self, body: n.Block) -> None:
        self._step = 0
        self._root: dict[n.Value, n.Value] = {}
        self._last: dict[n.Value, int] = {}
        self.used: set[n.Value] = set()
        self._block(body)
        self._ending: dict[int, list[n.Value]] = {}
        for value, step in self._last.items():
            self._ending.setdefault(step, []).append(value)

    def root(self, value: n.Value) -> n.Value:
        """Return the value whose register ``value`` shares."""
        return self._root.get(value, value)

    def ending(self, step: int) -> Iterable[n.Value]:
        """Return the values that nothing needs after ``step``."""
        return self._ending.get(step, ())

    def _block(self, block: n.Block) -> None:
        for node in block.nodes:
            self._step += 1
            alias = alias_of(node)
            if alias is not None:
                (result,) = results_of(node)
                self._root[result] = self.root(alias)
            for value in results_of(node) if alias is None else ():
                self._last[value] = self._step
            self._use(operands_of(node))
            if isinstance(node, n.If):
                self._side(node.then)
                self._side(node.orelse)

    def _side(self, block: n.Block) -> None:
        self._block(block)
        self._step += 1
        self._use(block.yields)

    def _use(self, values: Iterable[n.Value]) -> None:
        for value in values:
            self.used.add(value)
            self._last[self.root(value)] = self._step


class Registers:
    """Hands out the temporaries; slots and constants keep their registers for the whole program."""

    def __init__(self, first: int) -> None:
        self._next = first
        self._free: list[int] = []

    @property
    def count(self) -> int:
        """Registers of the program so far."""
        return self._next

    def take(self) -> int:
        """Return a register that nothing needs."""
        if self._free:
            return heapq.heappop(self._free)
        self._next += 1
        return self._next - 1

    def give_back(self, register: int) -> None:
        """Let ``register`` be taken again."""
        heapq.heappush(self._free, register)
