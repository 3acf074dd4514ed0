"""The interpreter runs kernels on real memory and reports races, uninitialised reads and accesses out of bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from darter.dtypes import Bool, f16, f32, i32, i64, u8, u64
from darter.ir import nodes as n
from darter.ir.interpreter import run_kernel
from darter.ir.report import Check, Extent, Report
from darter.ir.verify import verify_kernel
from tests.ir_builder import Builder, pointer_type

Build = Callable[..., object]


def run(
    build: Build,
    arrays: Sequence[np.ndarray],
    types: Sequence[n.Type],
    *,
    block: tuple[int, int, int] = (64, 1, 1),
    grid: tuple[int, int, int] = (1, 1, 1),
    shared_bytes: int = 0,
    bounded: bool = True,
    warp_size: int = 32,
    seed: int = 0,
) -> Report:
    b = Builder()
    parameters = tuple(n.Value(type) for type in types)
    build(b, *parameters)
    kernel = n.Kernel("k", parameters, b.block, block, warp_size)
    verify_kernel(kernel)
    extents = [Extent(a.ctypes.data, a.nbytes, f"a{i}") for i, a in enumerate(arrays)] if bounded else []
    words = [array.ctypes.data for array in arrays]
    return run_kernel(kernel, words, grid, shared_bytes, extents=extents, seed=seed)


def kinds(report: Report) -> list[Check]:
    return [finding.kind for finding in report.findings]


F32 = pointer_type(f32)
I32 = pointer_type(i32)


def test_a_grid_of_blocks_adds_one() -> None:
    x, out = np.arange(300, dtype=np.float32), np.zeros(300, np.float32)

    def build(b: Builder, x: n.Value, out: n.Value) -> None:
        i = b.add(b.mul(b.index(n.Index.BLOCK_IDX), b.const(i64, 64)), b.cast(i64, b.index(n.Index.THREAD_IDX)))
        inside = b.compare(n.CompareOp.LT, i, b.const(i64, 300))
        b.if_(inside, lambda: b.store(out, i, b.add(b.load(x, i), b.const(f32, 1.0))))

    report = run(build, [x, out], [F32, F32], grid=(5, 1, 1))
    assert report.findings == []
    np.testing.assert_array_equal(out, x + 1)


def test_three_dimensional_blocks_and_grids() -> None:
    out = np.zeros((2, 3, 2, 4), np.int32)  # block y, block x, thread y, thread x

    def build(b: Builder, out: n.Value) -> None:
        tx, ty = b.index(n.Index.THREAD_IDX, 0), b.index(n.Index.THREAD_IDX, 1)
        bx, by = (b.cast(i32, b.index(n.Index.BLOCK_IDX, axis)) for axis in (0, 1))
        place = b.add(
            b.mul(b.add(b.mul(by, b.const(i32, 3)), bx), b.const(i32, 8)), b.add(b.mul(ty, b.const(i32, 4)), tx)
        )
        digits = b.add(
            b.mul(bx, b.const(i32, 100)), b.add(b.mul(by, b.const(i32, 1000)), b.add(b.mul(ty, b.const(i32, 10)), tx))
        )
        b.store(out, place, digits)

    assert run(build, [out], [I32], block=(4, 2, 1), grid=(3, 2, 1)).findings == []
    by, bx, ty, tx = np.indices(out.shape)
    np.testing.assert_array_equal(out, 1000 * by + 100 * bx + 10 * ty + tx)


def test_divergent_loops_keep_what_each_thread_carried() -> None:
    out = np.zeros(64, np.int32)

    def build(b: Builder, out: n.Value) -> None:
        tid, zero, one = b.index(n.Index.THREAD_IDX), b.const(i32, 0), b.const(i32, 1)
        (total,) = b.for_(zero, tid, one, [zero], lambda k, total: [b.add(total, k)])
        (halved,) = b.while_(
            [total],
            lambda v: b.compare(n.CompareOp.GT, v, b.const(i32, 50)),
            lambda v: [b.binary(n.BinaryOp.FLOORDIV, v, b.const(i32, 2))],
        )
        b.store(out, tid, halved)

    assert run(build, [out], [I32]).findings == []
    expected = []
    for thread in range(64):
        value = sum(range(thread))
        while value > 50:
            value //= 2
        expected.append(value)
    assert out.tolist() == expected


def test_a_loop_index_stops_at_the_end_of_its_type() -> None:
    out = np.zeros(1, np.int32)

    def build(b: Builder, out: n.Value) -> None:
        start, end, step = (b.const(u8, value) for value in (250, 255, 3))
        zero = b.const(i32, 0)
        (count,) = b.for_(start, end, step, [zero], lambda k, count: [b.add(count, b.const(i32, 1))])
        b.store(out, zero, count)

    run(build, [out], [I32], block=(1, 1, 1))
    assert out[0] == len(range(250, 255, 3))


def _reverse(b: Builder, out: n.Value, *, barrier: bool) -> None:
    tid = b.index(n.Index.THREAD_IDX)
    shared = b.shared(i32, 64)
    b.store(shared, tid, tid)
    if barrier:
        b.barrier()
    b.store(out, tid, b.load(shared, b.binary(n.BinaryOp.SUB, b.const(i32, 63), tid)))


def test_shared_memory_with_a_barrier_reverses() -> None:
    out = np.zeros(64, np.int32)
    report = run(lambda b, out: _reverse(b, out, barrier=True), [out], [I32])
    assert report.findings == []
    assert out.tolist() == list(range(63, -1, -1))


def test_shared_memory_without_the_barrier_is_a_race() -> None:
    out = np.zeros(64, np.int32)
    report = run(lambda b, out: _reverse(b, out, barrier=False), [out], [I32])
    assert kinds(report) == [Check.RACES]
    assert "in the same barrier interval" in str(report.findings[0])


def test_threads_that_write_one_global_place_race() -> None:
    out = np.zeros(1, np.int32)
    report = run(lambda b, out: b.store(out, b.const(i32, 0), b.index(n.Index.THREAD_IDX)), [out], [I32])
    assert kinds(report) == [Check.RACES]


def test_the_last_writer_of_a_race_depends_on_the_seed() -> None:
    out = np.zeros(1, np.int32)
    winners = set()
    for seed in range(20):
        run(lambda b, out: b.store(out, b.const(i32, 0), b.index(n.Index.THREAD_IDX)), [out], [I32], seed=seed)
        winners.add(int(out[0]))
    assert winners == {31, 63}


def test_atomics_do_not_race_with_each_other_but_with_plain_reads() -> None:
    out = np.zeros(1, np.int32)

    def add(b: Builder, out: n.Value) -> None:
        b.atomic(n.AtomicOp.ADD, out, b.const(i32, 0), b.index(n.Index.THREAD_IDX))

    assert run(add, [out], [I32]).findings == []
    assert out[0] == sum(range(64))

    def add_and_read(b: Builder, out: n.Value) -> None:
        add(b, out)
        b.load(out, b.const(i32, 0))

    assert kinds(run(add_and_read, [out], [I32])) == [Check.RACES]


@pytest.mark.parametrize(
    ("op", "expected"), [("exchange", {31, 63}), ("cas", {1}), ("max", {63}), ("min", {0}), ("or", {63})]
)
def test_atomics(op: str, expected: set[int]) -> None:
    out = np.zeros(1, np.int32)

    def build(b: Builder, out: n.Value) -> None:
        zero, tid = b.const(i32, 0), b.index(n.Index.THREAD_IDX)
        cas = op == "cas"
        b.atomic(n.AtomicOp(op), out, zero, b.const(i32, 1) if cas else tid, zero if cas else None)

    assert run(build, [out], [I32]).findings == []
    assert int(out[0]) in expected


def test_reading_shared_memory_that_nobody_wrote_is_reported() -> None:
    out = np.zeros(64, np.int32)

    def build(b: Builder, out: n.Value) -> None:
        tid = b.index(n.Index.THREAD_IDX)
        shared = b.shared(i32, 64)
        half = b.compare(n.CompareOp.LT, tid, b.const(i32, 40))
        b.if_(half, lambda: b.store(shared, tid, tid))
        b.barrier()
        b.store(out, tid, b.load(shared, tid))

    report = run(build, [out], [I32])
    assert kinds(report) == [Check.UNINITIALISED]
    assert report.findings[0].thread == 40


def test_accesses_out_of_bounds_are_reported_and_not_done() -> None:
    memory = np.arange(80, dtype=np.int32)
    out = memory[:60]

    def build(b: Builder, out: n.Value) -> None:
        tid = b.index(n.Index.THREAD_IDX)
        b.store(out, tid, b.add(b.load(out, tid), b.const(i32, 100)))

    report = run(build, [out], [I32])
    assert kinds(report) == [Check.BOUNDS, Check.BOUNDS]
    assert report.findings[0].thread == 60
    assert memory.tolist() == [*range(100, 160), *range(60, 80)]


def test_shared_allocations_do_not_run_into_each_other() -> None:
    def build(b: Builder) -> None:
        first, second = b.shared(i32, 3), b.shared(i32, 3)
        tid = b.index(n.Index.THREAD_IDX)
        alone = b.compare(n.CompareOp.EQ, tid, b.const(i32, 0))

        def overrun() -> None:
            for line, pointer in enumerate((first, second)):
                b.loc = n.Loc(0, line, 0, line, 1)
                b.store(pointer, b.const(i32, 3), tid)

        b.if_(alone, overrun)

    assert kinds(run(build, [], [])) == [Check.BOUNDS, Check.BOUNDS]


def test_dynamic_shared_memory_has_the_size_of_the_launch() -> None:
    def build(b: Builder) -> None:
        tid = b.index(n.Index.THREAD_IDX)
        b.store(b.dynamic_shared(f16), tid, b.const(f16, 1.0))

    assert run(build, [], [], shared_bytes=128).findings == []
    assert kinds(run(build, [], [], shared_bytes=126)) == [Check.BOUNDS]


def test_a_broken_promise_of_alignment_is_reported() -> None:
    x = np.zeros(66, np.float32)
    x = x[(-x.ctypes.data // 4) % 4 + 1 :][:4]

    def build(b: Builder, x: n.Value) -> None:
        b.load_vector(x, b.const(i32, 0), 4, align_bytes=16)

    report = run(build, [x], [F32], block=(1, 1, 1))
    assert kinds(report) == [Check.BOUNDS]
    assert "multiple of 16" in report.findings[0].text


@pytest.mark.parametrize("warp_size", [32, 64])
def test_shuffles(warp_size: int) -> None:
    out = np.zeros((4, 64), np.int32)
    amounts = {n.ShuffleMode.INDEX: 5, n.ShuffleMode.XOR: 3, n.ShuffleMode.UP: 2, n.ShuffleMode.DOWN: 4}

    def build(b: Builder, out: n.Value) -> None:
        tid = b.index(n.Index.THREAD_IDX)
        for row, (mode, amount) in enumerate(amounts.items()):
            moved = b.shuffle(mode, tid, b.const(i32, amount))
            b.store(out, b.add(tid, b.const(i32, 64 * row)), moved)

    assert run(build, [out], [I32], warp_size=warp_size).findings == []
    lane, base = np.arange(64) % warp_size, np.arange(64) // warp_size * warp_size
    np.testing.assert_array_equal(out[0], base + 5)
    np.testing.assert_array_equal(out[1], base + (lane ^ 3))
    np.testing.assert_array_equal(out[2], base + np.where(lane < 2, lane, lane - 2))
    np.testing.assert_array_equal(out[3], base + np.where(lane + 4 >= warp_size, lane, lane + 4))


def test_votes_count_the_lanes_that_the_block_has() -> None:
    ballots, flags = np.zeros(40, np.uint64), np.zeros(80, np.bool_)

    def build(b: Builder, ballots: n.Value, flags: n.Value) -> None:
        tid = b.index(n.Index.THREAD_IDX)
        holds = b.compare(n.CompareOp.GE, tid, b.const(i32, 30))
        b.store(ballots, tid, b.vote(n.VoteMode.BALLOT, holds))
        b.store(flags, tid, b.vote(n.VoteMode.ANY, holds))
        b.store(flags, b.add(tid, b.const(i32, 40)), b.vote(n.VoteMode.ALL, holds))

    types = [pointer_type(u64), pointer_type(Bool)]
    assert run(build, [ballots, flags], types, block=(40, 1, 1)).findings == []
    assert set(ballots[:32].tolist()) == {0b11 << 30}
    assert set(ballots[32:].tolist()) == {0xFF}
    assert flags[:40].all()
    assert flags[40:].tolist() == [False] * 32 + [True] * 8


def test_asserts_and_prints_are_messages() -> None:
    def build(b: Builder) -> None:
        tid = b.index(n.Index.THREAD_IDX)
        b.append(n.Assert(b.compare(n.CompareOp.LT, tid, b.const(i32, 2)), "{} is too far", (tid,)))
        b.append(n.Print(("thread ", " says ", ""), (tid, b.const(f16, 0.5))))

    messages = run(build, [], [], block=(3, 1, 1)).messages
    assert [message.text for message in messages] == [
        "2 is too far",
        "thread 0 says 0.5",
        "thread 1 says 0.5",
        "thread 2 says 0.5",
    ]


def test_the_number_of_words_must_fit() -> None:
    kernel = n.Kernel("k", (n.Value(i32),), n.Block(), (1, 1, 1), 32)
    with pytest.raises(ValueError, match="takes 1 parameters, 2 were given"):
        run_kernel(kernel, [1, 2], (1, 1, 1))
