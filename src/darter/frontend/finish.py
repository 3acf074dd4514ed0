"""The last step of a trace: values that turned out to be others are replaced, and what nobody needs is dropped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from darter.ir.nodes import (
    Assert,
    Atomic,
    Barrier,
    Binary,
    Bitcast,
    Block,
    Cast,
    Compare,
    Const,
    DynamicShared,
    Fma,
    For,
    If,
    Launch,
    Load,
    Math,
    Node,
    Offset,
    PointerCast,
    Print,
    Raise,
    ReadIndex,
    Select,
    SharedAlloc,
    Shuffle,
    Store,
    Unary,
    Value,
    Vote,
    While,
)

_OPERANDS: dict[type, tuple[str, ...]] = {
    Const: (),
    ReadIndex: (),
    Unary: ("operand",),
    Binary: ("lhs", "rhs"),
    Compare: ("lhs", "rhs"),
    Select: ("condition", "on_true", "on_false"),
    Cast: ("operand",),
    Bitcast: ("operand",),
    Fma: ("a", "b", "c"),
    Math: ("operands",),
    Offset: ("pointer", "offset"),
    PointerCast: ("pointer",),
    Load: ("pointer", "offset"),
    Store: ("values", "pointer", "offset"),
    Atomic: ("pointer", "offset", "value", "expected"),
    SharedAlloc: (),
    DynamicShared: (),
    Barrier: (),
    Shuffle: ("value", "lane"),
    Vote: ("predicate",),
    Assert: ("condition", "operands"),
    Print: ("operands",),
    Launch: ("arguments", "grid", "shared_bytes"),
    Raise: ("operands",),
    If: ("condition",),
    For: ("lower", "upper", "step"),
    While: (),
}
_EFFECTS = (Store, Atomic, Barrier, Assert, Print, Launch, Raise)


def _values(node: Node) -> list[Value]:
    found: list[Value] = []
    for name in _OPERANDS[type(node)]:
        operand = getattr(node, name)
        if isinstance(operand, tuple):
            found.extend(operand)
        elif operand is not None:
            found.append(operand)
    return found


def finish(block: Block, replaced: dict[Value, Value]) -> set[Value]:
    """Clean ``block`` in place and return the values that are used in it."""
    _prune_invariants(block, replaced)
    live = _Liveness(block, replaced)
    _rewrite(block, live, lambda value: _resolve(value, replaced))
    return live.values


def _resolve(value: Value, replaced: dict[Value, Value]) -> Value:
    while value in replaced:
        value = replaced[value]
    return value


# -- values that are others -------------------------------------------------------------------------------------------


def _prune_invariants(block: Block, replaced: dict[Value, Value]) -> None:
    """Find carried values that a loop never changes, and results of conditions that are one value."""
    for node in block.nodes:
        if isinstance(node, If):
            _prune_invariants(node.then, replaced)
            _prune_invariants(node.orelse, replaced)
            for result, a, b in zip(node.results, node.then.yields, node.orelse.yields, strict=True):
                if _resolve(a, replaced) is _resolve(b, replaced):
                    replaced[result] = a
        elif isinstance(node, (For, While)):
            _prune_loop(node, replaced)


def _prune_loop(node: For | While, replaced: dict[Value, Value]) -> None:
    blocks = [node.body] if isinstance(node, For) else [node.test, node.body]
    for inner in blocks:
        _prune_invariants(inner, replaced)
    skipped = len(node.body.arguments) - len(node.initial)
    for index, (result, initial, end) in enumerate(zip(node.results, node.initial, node.body.yields, strict=True)):
        argument = node.body.arguments[index + skipped]
        if _resolve(end, replaced) is argument:
            replaced[argument] = replaced[result] = initial
            if isinstance(node, While):
                replaced[node.test.arguments[index]] = initial


# -- what is needed ---------------------------------------------------------------------------------------------------


class _Liveness:
    """Marks values and nodes that effects need; carried values and results only where they are read."""

    def __init__(self, block: Block, replaced: dict[Value, Value]) -> None:
        self.replaced = replaced
        self.values: set[Value] = set()
        self.nodes: set[int] = set()
        self.owner: dict[Value, tuple[Node, int]] = {}
        self.parent: dict[int, Node | None] = {}
        self.pending: list[Value] = []
        effects: list[Node] = []
        self._collect(block, None, effects)
        for node in effects:
            self._need_node(node)
        while self.pending:
            self._define(self.pending.pop())

    def _collect(self, block: Block, parent: Node | None, effects: list[Node]) -> None:
        for node in block.nodes:
            self.parent[id(node)] = parent
            if isinstance(node, _EFFECTS):
                effects.append(node)
            results = getattr(node, "results", None)
            if results is None:
                result = getattr(node, "result", None)
                results = () if result is None else (result,)
            for index, value in enumerate(results):
                self.owner[value] = (node, index)
            if isinstance(node, If):
                self._collect(node.then, node, effects)
                self._collect(node.orelse, node, effects)
            elif isinstance(node, (For, While)):
                self._own_arguments(node)
                if isinstance(node, While):
                    self._collect(node.test, node, effects)
                self._collect(node.body, node, effects)

    def _own_arguments(self, node: For | While) -> None:
        skipped = len(node.body.arguments) - len(node.initial)
        for index, value in enumerate(node.body.arguments):
            self.owner[value] = (node, index - skipped)
        if isinstance(node, While):
            for index, value in enumerate(node.test.arguments):
                self.owner[value] = (node, index)

    def need(self, value: Value) -> None:
        value = _resolve(value, self.replaced)
        if value not in self.values:
            self.values.add(value)
            self.pending.append(value)

    def _need_node(self, node: Node | None) -> None:
        while node is not None and id(node) not in self.nodes:
            self.nodes.add(id(node))
            for value in _values(node):
                self.need(value)
            if isinstance(node, While):
                self.need(node.test.yields[0])
            node = self.parent[id(node)]

    def _define(self, value: Value) -> None:
        if value not in self.owner:
            return
        node, index = self.owner[value]
        self._need_node(node)
        if isinstance(node, If):
            self.need(node.then.yields[index])
            self.need(node.orelse.yields[index])
        elif isinstance(node, (For, While)) and index >= 0:
            self.need(node.initial[index])
            self.need(node.body.yields[index])
            self.values.add(node.results[index])

    def carried(self, node: For | While, index: int) -> bool:
        """Tell whether a loop carries its value ``index``."""
        result = node.results[index]
        if result in self.replaced:
            return False
        skipped = len(node.body.arguments) - len(node.initial)
        names = [result, node.body.arguments[index + skipped]]
        if isinstance(node, While):
            names.append(node.test.arguments[index])
        return any(name in self.values for name in names)


# -- writing ----------------------------------------------------------------------------------------------------------


def _rewrite(block: Block, live: _Liveness, resolve: Callable[[Value], Value]) -> None:
    block.nodes = [node for node in block.nodes if id(node) in live.nodes]
    for node in block.nodes:
        for name in _OPERANDS[type(node)]:
            operand: Any = getattr(node, name)
            if isinstance(operand, tuple):
                setattr(node, name, tuple(map(resolve, operand)))
            elif operand is not None:
                setattr(node, name, resolve(operand))
        if isinstance(node, If):
            _rewrite_if(node, live, resolve)
        elif isinstance(node, (For, While)):
            _rewrite_loop(node, live, resolve)


def _rewrite_if(node: If, live: _Liveness, resolve: Callable[[Value], Value]) -> None:
    kept = [i for i, result in enumerate(node.results) if result in live.values and result not in live.replaced]
    for block in (node.then, node.orelse):
        _rewrite(block, live, resolve)
        block.yields = tuple(resolve(block.yields[i]) for i in kept)
    node.results = tuple(node.results[i] for i in kept)


def _rewrite_loop(node: For | While, live: _Liveness, resolve: Callable[[Value], Value]) -> None:
    kept = [index for index in range(len(node.results)) if live.carried(node, index)]
    skipped = len(node.body.arguments) - len(node.initial)
    arguments = node.body.arguments
    node.body.arguments = (*arguments[:skipped], *(arguments[i + skipped] for i in kept))
    if isinstance(node, While):
        _rewrite(node.test, live, resolve)
        node.test.arguments = tuple(node.test.arguments[i] for i in kept)
        node.test.yields = tuple(map(resolve, node.test.yields))
    _rewrite(node.body, live, resolve)
    node.body.yields = tuple(resolve(node.body.yields[i]) for i in kept)
    node.initial = tuple(resolve(node.initial[i]) for i in kept)
    node.results = tuple(node.results[i] for i in kept)
