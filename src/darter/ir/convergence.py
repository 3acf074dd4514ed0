"""Barriers and warp operations must be reached together; what stands in their way is named with both source lines.

A barrier needs block-uniform conditions and trip counts around it, a shuffle or vote warp-uniform ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from darter.errors import KernelTypeError
from darter.ir import nodes as n
from darter.ir.facts import Level
from darter.ir.operands import walk
from darter.ir.uniformity import Uniformity, analyze

Describe = Callable[[n.Loc], str]
"""Turns a position into lines for people: file, line and column, the source and a caret, as far as the caller can."""


def describe_in(functions: Sequence[n.FunctionName]) -> Describe:
    """Return a ``Describe`` that knows function names only: lines are counted from ``def``, which is line 1."""

    def describe(loc: n.Loc) -> str:
        if not 0 <= loc.function < len(functions):
            return "  at an unknown place"
        row = functions[loc.function]
        return f"  at line {loc.line + 1} of {row.module}.{row.qualname}"

    return describe


def check_convergence(kernel: n.Kernel, describe: Describe) -> None:
    """Refuse a kernel in which only some threads reach a barrier or a warp operation.

    Raises:
        KernelTypeError: names the operation's line and that of the condition, loop or early exit.
    """
    if any(isinstance(node, n.Barrier | n.Shuffle | n.Vote) for node in walk(kernel.body)):
        _Needs(analyze(kernel), describe).block(kernel.body, ())


_Around = tuple[tuple[n.Node, Level], ...]


class _Needs:
    def __init__(self, uniformity: Uniformity, describe: Describe) -> None:
        self._uniformity = uniformity
        self._describe = describe

    def block(self, block: n.Block, around: _Around) -> None:
        for node in block.nodes:
            match node:
                case n.Barrier():
                    self._check(node, "barrier()", "block", Level.BLOCK_UNIFORM, around)
                case n.Shuffle():
                    self._check(node, "a warp shuffle", "warp", Level.WARP_UNIFORM, around)
                case n.Vote():
                    self._check(node, "a warp vote", "warp", Level.WARP_UNIFORM, around)
                case n.If() | n.For() | n.While():
                    inside = (*around, (node, self._uniformity.flow(node)))
                    for child in n.children(node):
                        self.block(child, inside)

    def _check(self, node: n.Node, what: str, group: str, needed: Level, around: _Around) -> None:
        for outer, level in around:
            if level > needed:
                raise KernelTypeError(self._message(node, what, group, outer))

    def _message(self, node: n.Node, what: str, group: str, outer: n.Node) -> str:
        if isinstance(outer, n.If) and outer.why:
            cause, there = "some threads have left before it", f"left by the {outer.why}, under this condition"
        else:
            kind = {n.If: "condition", n.While: "loop condition", n.For: "trip count"}[type(outer)]
            cause, there = f"it stands under a {kind} that differs between threads", f"under this {kind}"
        return (
            f"{what} must be reached by all threads of the {group}, but {cause}; move it out, or let what decides "
            f"be the same for the whole {group}\n{self._describe(node.loc)}\n{there}:\n{self._describe(outer.loc)}"
        )
