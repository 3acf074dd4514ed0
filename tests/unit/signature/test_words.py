"""Key words: each layout as the table in signature/words.py says, written out bit by bit."""

from __future__ import annotations

import enum
import math
from collections import namedtuple
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import darter.dtypes as dt
from darter.errors import UnkeyableError
from darter.lang.kernel_function import KernelFunction
from darter.signature.annotations import Constexpr, Pointer, Stream, Tensor
from darter.signature.argument import from_dlpack
from darter.signature.planner import plan_signature
from darter.signature.words import constexpr_words, device_word, full_key
from darter.target import Device
from tests.interner import Interner


class Color(enum.Enum):
    RED = 1
    ROSE = 1  # noqa: PIE796 (an alias, on purpose)
    BLUE = 2


class Size(enum.IntEnum):
    ONE = 1


class Point(NamedTuple):
    x: int
    y: int


@dataclass(frozen=True)
class Tile:
    m: int
    n: int = 8


def encode(value: Any) -> tuple[int, ...]:
    return constexpr_words(value, Interner())


def helper() -> None: ...


FLOAT_ONE = 0x3FF0000000000000


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, (0x10,)),
        (False, (0x11,)),
        (True, (0x12,)),
        (1, (0x13, 1)),
        (-1, (0x13, 2**64 - 1)),
        (2**63 - 1, (0x13, 2**63 - 1)),
        (-(2**63), (0x13, 2**63)),
        (2**63, (0x14 | 1 << 16, 2**63)),
        (-(2**64) - 5, (0x14 | 1 << 8 | 2 << 16, 5, 1)),
        (1.0, (0x15, FLOAT_ONE)),
        (-0.0, (0x15, 1 << 63)),
        (1j, (0x16, 0, FLOAT_ONE)),
        ("", (0x17,)),
        ("abc", (0x17 | 3 << 8, 0x636261)),
        ("12345678é", (0x17 | 10 << 8, 0x3837363534333231, 0xA9C3)),
        (b"\x01\x00", (0x18 | 2 << 8, 1)),
        ((), (0x19,)),
        ((1, (True,)), (0x19 | 2 << 8, 0x13, 1, 0x19 | 1 << 8, 0x12)),
        (dt.bf16, (0x1A | 11 << 8,)),
        (Color.BLUE, (0x1B | 1 << 8, 0x17 | 4 << 8, 0x45554C42)),
        (Size.ONE, (0x1B | 1 << 8, 0x17 | 3 << 8, 0x454E4F)),
        (Tile(4), (0x1C | 2 << 8 | 1 << 32, 0x13, 4, 0x13, 8)),
        (Point(1, 2), (0x1D | 2 << 8 | 1 << 32, 0x13, 1, 0x13, 2)),
        (np.float32(1), (0x1E | 12 << 8, 0x3F800000)),
        (np.int64(-1), (0x1E | 5 << 8, 2**64 - 1)),
        (np.bool_(True), (0x1E | 1 << 8, 1)),
        pytest.param(helper, (0x1F | 1 << 8,), id="helper"),
        (max, (0x1F | 1 << 8,)),
        (math.sin, (0x1F | 1 << 8,)),
        (int, (0x20 | 1 << 8,)),
        (frozenset(), (0x21,)),
        (frozenset({2, 1}), (0x21 | 2 << 8, 0x13, 1, 0x13, 2)),
    ],
    ids=repr,
)
def test_compile_time_values(value: Any, words: tuple[int, ...]) -> None:
    assert encode(value) == words
    assert all(0 <= word < 1 << 64 for word in words)


def test_values_that_python_calls_equal_have_words_of_their_own() -> None:
    equal = [
        1,
        True,
        1.0,
        1 + 0j,
        np.int64(1),
        np.int32(1),
        np.float64(1),
        Size.ONE,
        np.bool_(1),
        "1",
        (1,),
        frozenset({1}),
    ]
    assert len({encode(value) for value in equal}) == len(equal)
    assert encode(0.0) != encode(-0.0)
    assert encode((1, (2,))) != encode(((1, 2),))
    assert encode(Color.ROSE) == encode(Color.RED)


def test_classes_are_told_apart_by_identity() -> None:
    intern = Interner()
    twins = [namedtuple("Twin", "x y") for _ in range(2)]
    assert constexpr_words(twins[0](1, 2), intern) != constexpr_words(twins[1](1, 2), intern)
    assert constexpr_words(twins[0], intern) != constexpr_words(twins[1], intern)


def test_kernels_key_as_functions_do() -> None:
    first, second = KernelFunction(helper), KernelFunction(helper)
    intern = Interner()
    assert constexpr_words(first, intern) == (0x1F | 1 << 8,)
    assert constexpr_words(second, intern) == (0x1F | 2 << 8,)


@dataclass
class Thawed:
    x: int


class Text(str):
    pass


