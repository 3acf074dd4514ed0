"""The LLVM text of a few kernels, word for word; ``python -m tests.golden.test_llvm_text`` writes it."""

from __future__ import annotations

import pathlib

import pytest

from darter.codegen.cpu import llvm_text
from darter.dtypes import f32, i32, i64
from darter.ir import nodes as ir
from darter.target import Target
from tests.ir_builder import Builder, pointer_type

_GOLDEN = pathlib.Path(__file__).with_name("llvm_text.txt")
_TARGET = Target("cpu", "x86-64-v4", "", 32)


def guarded_add() -> ir.Kernel:
    """A guard at the end: whole warps without a mask, the last one with."""
    b = Builder()
    x, y, out = (ir.Value(pointer_type(f32), name) for name in ("x", "y", "out"))
    n = ir.Value(i64, "n")
    i = b.add(b.mul(b.index(ir.Index.BLOCK_IDX), b.const(i64, 64)), b.cast(i64, b.index(ir.Index.THREAD_IDX)))
    b.if_(b.compare(ir.CompareOp.LT, i, n), lambda: b.store(out, i, b.add(b.load(x, i), b.load(y, i))))
    return ir.Kernel("guarded_add", (x, y, out, n), b.block, (64, 1, 1), 32)


def row_sum() -> ir.Kernel:
    """A loop from the lane on, a warp reduction, one lane that stores."""
    b = Builder()
    x, out, n = ir.Value(pointer_type(f32), "x"), ir.Value(pointer_type(f32), "out"), ir.Value(i32, "n")
    tid = b.index(ir.Index.THREAD_IDX)
    (total,) = b.for_(tid, n, b.const(i32, 32), (b.const(f32, 0.0),), lambda k, total: (b.add(total, b.load(x, k)),))
    for distance in (16, 8, 4, 2, 1):
        total = b.add(total, b.shuffle(ir.ShuffleMode.XOR, total, b.const(i32, distance)))
    first = b.compare(ir.CompareOp.EQ, tid, b.const(i32, 0))
    b.if_(first, lambda: b.store(out, b.const(i32, 0), total))
    return ir.Kernel("row_sum", (x, out, n), b.block, (32, 1, 1), 32)


def reverse() -> ir.Kernel:
    """A barrier between two regions, and a value that crosses it."""
    b = Builder()
    x, out = ir.Value(pointer_type(i32), "x"), ir.Value(pointer_type(i32), "out")
    shared, tid = b.shared(i32, 64), b.index(ir.Index.THREAD_IDX)
    value = b.load(x, tid)
    b.store(shared, tid, value)
    b.barrier()
    other = b.load(shared, b.binary(ir.BinaryOp.SUB, b.const(i32, 63), tid))
    b.store(out, tid, b.add(value, other))
    return ir.Kernel("reverse", (x, out), b.block, (64, 1, 1), 32)


_KERNELS = (guarded_add, row_sum, reverse)


@pytest.mark.parametrize("kernel", _KERNELS, ids=lambda kernel: kernel.__name__)
def test_llvm_text(kernel):
    parts = dict(part.split("\n", 1) for part in _GOLDEN.read_text().split("== ")[1:])
    assert llvm_text([kernel()], _TARGET) == parts[kernel.__name__].rstrip() + "\n"


if __name__ == "__main__":
    _GOLDEN.write_text("\n".join(f"== {kernel.__name__}\n{llvm_text([kernel()], _TARGET)}" for kernel in _KERNELS))
