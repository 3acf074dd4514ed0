"""What names are after a condition: the values of both sides become one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from darter.frontend.structs import opened
from darter.frontend.structure import (
    LEAF,
    LeafType,
    Static,
    flatten,
    join,
    leaf_type,
    leaf_value,
    make_leaf,
    placeholder,
    rebuild,
    same_static,
    with_site,
)
from darter.frontend.tracer import Side, Tracer
from darter.frontend.values import DeviceValue, Unbound, kind_of
from darter.ir.nodes import Value

Dead = str | None
"""How the code at a point ended: None (it goes on), ``"return"`` or ``"loop"`` (some path broke out or continued)."""


@dataclass(slots=True)
class Path:
    """One side of a condition after tracing it."""

    side: Side
    locals: dict[str, Any]
    outcome: Any
    dead: Dead


@dataclass(slots=True)
class Merge:
    """The results that an ``If`` gets as values are merged."""

    t: Tracer
    then: Path
    orelse: Path
    condition: Value
    results: list[Value] = field(default_factory=list)
    then_yields: list[Value] = field(default_factory=list)
    else_yields: list[Value] = field(default_factory=list)

    def value(self, a: Any, b: Any, name: str) -> Any:
        """Return what a name is after the condition, given what it is after each side."""
        if a is b or same_static(a, b):
            return a
        leaves_a: list[Any] = []
        leaves_b: list[Any] = []
        shape_a, shape_b = flatten(a, leaves_a), flatten(b, leaves_b)
        if shape_a != shape_b:
            leaves_a, leaves_b = [], []
            shape_a, shape_b = flatten(opened(self.t, a), leaves_a), flatten(opened(self.t, b), leaves_b)
        if shape_a != shape_b:
            return Unbound(f"is {kind_of(a)} on one path and {kind_of(b)} on the other")
        types: list[LeafType] = []
        for x, y in zip(leaves_a, leaves_b, strict=True):
            joined = join(leaf_type(x), leaf_type(y))
            if joined is None:
                return Unbound(f"is {kind_of(x)} on one path and {kind_of(y)} on the other; cast one of them")
            types.append(with_site(self.t, joined, self.t.at, (name, len(types))))
        merged = [self.leaf(x, y, z) for x, y, z in zip(leaves_a, leaves_b, types, strict=True)]
        return rebuild(shape_a, merged)

    def leaf(self, a: Any, b: Any, joined: LeafType) -> Any:
        """Return the merge of two leaves whose common type is known."""
        if a is b or same_static(a, b):
            return a
        if isinstance(a, DeviceValue) and isinstance(b, DeviceValue) and a.value is b.value:
            return a
        merged = self.yielded(self.in_then(a, joined), self.in_else(b, joined), joined)
        self.t.literals.settle(joined.origins, joined.type)
        if joined.weak and not isinstance(a, DeviceValue) and not isinstance(b, DeviceValue):
            merged.weak, merged.choice = True, (self.condition, a, b)
        return merged

    def yielded(self, a: Value, b: Value, joined: LeafType) -> Any:
        """Add a result that is ``a`` or ``b``."""
        result = Value(joined.type, a.hint or b.hint)
        self.results.append(result)
        self.then_yields.append(a)
        self.else_yields.append(b)
        return make_leaf(result, replace(joined, weak=False))

    def in_then(self, leaf: Any, joined: LeafType) -> Value:
        """Return ``leaf`` as a value at the end of the first side."""
        return self._at_end(self.then, leaf, joined)

    def in_else(self, leaf: Any, joined: LeafType) -> Value:
        """Return ``leaf`` as a value at the end of the second side."""
        return self._at_end(self.orelse, leaf, joined)

    def _at_end(self, path: Path, leaf: Any, joined: LeafType) -> Value:
        nodes = self.t.nodes
        self.t.nodes = path.side.block.nodes
        try:
            return leaf_value(self.t, leaf, joined.type)
        finally:
            self.t.nodes = nodes

    def live(self, value: Any, in_then: bool, name: str) -> Any:
        """Return a value that exists on one side only, the other side never getting to where it is read."""
        leaves: list[Any] = []
        shape = flatten(value, leaves)
        if shape == LEAF or not isinstance(shape, Static):
            return rebuild(shape, [self._live_leaf(leaf, in_then) for leaf in leaves])
        return value

    def _live_leaf(self, leaf: Any, in_then: bool) -> Any:
        joined = leaf_type(leaf)
        nothing = placeholder(self.t, joined.type)
        if not hasattr(leaf, "value") or nothing is None:
            return leaf
        weak, joined.weak = joined.weak, False
        a, b = (leaf.value, nothing) if in_then else (nothing, leaf.value)
        merged = self.yielded(a, b, joined)
        merged.weak, merged.multiple = weak, leaf.multiple
        return merged
