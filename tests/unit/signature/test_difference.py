"""Differences in words: one line per fact, none for equal descriptions."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

import pytest

import darter.dtypes as dt
from darter.frozen import replaced
from darter.signature.descriptor import (
    ConstexprFacts,
    Descriptor,
    JitArgumentFacts,
    Layout,
    NoneFacts,
    ObjectFacts,
    PointerFacts,
    ScalarFacts,
    StreamFacts,
    StructFacts,
    TensorFacts,
    TypeFacts,
)
from darter.signature.difference import difference

TENSOR = TensorFacts(dt.f32, 2, 1, True, False, 1)
LAYOUT = Layout((4, None), (8, 1), (1, 2), (1, 1))


class Pair(NamedTuple):
    left: Any
    right: Any


class Mode(enum.Enum):
    FAST = 1


class Config:
    pass


class Other:
    pass


def add(): ...


def mul(): ...


CASES: list[tuple[Descriptor, Descriptor, list[str]]] = [
    (TENSOR, replaced(TENSOR, dtype=dt.f16), ["argument 'x': dtype float32 -> float16"]),
    (TENSOR, replaced(TENSOR, rank=3), ["argument 'x': rank 2 -> 3"]),
    (TENSOR, replaced(TENSOR, unit_axis=0), ["argument 'x': unit-stride axis 1 -> 0"]),
    (TENSOR, replaced(TENSOR, unit_axis=None), ["argument 'x': unit-stride axis 1 -> none"]),
    (TENSOR, replaced(TENSOR, vec16=False), ["argument 'x': 16-byte alignment (vec16) yes -> no"]),
    (TENSOR, replaced(TENSOR, wide=True), ["argument 'x': index width 32 -> 64"]),
    (TENSOR, replaced(TENSOR, device_type=2), ["argument 'x': device cpu -> cuda"]),
    (TENSOR, replaced(TENSOR, layout=LAYOUT), ["argument 'x': layout dynamic -> explicit"]),
    (
        replaced(TENSOR, layout=LAYOUT),
        replaced(TENSOR, layout=Layout((None, None), (8, 1), (3, 2), (1, 1))),
        [
            "argument 'x': static extents (4, ?) -> (?, ?)",
            "argument 'x': extent divisors (1, 2) -> (3, 2)",
        ],
    ),
    (TENSOR, NoneFacts(), ["argument 'x': kind tensor (float32, rank 2) -> None"]),
    (PointerFacts(dt.f32, 16), PointerFacts(dt.f32, 4), ["argument 'x': alignment 16 bytes -> 4 bytes"]),
    (ScalarFacts(dt.i64), ScalarFacts(dt.f32), ["argument 'x': type int64 -> float32"]),
    (TypeFacts(dt.f32), TypeFacts(dt.f16), ["argument 'x': scalar type float32 -> float16"]),
    (ConstexprFacts(128), ConstexprFacts(256), ["constexpr 'x': 128 -> 256"]),
    (ConstexprFacts(1), ConstexprFacts(True), ["constexpr 'x': 1 (int) -> True (bool)"]),
    (ConstexprFacts(0.0), ConstexprFacts(-0.0), ["constexpr 'x': 0.0 -> -0.0"]),
    (ConstexprFacts(add), ConstexprFacts(mul), ["constexpr 'x': add -> mul"]),
    (ConstexprFacts(None), ConstexprFacts(Mode.FAST), ["constexpr 'x': None (NoneType) -> <Mode.FAST: 1> (Mode)"]),
    (
        StructFacts(Pair, ("left", "right"), (TENSOR, ScalarFacts(dt.i64))),
        StructFacts(Pair, ("left", "right"), (TENSOR, ScalarFacts(dt.i32))),
        ["argument 'x.right': type int64 -> int32"],
    ),
    (
        StructFacts(tuple, ("0",), (TENSOR,)),
        StructFacts(tuple, ("0", "1"), (replaced(TENSOR, rank=3), TENSOR)),
        ["argument 'x': number of items 1 -> 2", "argument 'x[0]': rank 2 -> 3"],
    ),
    (ObjectFacts(Config, ("b",), (1,)), ObjectFacts(Config, ("b",), (2,)), ["constexpr 'x.b': 1 -> 2"]),
    (ObjectFacts(Config, ("b",), (1,)), ObjectFacts(Other, ("b",), (1,)), ["argument 'x': class Config -> Other"]),
    (
        JitArgumentFacts(Config, ("q4",), (), ()),
        JitArgumentFacts(Config, ("q8",), (), ()),
        ["argument 'x': signature: ('q4',) -> ('q8',)"],
    ),
    (StreamFacts(), NoneFacts(), ["argument 'x': kind stream -> None"]),
]


@pytest.mark.parametrize(("before", "after", "lines"), CASES)
def test_one_line_for_each_fact_that_differs(before: Descriptor, after: Descriptor, lines: list[str]) -> None:
    assert difference({"x": before}, {"x": after}) == lines
    assert difference({"x": before}, {"x": before}) == []
    assert difference({"x": after}, {"x": after}) == []


def test_twins_are_told_apart_by_what_they_are() -> None:
    def make() -> Any:
        def twin(): ...

        return twin

    lines = difference({"f": ConstexprFacts(make())}, {"f": ConstexprFacts(make())})
    assert len(lines) == 1
    assert "0x" not in lines[0]


def test_missing_and_new_arguments_are_named() -> None:
    assert difference({"x": TENSOR}, {"y": TENSOR}) == ["argument 'y': new", "argument 'x': gone"]


def test_long_values_are_shortened() -> None:
    (line,) = difference({"x": ConstexprFacts("a" * 500)}, {"x": ConstexprFacts("b" * 500)})
    assert len(line) < 160
    assert "..." in line
