"""How code holds a value: one scalar where a warp agrees on it, lane 0's scalar where it is strided, else a vector.

What is known of a value comes from ``ir.uniformity``; this page turns it into forms of code.  An operation whose result
has a lane form is evaluated on lane 0 alone.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from darter.ir import nodes as ir
from darter.ir.facts import Level
from darter.ir.uniformity import Uniformity, analyze


class Kind(enum.IntEnum):
    """From the most to the least regular."""

    BLOCK = 0
    WARP = 1
    AFFINE = 2
    VARYING = 3


@dataclass(frozen=True, slots=True)
class Shape:
    """``stride`` is the step from lane to lane of an affine value: in its own unit, for a pointer in bytes."""

    kind: Kind
    stride: int = 0

    @property
    def uniform(self) -> bool:
        return self.kind <= Kind.WARP


BLOCK = Shape(Kind.BLOCK)
WARP = Shape(Kind.WARP)
VARYING = Shape(Kind.VARYING)


def affine(stride: int) -> Shape:
    """Return the shape of a value that moves by ``stride`` per lane."""
    return Shape(Kind.AFFINE, stride) if stride else WARP


class Shapes:
    """The shapes of a kernel's values."""

    def __init__(self, kernel: ir.Kernel) -> None:
        self._uniformity: Uniformity = analyze(kernel)
        self._shapes: dict[ir.Value, Shape] = {}

    def __getitem__(self, value: ir.Value) -> Shape:
        shape = self._shapes.get(value)
        if shape is None:
            shape = self._shapes[value] = self._shape(value)
        return shape

    def _shape(self, value: ir.Value) -> Shape:
        facts = self._uniformity.facts(value)
        if facts.level <= Level.BLOCK_UNIFORM:
            return BLOCK
        if facts.level is Level.WARP_UNIFORM:
            return WARP
        if facts.stride is None:
            return VARYING
        if isinstance(value.type, ir.PointerType):
            return affine(facts.stride * value.type.element.size_bytes)
        return affine(facts.stride)

    def level(self, *values: ir.Value) -> Shape:
        """Return the least regular uniform shape of ``values``, or VARYING if one is not uniform."""
        kind = max((self[value].kind for value in values), default=Kind.BLOCK)
        return Shape(kind) if kind <= Kind.WARP else VARYING

    def constant(self, value: ir.Value) -> int | None:
        """Return the one value that an integer or Bool can have, where it is known."""
        return self._uniformity.facts(value).constant

    def exact(self, value: ir.Value) -> bool:
        """Return whether no active lane of a value with a lane form has wrapped."""
        return self._uniformity.facts(value).exact

    def divergent(self, node: ir.For) -> bool:
        """Return whether lanes of one warp may run different numbers of turns."""
        return self._uniformity.flow(node) > Level.WARP_UNIFORM
