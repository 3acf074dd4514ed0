"""Malformed IR is refused as darter's defect, a divergent barrier as the user's, with both lines."""

from __future__ import annotations

import re

import pytest

from darter.dtypes import Bool, e4m3fn, f32, i32, i64, u64
from darter.errors import CodegenError, KernelTypeError
from darter.ir import nodes as n
from darter.ir.verify import verify, verify_kernel
from tests.ir_builder import Builder, pointer_type


def kernel(builder: Builder, *parameters: n.Value, block: tuple[int, int, int] = (64, 1, 1)) -> n.Kernel:
    return n.Kernel("k", parameters, builder.block, block, 32)


def describe(loc: n.Loc) -> str:
    return f"file.py:{loc.line}"


def at(line: int) -> n.Loc:
    return n.Loc(0, line, 0, line, 1)


def _add_of_two_types(b: Builder) -> None:
    b.append(n.Binary(n.Value(i32), n.BinaryOp.ADD, b.const(i32, 1), b.const(i64, 1)))


def _used_outside_its_block(b: Builder) -> None:
    inside: list[n.Value] = []
    b.if_(b.const(Bool, True), lambda: inside.append(b.const(i32, 1)))
    b.unary(n.UnaryOp.NEG, inside[0])


def _defined_twice(b: Builder) -> None:
    value = n.Value(i32)
    b.append(n.Const(value, 1))
    b.append(n.Const(value, 1))


def _shared_in_an_if(b: Builder) -> None:
    b.if_(b.const(Bool, True), lambda: [] if b.shared(f32, 4) else None)


def _cas_without_expected(b: Builder) -> None:
    b.atomic(n.AtomicOp.CAS, b.shared(i32, 1), b.const(i32, 0), b.const(i32, 1))


@pytest.mark.parametrize(
    "build",
    [
        _add_of_two_types,
        _used_outside_its_block,
        _defined_twice,
        _shared_in_an_if,
        _cas_without_expected,
        lambda b: b.const(i32, 1 << 31),
        lambda b: b.const(f32, 1),
        lambda b: b.const(Bool, 1),
        lambda b: b.add(b.const(e4m3fn, 1.0), b.const(e4m3fn, 1.0)),
        lambda b: b.binary(n.BinaryOp.DIV, b.const(i32, 1), b.const(i32, 1)),
        lambda b: b.bitcast(i32, b.const(i64, 1)),
        lambda b: b.load_vector(b.shared(f32, 4), b.const(i32, 0), 3),
        lambda b: b.load(b.shared(f32, 4), b.const(u64, 0)),
        lambda b: b.append(n.For((), b.const(f32, 0.0), b.const(f32, 1.0), b.const(f32, 1.0), (), n.Block())),
        lambda b: b.append(n.Raise("ValueError", ("no",), ())),
        lambda b: b.append(n.ReadIndex(n.Value(i64), n.Index.THREAD_IDX, 0)),
        lambda b: b.if_(b.const(Bool, True), lambda: [b.const(i32, 1)]),
    ],
)
def test_malformed_ir_is_a_defect_of_darter(build) -> None:
    builder = Builder()
    build(builder)
    with pytest.raises(CodegenError):
        verify_kernel(kernel(builder))


@pytest.mark.parametrize("block", [(0, 1, 1), (1025, 1, 1), (32, 32, 2)])
def test_block_limits(block: tuple[int, int, int]) -> None:
    with pytest.raises(CodegenError, match="threads"):
        verify_kernel(kernel(Builder(), block=block))


def test_a_barrier_under_a_divergent_condition_names_both_lines() -> None:
    b = Builder()
    odd = b.compare(n.CompareOp.GT, b.index(n.Index.THREAD_IDX), b.const(i32, 5))

    def inside() -> None:
        b.loc = at(12)
        b.barrier()
        b.loc = at(11)

    b.loc = at(11)
    b.if_(odd, inside)
    message = (
        "barrier() must be reached by all threads of the block, but it stands under a condition that differs between "
        "threads; move it out, or let what decides be the same for the whole block\n"
        "file.py:12\nunder this condition:\nfile.py:11"
    )
    with pytest.raises(KernelTypeError, match=f"^{re.escape(message)}$"):
        verify_kernel(kernel(b), describe)


def test_a_barrier_after_a_divergent_return_names_the_return() -> None:
    b = Builder()
    count = n.Value(i64, "n")
    inside = b.compare(n.CompareOp.LT, b.cast(i64, b.index(n.Index.THREAD_IDX)), count)
    b.if_(inside, b.barrier, why="return in line 7")
    with pytest.raises(KernelTypeError, match=r"(?s)some threads have left before it.*left by the return in line 7"):
        verify_kernel(kernel(b, count))


def test_a_barrier_in_a_loop_with_a_divergent_trip_count() -> None:
    b = Builder()
    b.for_(b.const(i32, 0), b.index(n.Index.THREAD_IDX), b.const(i32, 1), [], lambda k: b.barrier())
    with pytest.raises(KernelTypeError, match="trip count"):
        verify_kernel(kernel(b))


def test_shuffles_and_votes_need_warp_uniform_flow_only() -> None:
    b = Builder()
    warp, tid = b.index(n.Index.WARP_ID), b.index(n.Index.THREAD_IDX)
    first = b.compare(n.CompareOp.EQ, warp, b.const(i32, 0))
    b.if_(first, lambda: [] if b.shuffle(n.ShuffleMode.XOR, tid, b.const(i32, 1)) else None)
    verify_kernel(kernel(b))
    b.if_(first, b.barrier)
    with pytest.raises(KernelTypeError, match=r"barrier\(\)"):
        verify_kernel(kernel(b))
    other = Builder()
    lane = other.index(n.Index.LANE_ID)
    low = other.compare(n.CompareOp.LT, lane, other.const(i32, 7))
    other.if_(low, lambda: [] if other.vote(n.VoteMode.ANY, low) else None)
    with pytest.raises(KernelTypeError, match="a warp vote must be reached by all threads of the warp"):
        verify_kernel(kernel(other))


def test_a_barrier_in_uniform_loops_and_conditions_is_accepted() -> None:
    b = Builder()
    lengths, count = n.Value(pointer_type(i32), "lengths"), n.Value(i64, "n")
    length = b.load(lengths, b.index(n.Index.BLOCK_IDX))

    def body(k: n.Value, width: n.Value) -> list[n.Value]:
        b.barrier()
        return [b.binary(n.BinaryOp.FLOORDIV, width, b.const(i64, 2))]

    b.for_(b.const(i32, 0), length, b.const(i32, 1), [count], body)
    b.while_(
        [count],
        lambda width: b.compare(n.CompareOp.GT, width, b.const(i64, 0)),
        lambda width: body(width, width),
    )
    verify_kernel(kernel(b, lengths, count))


def test_a_launch_matches_its_kernel() -> None:
    out = n.Value(pointer_type(f32), "out")
    inner = n.Kernel("k", (n.Value(pointer_type(f32)),), n.Block(), (32, 1, 1), 32)
    b = Builder()
    one, none = b.const(i64, 1), b.const(i64, 0)
    b.append(n.Launch(0, (out,), (one, one, one), none, n.LaunchOptions()))
    module = n.Module("m", (out,), b.block, [inner], [n.FunctionName("m", "test")])
    verify(module)
    b.append(n.Launch(0, (one,), (one, one, one), none, n.LaunchOptions()))
    with pytest.raises(CodegenError, match="do not match"):
        verify(module)
