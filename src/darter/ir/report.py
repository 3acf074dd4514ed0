"""What the interpreter saw: findings about memory and flow, and what the kernel said by asserts and prints."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from darter.dtypes import ScalarType, f16, f32
from darter.ir import nodes as n

MAX_PER_PLACE = 1
"""Findings of one kind at one place in the code that are kept; the first one tells."""


class Check(enum.Flag):
    """What the interpreter looks for."""

    NONE = 0
    RACES = enum.auto()
    UNINITIALISED = enum.auto()
    BOUNDS = enum.auto()
    FLOW = enum.auto()
    ALL = RACES | UNINITIALISED | BOUNDS | FLOW


@dataclass(frozen=True, slots=True)
class Extent:
    """Memory that a kernel may touch; ``name`` stands in messages."""

    address: int
    size_bytes: int
    name: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One defect of a kernel: what kind, where in its code, the linear block and a thread that it happened in."""

    kind: Check
    loc: n.Loc
    block: int
    thread: int
    text: str

    def __str__(self) -> str:
        return f"{self.text} (block {self.block}, thread {self.thread})"


@dataclass(frozen=True, slots=True)
class Message:
    """A failed assert or a print: the node, the thread that it came from, and the operands as Python numbers."""

    node: n.Assert | n.Print
    block: int
    thread: int
    operands: tuple[bool | int | float, ...]

    @property
    def text(self) -> str:
        """The line to show."""
        pieces = self.node.message.split("{}") if isinstance(self.node, n.Assert) else self.node.pieces
        first, *rest = pieces
        shown = [_shown(value, operand.type) for value, operand in zip(self.operands, self.node.operands, strict=True)]
        return first + "".join(f"{value}{piece}" for value, piece in zip(shown, rest, strict=False))


def _shown(value: bool | int | float, type: n.Type) -> str:
    """Return a number in as few digits as tell it from the others of its type."""
    if isinstance(type, ScalarType) and type in (f16, f32):
        return str(type.numpy().type(value))
    return str(value)


@dataclass(slots=True)
class Report:
    """Everything that one run of a kernel gave besides its writes to memory."""

    findings: list[Finding] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    _counts: dict[tuple[Check, n.Loc, str], int] = field(default_factory=dict)

    def add(self, finding: Finding, about: str = "") -> None:
        """Keep ``finding``, unless its kind was found at its place (and ``about`` the same thing) before."""
        key = (finding.kind, finding.loc, about or finding.text)
        count = self._counts[key] = self._counts.get(key, 0) + 1
        if count <= MAX_PER_PLACE:
            self.findings.append(finding)