class Loose(Point):
    """A subclass of a NamedTuple with attributes of its own."""


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([1], "pass a tuple"),
        ({1: 2}, "tuple of pairs"),
        ({1}, "frozenset"),
        (bytearray(b"1"), "pass bytes"),
        (np.zeros(()), "x.item()"),
        (np.zeros(3), "x.item()"),
        (np.dtype("f4"), "scalar type"),
        (Thawed(1), "frozen=True"),
        (Text("a"), "str(value)"),
        (Loose(1, 2), "tuple(value)"),
        ([].append, "as numbers"),
        (Interner().__call__, "two arguments"),
        (math, "from the module"),
        (object(), "as numbers"),
        (np.longdouble(1), "as numbers"),
        ((1, [2]), "pass a tuple"),
        (np.datetime64(1, "s"), "as numbers"),
        (range(3), "as numbers"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_keyed_is_refused_by_name(value: Any, said: str) -> None:
    with pytest.raises(UnkeyableError) as caught:
        constexpr_words(value, Interner(), "BLOCK")
    assert "argument 'BLOCK': found a " in str(caught.value)
    assert said in str(caught.value)


def test_deep_nesting_is_refused_and_does_not_recurse_without_end() -> None:
    value: Any = ()
    for _ in range(100):
        value = (value,)
    with pytest.raises(UnkeyableError, match="deeper than 64"):
        encode(value)


def key_of(function: Any, *arguments: Any, owner: bool = False) -> tuple[int, ...]:
    return full_key(plan_signature(function, owner), arguments, Interner())


CPU = 1 << 40


def aligned(shape: tuple[int, ...], dtype: Any, offset_bytes: int = 0) -> Any:
    """Return a contiguous array whose base is ``offset_bytes`` past a multiple of 64 bytes."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 128, np.uint8)
    start = -raw.ctypes.data % 64 + offset_bytes
    return raw[start : start + size].view(dtype).reshape(shape)


def test_devices() -> None:
    assert [device_word(Device(*device)) for device in (("cpu", 0), ("cuda", 0), ("cuda", 5), ("hip", 1))] == [
        1,
        2,
        2 | 5 << 8,
        3 | 1 << 8,
    ]


def test_tensors() -> None:
    def function(x: Tensor): ...

    assert key_of(function, aligned((4, 4), "f4")) == (1, 0x02 | 12 << 8 | 2 << 16 | 2 << 24 | 1 << 32 | CPU)
    assert key_of(function, aligned((4, 4), "f4", 4)) == (1, 0x02 | 12 << 8 | 2 << 16 | 2 << 24 | CPU)
    assert key_of(function, aligned((), "i2")) == (1, 0x02 | 3 << 8 | CPU)
    wide = np.lib.stride_tricks.as_strided(aligned((1,), "i1"), (2**30, 4), (0, 1))
    assert key_of(function, wide) == (1, 0x02 | 2 << 8 | 2 << 16 | 2 << 24 | 1 << 32 | 1 << 33 | CPU)


def test_explicit_layouts() -> None:
    def function(x: Tensor): ...

    head = 0x02 | 12 << 8 | 2 << 16 | 2 << 24 | 1 << 32 | 1 << 34 | CPU
    explicit = from_dlpack(aligned((4, 8), "f4"))
    assert key_of(function, explicit) == (1, head, 0b11 | 0b11 << 32, 4, 8, 8, 1)
    loose = explicit.mark_layout_dynamic(div=4)
    assert key_of(function, loose) == (1, head, 0b10 << 32, 1, 1, 4, 1)
    backwards = from_dlpack(aligned((4, 8), "f4")[::-1])
    assert key_of(function, backwards)[-2:] == (2**64 - 8, 1)


def test_pointers() -> None:
    def function(p: Pointer[dt.f32]): ...

    assert key_of(function, aligned((4,), "f4")) == (1, 0x03 | 12 << 8 | 4 << 16 | CPU)
    assert key_of(function, aligned((4,), "f4", 4)) == (1, 0x03 | 12 << 8 | 2 << 16 | CPU)
    assert [key_of(function, address)[1] >> 16 for address in (0, 1, 6, 64)] == [4, 0, 1, 4]


def test_annotated_scalars_and_streams_write_no_word() -> None:
    def function(n: dt.Int32, s: Stream, m, o: dt.Int32 | None, q: Stream = None): ...

    assert key_of(function, 1, None, 2.0, 3, 7) == (1, 0x04 | 12 << 8, 0x04 | 4 << 8)
    assert key_of(function, 1, None, True, None, 7) == (1, 0x04 | 1 << 8, 0x01)


class Pair(NamedTuple):
    x: Tensor
    n: dt.Int32
    block: Constexpr[int]


class Layer:
    width: Constexpr[int]

    def run(self, kind: type[dt.Scalar], pair: Pair, loose): ...


class Packed:
    __jit_fields__ = ("data", "scale")
    data: Tensor

    def __init__(self) -> None:
        self.data, self.scale = aligned((4,), "u1"), 1.0

    def __cache_signature__(self) -> Any:
        return ("q4", 32)


def test_structs_types_constexprs_and_objects() -> None:
    layer = Layer()
    layer.width = 64
    x = aligned((4,), "f4")
    tensor = 0x02 | 12 << 8 | 1 << 16 | 1 << 24 | 1 << 32 | CPU
    assert key_of(Layer.run, layer, dt.f16, Pair(x, 3, 5), (x, (1,)), owner=True) == (
        1,
        0x07 | 1 << 8 | 1 << 32,
        0x13,
        64,
        0x05 | 10 << 8,
        0x06 | 3 << 8 | 2 << 32,
        tensor,
        0x09,
        0x13,
        5,
        0x06 | 2 << 8 | 3 << 32,
        tensor,
        0x06 | 1 << 8 | 3 << 32,
        0x04 | 5 << 8,
    )


def test_jit_arguments() -> None:
    def function(p: Packed, q): ...

    one = (
        0x08 | 2 << 8 | 1 << 32,
        0x19 | 2 << 8,
        0x17 | 2 << 8,
        0x3471,
        0x13,
        32,
        0x02 | 6 << 8 | 1 << 16 | 1 << 24 | 1 << 32 | CPU,
        0x04 | 12 << 8,
    )
    assert key_of(function, Packed(), Packed()) == (1, *one, *one)
