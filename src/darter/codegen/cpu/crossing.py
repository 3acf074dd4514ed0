"""Where code is cut: runs of nodes between barriers, and which values are read outside of the run that makes them."""

from __future__ import annotations

from collections.abc import Sequence

from darter.codegen.cpu.shapes import Kind, Shapes
from darter.ir import nodes as ir
from darter.ir.operands import operands_of, results_of, walk

_CONTROL = -1

Piece = tuple[list[ir.Node], ir.Node | None]


def has_barrier(block: ir.Block) -> bool:
    """Return whether a barrier stands anywhere in ``block``."""
    return any(isinstance(node, ir.Barrier) for node in walk(block))


def pieces(block: ir.Block) -> list[Piece]:
    """Cut ``block`` into runs without a barrier, each with what ends it (None at the end of the block)."""
    found: list[Piece] = []
    run: list[ir.Node] = []
    for node in block.nodes:
        if isinstance(node, ir.Barrier) or any(has_barrier(child) for child in ir.children(node)):
            found.append((run, node))
            run = []
        else:
            run.append(node)
    found.append((run, None))
    return found


def reads(nodes: Sequence[ir.Node]) -> dict[ir.Value, None]:
    """Return, in order, what ``nodes`` and the blocks inside them read and do not define inside of those blocks."""
    read: dict[ir.Value, None] = {}
    defined: set[ir.Value] = set()
    pending = list(reversed(nodes))
    while pending:
        node = pending.pop()
        read.update(dict.fromkeys(operands_of(node)))
        for child in ir.children(node):
            defined.update(child.arguments)
            read.update(dict.fromkeys(child.yields))
            for inner in child.nodes:
                defined.update(results_of(inner))
                pending.append(inner)
    return {value: None for value in read if value not in defined}


class Crossing:
    """The values of a kernel that are read outside of the run that makes them."""

    def __init__(self, kernel: ir.Kernel, shapes: Shapes) -> None:
        self._shapes = shapes
        self._made: dict[ir.Value, int] = {}
        self._read: dict[ir.Value, set[int]] = {}
        self._runs = 0
        self._block(kernel.body, ())
        self.values = {value for value, run in self._made.items() if self._read.get(value, set()) - {run}}

    def _block(self, block: ir.Block, left: Sequence[ir.Value]) -> None:
        """Note the runs of ``block``; the last one leaves ``left`` behind."""
        for run, node in pieces(block):
            match node:
                case ir.For() | ir.While():
                    moved: Sequence[ir.Value] = node.initial
                case None:
                    moved = left
                case _:
                    moved = ()
            self._run(run, moved)
            self._around(node)

    def _run(self, nodes: Sequence[ir.Node], moved: Sequence[ir.Value]) -> None:
        self._runs += 1
        for node in nodes:
            for result in results_of(node):
                self._made[result] = self._runs
        for value in reads(nodes):
            self._read.setdefault(value, set()).add(self._runs)
        for value in moved:
            control = self._shapes[value].kind is Kind.BLOCK
            self._read.setdefault(value, set()).add(_CONTROL if control else self._runs)

    def _around(self, node: ir.Node | None) -> None:
        match node:
            case ir.If():
                self._control(node.condition)
                self._block(node.then, node.then.yields)
                self._block(node.orelse, node.orelse.yields)
            case ir.For():
                self._control(node.lower, node.upper, node.step)
                self._block(node.body, node.body.yields)
            case ir.While():
                self._block(node.test, ())
                self._control(*node.test.yields)
                self._block(node.body, node.body.yields)
            case _:
                pass

    def _control(self, *values: ir.Value) -> None:
        for value in values:
            self._read.setdefault(value, set()).add(_CONTROL)
