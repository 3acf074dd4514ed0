"""Uniformity and lane forms of single expressions; that they are true of running threads is a property test."""

from __future__ import annotations

import pytest

from darter.dtypes import f32, i32, i64
from darter.ir import nodes as n
from darter.ir.uniformity import Facts, Level, analyze
from tests.ir_builder import Builder, pointer_type

Op = n.BinaryOp


class Scene:
    """A kernel with the usual values at hand."""

    def __init__(self, block: tuple[int, int, int] = (256, 1, 1)) -> None:
        self.b = Builder()
        self.x = n.Value(pointer_type(f32), "x")
        self.n = n.Value(i64, "n")
        self.block = block
        self.tid = self.b.index(n.Index.THREAD_IDX)
        self.tid64 = self.b.cast(i64, self.tid)
        self.block_idx = self.b.index(n.Index.BLOCK_IDX)

    def i32(self, value: int) -> n.Value:
        return self.b.const(i32, value)

    def i64(self, value: int) -> n.Value:
        return self.b.const(i64, value)

    def facts(self, value: n.Value) -> Facts:
        kernel = n.Kernel("k", (self.x, self.n), self.b.block, self.block, 32)
        return analyze(kernel).facts(value)


@pytest.mark.parametrize(
    ("expression", "level"),
    [
        (lambda s: s.i32(3), Level.STATIC),
        (lambda s: s.b.const(f32, 0.5), Level.BLOCK_UNIFORM),
        (lambda s: s.n, Level.BLOCK_UNIFORM),
        (lambda s: s.block_idx, Level.BLOCK_UNIFORM),
        (lambda s: s.b.index(n.Index.WARP_ID), Level.WARP_UNIFORM),
        (lambda s: s.tid, Level.CONTIGUOUS),
        (lambda s: s.b.index(n.Index.LANE_ID), Level.CONTIGUOUS),
        (lambda s: s.b.add(s.b.mul(s.block_idx, s.i64(256)), s.tid64), Level.CONTIGUOUS),
        (lambda s: s.b.mul(s.tid, s.i32(2)), Level.VARYING),
        (lambda s: s.b.binary(Op.FLOORDIV, s.tid, s.i32(32)), Level.WARP_UNIFORM),
        (lambda s: s.b.binary(Op.FLOORDIV, s.tid, s.i32(48)), Level.VARYING),
        (lambda s: s.b.binary(Op.SHR, s.tid, s.i32(6)), Level.WARP_UNIFORM),
        (lambda s: s.b.binary(Op.MOD, s.tid, s.i32(64)), Level.CONTIGUOUS),
        (lambda s: s.b.binary(Op.MOD, s.tid, s.i32(16)), Level.VARYING),
        (lambda s: s.b.binary(Op.AND, s.tid, s.i32(31)), Level.CONTIGUOUS),
        (lambda s: s.b.binary(Op.AND, s.tid, s.i32(-32)), Level.WARP_UNIFORM),
        (lambda s: s.b.compare(n.CompareOp.LT, s.tid, s.i32(128)), Level.WARP_UNIFORM),
        (lambda s: s.b.compare(n.CompareOp.LE, s.tid, s.i32(127)), Level.WARP_UNIFORM),
        (lambda s: s.b.compare(n.CompareOp.GT, s.i32(128), s.tid), Level.WARP_UNIFORM),
        (lambda s: s.b.compare(n.CompareOp.LT, s.tid, s.i32(100)), Level.VARYING),
        (lambda s: s.b.compare(n.CompareOp.LT, s.tid, s.i32(256)), Level.STATIC),
        (lambda s: s.b.load(s.x, s.block_idx), Level.BLOCK_UNIFORM),
        (lambda s: s.b.load(s.x, s.tid64), Level.VARYING),
        (lambda s: s.b.load(s.x, s.b.index(n.Index.WARP_ID)), Level.WARP_UNIFORM),
        (lambda s: s.b.offset(s.x, s.tid64), Level.CONTIGUOUS),
        (lambda s: s.b.shuffle(n.ShuffleMode.INDEX, s.tid, s.i32(0)), Level.WARP_UNIFORM),
        (lambda s: s.b.shuffle(n.ShuffleMode.XOR, s.tid, s.i32(1)), Level.VARYING),
        (lambda s: s.b.select(s.b.compare(n.CompareOp.LT, s.tid64, s.n), s.n, s.i64(0)), Level.VARYING),
        (lambda s: s.b.select(s.b.compare(n.CompareOp.LT, s.block_idx, s.n), s.n, s.i64(0)), Level.BLOCK_UNIFORM),
    ],
)
def test_level(expression, level: Level) -> None:
    scene = Scene()
    value = expression(scene)
    assert scene.facts(value).level is level


