"""Which function emits which node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from darter.codegen.cpu import arithmetic, atomics, branches, comparison, loops, memory, messages, threads, warp
from darter.codegen.cpu.context import Context
from darter.errors import CodegenError
from darter.ir import nodes as ir


def _barrier(context: Context, node: ir.Barrier) -> None:
    """A barrier that is met here stands in a kernel of one warp, which is in step with itself."""


EMITTERS: dict[type[ir.Node], Callable[[Context, Any], None]] = {
    ir.Const: arithmetic.emit_const,
    ir.Unary: arithmetic.emit_unary,
    ir.Binary: arithmetic.emit_binary,
    ir.Compare: comparison.emit_compare,
    ir.Select: arithmetic.emit_select,
    ir.Cast: arithmetic.emit_cast,
    ir.Bitcast: arithmetic.emit_bitcast,
    ir.Fma: arithmetic.emit_fma,
    ir.Math: arithmetic.emit_math,
    ir.ReadIndex: threads.emit_read_index,
    ir.Offset: memory.emit_offset,
    ir.PointerCast: memory.emit_pointer_cast,
    ir.Load: memory.emit_load,
    ir.Store: memory.emit_store,
    ir.SharedAlloc: memory.emit_shared_alloc,
    ir.DynamicShared: memory.emit_dynamic_shared,
    ir.Atomic: atomics.emit_atomic,
    ir.Shuffle: warp.emit_shuffle,
    ir.Vote: warp.emit_vote,
    ir.Assert: messages.emit_assert,
    ir.Print: messages.emit_print,
    ir.If: branches.emit_if,
    ir.For: loops.emit_for,
    ir.While: loops.emit_while,
    ir.Barrier: _barrier,
}


def emit_nodes(context: Context, nodes: Sequence[ir.Node]) -> None:
    """Emit ``nodes`` in order for the lanes that are on; raises ``CodegenError`` for a node that no kernel may hold."""
    for node in nodes:
        emitter = EMITTERS.get(type(node))
        if emitter is None:
            raise CodegenError(f"{type(node).__name__} is no node of a kernel")
        emitter(context, node)
