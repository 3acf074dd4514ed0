"""Threads together: barriers, shared memory, shuffles, votes, atomics, and what is said to the host."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from darter.dtypes import ScalarType, f32, f64, i32, u32
from darter.ir import nodes as ir
from tests.ir_builder import Builder, pointer_type
from tests.property.compiled import CompiledKernels
from tests.unit.codegen.cpu.harness import Compiled

Op, Cmp = ir.BinaryOp, ir.CompareOp


def global_(dtype: ScalarType, name: str) -> ir.Value:
    return ir.Value(pointer_type(dtype), name)


@pytest.mark.parametrize(("threads", "warp"), [(16, 32), (100, 32), (256, 32), (256, 64)])
def test_scan_with_barriers_in_a_loop(threads: int, warp: int) -> None:
    b = Builder()
    x, out = global_(i32, "x"), global_(i32, "out")
    shared, tid = b.shared(i32, threads), b.index(ir.Index.THREAD_IDX)
    one = b.const(i32, 1)

    def turn(_: ir.Value, value: ir.Value, step: ir.Value) -> tuple[ir.Value, ir.Value]:
        b.store(shared, tid, value)
        b.barrier()
        reaches = b.compare(Cmp.GE, tid, step)
        (total,) = b.if_(
            reaches,
            lambda: (b.add(value, b.load(shared, b.binary(Op.SUB, tid, step))),),
            lambda: (value,),
        )
        b.barrier()
        return total, b.add(step, step)

    total, _ = b.for_(b.const(i32, 0), b.const(i32, 8), one, (b.load(x, tid), one), turn)
    b.store(out, tid, total)
    scan = Compiled(ir.Kernel("scan", (x, out), b.block, (threads, 1, 1), warp))
    source = np.random.default_rng(0).integers(-100, 100, threads).astype(np.int32)
    found = np.zeros_like(source)
    scan([1], source, found)
    np.testing.assert_array_equal(found, source.cumsum())


def test_uniform_branches_around_barriers_carry_values_of_each_warp() -> None:
    b = Builder()
    out, n = global_(i32, "out"), ir.Value(i32, "n")
    shared, tid = b.shared(i32, 96), b.index(ir.Index.THREAD_IDX)
    mirrored = b.binary(Op.SUB, b.const(i32, 95), tid)

    def exchange() -> tuple[ir.Value, ...]:
        b.store(shared, tid, b.mul(tid, tid))
        b.barrier()
        return (b.load(shared, mirrored),)

    (value,) = b.if_(b.compare(Cmp.GT, n, b.const(i32, 0)), exchange, lambda: (tid,))
    b.barrier()
    b.store(out, tid, value)
    kernel = Compiled(ir.Kernel("branch", (out, n), b.block, (96, 1, 1), 32))
    found = np.zeros(96, np.int32)
    kernel([1], found, 1)
    np.testing.assert_array_equal(found, (95 - np.arange(96)) ** 2)
    kernel([1], found, 0)
    np.testing.assert_array_equal(found, np.arange(96))


def test_dynamic_shared_memory_follows_the_static() -> None:
    b = Builder()
    out = global_(i32, "out")
    fixed, moving, tid = b.shared(i32, 3), b.dynamic_shared(i32), b.index(ir.Index.THREAD_IDX)
    b.store(moving, tid, b.mul(tid, b.const(i32, 2)))
    b.if_(b.compare(Cmp.LT, tid, b.const(i32, 3)), lambda: b.store(fixed, tid, b.const(i32, -1)))
    b.barrier()
    b.store(out, tid, b.load(moving, b.binary(Op.XOR, tid, b.const(i32, 33))))
    kernel = Compiled(ir.Kernel("dynamic", (out,), b.block, (64, 1, 1), 32))
    assert kernel.entry.uses_dynamic_shared
    assert kernel.entry.shared_bytes == 12
    assert kernel.entry.scratch_bytes % 64 == 0
    found = np.zeros(64, np.int32)
    kernel([1], found, shared=64 * 4)
    np.testing.assert_array_equal(found, (np.arange(64) ^ 33) * 2)


@pytest.mark.parametrize("dtype", [i32, f64], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("mode", list(ir.ShuffleMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("known", [True, False], ids=["constant", "variable"])
@pytest.mark.parametrize("threads", [32, 50])
def test_shuffles(dtype: ScalarType, mode: ir.ShuffleMode, known: bool, threads: int) -> None:
    b = Builder()
    x, lanes, out = global_(dtype, "x"), global_(i32, "lanes"), global_(dtype, "out")
    tid = b.index(ir.Index.THREAD_IDX)
    lane = b.const(i32, 5) if known else b.load(lanes, tid)
    b.store(out, tid, b.shuffle(mode, b.load(x, tid), lane))
    kernel = Compiled(ir.Kernel("shuffle", (x, lanes, out), b.block, (threads, 1, 1), 32))
    source = np.random.default_rng(3).integers(-1000, 1000, threads).astype(dtype.numpy())
    wanted = np.full(threads, 5) if known else np.random.default_rng(4).integers(-3, 36, threads)
    found = np.zeros_like(source)
    kernel([1], source, wanted.astype(np.int32), found)
    own = np.arange(threads) % 32
    read = {"index": wanted % 32, "xor": own ^ wanted, "up": own - wanted, "down": own + wanted}[mode.value]
    thread = np.arange(threads) - own + read
    valid = (read >= 0) & (read < 32) & (thread < threads)
    np.testing.assert_array_equal(found, source[np.where(valid, thread, np.arange(threads))])


def test_votes_count_the_lanes_that_exist() -> None:
    b = Builder()
    x, any_, all_ = global_(i32, "x"), global_(i32, "any"), global_(i32, "all")
    ballot = global_(ir.Value(i32).dtype, "ballot")
    tid = b.index(ir.Index.THREAD_IDX)
    odd = b.compare(Cmp.NE, b.binary(Op.AND, b.load(x, tid), b.const(i32, 1)), b.const(i32, 0))
    b.store(any_, tid, b.cast(i32, b.vote(ir.VoteMode.ANY, odd)))
    b.store(all_, tid, b.cast(i32, b.vote(ir.VoteMode.ALL, odd)))
    b.store(ballot, tid, b.cast(i32, b.vote(ir.VoteMode.BALLOT, odd)))
    kernel = Compiled(ir.Kernel("votes", (x, any_, all_, ballot), b.block, (40, 1, 1), 32))
    source = np.concatenate([np.arange(32), np.full(8, 3)]).astype(np.int32)
    found = [np.zeros(40, np.int32) for _ in range(3)]
    kernel([1], source, *found)
    first = np.arange(40) < 32
    np.testing.assert_array_equal(found[0], 1)
    np.testing.assert_array_equal(found[1], ~first)
    np.testing.assert_array_equal(found[2].view(np.uint32), np.where(first, 0xAAAAAAAA, 0xFF))


ATOMICS = [
    (ir.AtomicOp.ADD, i32, lambda x: x.sum()),
    (ir.AtomicOp.ADD, f32, lambda x: x.sum()),
    (ir.AtomicOp.MAX, i32, lambda x: x.max()),
    (ir.AtomicOp.MIN, f64, lambda x: x.min()),
    (ir.AtomicOp.MAX, u32, lambda x: x.max()),
    (ir.AtomicOp.XOR, u32, np.bitwise_xor.reduce),
]


@pytest.mark.parametrize("scope", [ir.Scope.BLOCK, ir.Scope.DEVICE], ids=lambda scope: scope.value)
@pytest.mark.parametrize(("op", "dtype", "reduce"), ATOMICS, ids=lambda value: getattr(value, "name", None))
def test_atomics_of_active_lanes(op: ir.AtomicOp, dtype: ScalarType, reduce, scope: ir.Scope) -> None:
    b = Builder()
    x, out, n = global_(dtype, "x"), global_(dtype, "out"), ir.Value(i32, "n")
    tid = b.index(ir.Index.THREAD_IDX)

    def update() -> None:
        b.atomic(op, out, b.const(i32, 0), b.load(x, tid), scope=scope)

    b.if_(b.compare(Cmp.LT, tid, n), update)
    kernel = Compiled(ir.Kernel("atomic", (x, out, n), b.block, (64, 1, 1), 32))
    source = np.random.default_rng(5).integers(0, 1000, 64).astype(dtype.numpy())
    found = source[:1].copy()
    kernel([1], source[1:], found, 50)
    assert found[0] == reduce(source[:51])


def test_compare_and_swap_returns_what_stood_there() -> None:
    b = Builder()
    place, before = global_(i32, "place"), global_(i32, "before")
    tid = b.index(ir.Index.THREAD_IDX)
    old = b.atomic(ir.AtomicOp.CAS, place, b.const(i32, 0), b.add(tid, b.const(i32, 1)), expected=tid)
    b.store(before, tid, old)
    kernel = Compiled(ir.Kernel("cas", (place, before), b.block, (32, 1, 1), 32))
    counter, found = np.zeros(1, np.int32), np.zeros(32, np.int32)
    kernel([1], counter, found)
    assert counter[0] == 32
    np.testing.assert_array_equal(found, np.arange(32))


def test_asserts_and_prints_tell_the_host_who_and_what(tmp_path: Path) -> None:
    b = Builder()
    x = global_(f32, "x")
    tid = b.index(ir.Index.THREAD_IDX)
    value = b.load(x, tid)
    fine = b.compare(Cmp.LT, value, b.const(f32, 35.0))
    b.append(ir.Assert(fine, "value {} too large", (value,)))
    last = b.compare(Cmp.EQ, tid, b.const(i32, 39))
    b.if_(last, lambda: b.append(ir.Print(("tid ", ""), (tid,))))
    kernels = CompiledKernels([ir.Kernel("said", (x,), b.block, (40, 1, 1), 32)], tmp_path)
    said, printed = kernels.entries[0].messages
    assert (said.is_assert, said.pieces, said.operand_dtypes) == (True, ("value ", " too large"), (f32.code,))
    assert (printed.is_assert, printed.pieces, printed.operand_dtypes) == (False, ("tid ", ""), (i32.code,))
    source = np.arange(40, dtype=np.float32)
    rows = kernels.run(0, [source.ctypes.data], (2, 1, 1), 0)
    found = {(row.index, row.block, row.thread, row.operands[0]) for row in rows}
    bits = {lane: int(np.float32(lane).view(np.uint32)) for lane in range(35, 40)}
    expected = {(0, block, lane, bits[lane]) for block in range(2) for lane in bits}
    assert found == expected | {(1, block, 39, 39) for block in range(2)}