@pytest.mark.parametrize(
    ("block", "levels"),
    [
        ((32, 8, 1), (Level.CONTIGUOUS, Level.WARP_UNIFORM, Level.STATIC)),
        ((16, 16, 1), (Level.VARYING, Level.VARYING, Level.STATIC)),
        ((1, 64, 2), (Level.STATIC, Level.CONTIGUOUS, Level.WARP_UNIFORM)),
        ((8, 1, 1), (Level.CONTIGUOUS, Level.STATIC, Level.STATIC)),
        ((100, 1, 1), (Level.CONTIGUOUS, Level.STATIC, Level.STATIC)),
        ((100, 2, 1), (Level.VARYING, Level.VARYING, Level.STATIC)),
    ],
)
def test_thread_idx_by_block_shape(block: tuple[int, int, int], levels: tuple[Level, ...]) -> None:
    scene = Scene(block)
    indices = [scene.b.index(n.Index.THREAD_IDX, axis) for axis in range(3)]
    assert tuple(scene.facts(index).level for index in indices) == levels


def test_one_warp_agrees_as_a_block_does() -> None:
    scene = Scene((32, 1, 1))
    vote = scene.b.vote(n.VoteMode.ANY, scene.b.compare(n.CompareOp.LT, scene.tid64, scene.n))
    assert scene.facts(vote).level is Level.BLOCK_UNIFORM


def test_widening_keeps_contiguity_only_where_nothing_wraps() -> None:
    scene = Scene()
    narrow = scene.b.cast(i32, scene.n)
    might_wrap = scene.b.cast(i64, scene.b.add(narrow, scene.tid))
    assert scene.facts(might_wrap).level is Level.VARYING
    aligned = scene.b.cast(i64, scene.b.add(scene.b.mul(narrow, scene.i32(64)), scene.tid))
    assert scene.facts(aligned).level is Level.CONTIGUOUS


def test_a_value_carried_by_a_loop_is_uniform_until_something_varies() -> None:
    scene = Scene()
    b = scene.b

    def body(k: n.Value, same: n.Value, changing: n.Value) -> list[n.Value]:
        return [b.add(same, k), b.add(changing, b.load(scene.x, scene.tid64))]

    zero = b.const(f32, 0.0)
    same, changing = b.for_(scene.i64(0), scene.n, scene.i64(1), [scene.i64(0), zero], body)
    assert scene.facts(same).level is Level.BLOCK_UNIFORM
    assert scene.facts(changing).level is Level.VARYING


def test_what_a_divergent_loop_carries_varies_but_its_index_keeps_its_form() -> None:
    scene = Scene()
    b = scene.b
    seen: list[n.Value] = []

    def body(k: n.Value, count: n.Value) -> list[n.Value]:
        seen.extend([k, count])
        return [b.add(count, scene.i64(1))]

    (count,) = b.for_(scene.tid64, scene.n, scene.i64(256), [scene.i64(0)], body)
    assert scene.facts(seen[0]).level is Level.CONTIGUOUS
    assert scene.facts(seen[1]).level is Level.VARYING
    assert scene.facts(count).level is Level.VARYING


def test_a_while_whose_condition_turns_out_to_vary() -> None:
    scene = Scene()
    b = scene.b
    (end,) = b.while_(
        [scene.i64(0)],
        lambda i: b.compare(n.CompareOp.LT, i, scene.tid64),
        lambda i: [b.add(i, scene.i64(1))],
    )
    assert scene.facts(end).level is Level.VARYING
