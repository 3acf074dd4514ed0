"""Canonical bytes: injective, and the same in every process."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import darter.dtypes as dt
from darter.errors import UnkeyableError
from darter.ir.nodes import KernelOptions
from darter.lang.kernel_function import KernelFunction
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
from darter.signature.keyrecord import canonical, canonical_value

from .test_words import Color, Point, Size, Tile


def fingerprint(function: Any) -> bytes:
    return function.__qualname__.encode()


VALUES: list[Any] = [
    None,
    False,
    True,
    0,
    1,
    -1,
    1 << 70,
    -(1 << 70),
    0.0,
    -0.0,
    1.0,
    1 + 0j,
    "",
    "1",
    "(1",
    "\ud800",
    b"",
    b"1",
    (),
    (1,),
    ((1,),),
    (1, 2),
    ((), ()),
    ("ab", "c"),
    ("a", "bc"),
    ("abc",),
    dt.f32,
    dt.i32,
    np.int64(1),
    np.int32(1),
    np.float32(1),
    np.bool_(True),
    Color.RED,
    Color.BLUE,
    Size.ONE,
    Tile(1, 2),
    Tile(2, 1),
    Point(1, 2),
    Point(2, 1),
    Point,
    Tile,
    int,
    fingerprint,
    max,
    min,
    KernelFunction(fingerprint),
    KernelFunction(canonical_value),
    KernelFunction(fingerprint, KernelOptions(fast_math=True)),
    frozenset(),
    frozenset({1}),
    frozenset({1, 2}),
    frozenset({(1, 2)}),
    frozenset({"a", "b", "c"}),
]

DESCRIPTORS: list[Descriptor] = [
    *(ConstexprFacts(value) for value in VALUES),
    NoneFacts(),
    StreamFacts(),
    ScalarFacts(dt.f32),
    ScalarFacts(dt.f16),
    TypeFacts(dt.f32),
    PointerFacts(dt.f32, 16),
    PointerFacts(dt.f32, 1),
    PointerFacts(dt.f32, 16, 1),
    *(
        TensorFacts(dt.f32, 2, unit, vec16, wide, device)
        for unit, vec16, wide, device in itertools.product((None, 0, 1), (False, True), (False, True), (1, 2))
    ),
    TensorFacts(dt.f16, 2, 0, True, False, 1),
    TensorFacts(dt.f32, 3, 0, True, False, 1),
    *(
        TensorFacts(dt.f32, 2, 0, True, False, 1, layout)
        for layout in (
            Layout((1, 2), (2, 1), (1, 1), (1, 1)),
            Layout((1, None), (2, 1), (1, 1), (1, 1)),
            Layout((None, 2), (2, 1), (1, 1), (1, 1)),
            Layout((None, 2), (2, 1), (4, 1), (1, 1)),
            Layout((None, 2), (None, 1), (4, 1), (2, 1)),
            Layout((None, 2), (-2, 1), (4, 1), (1, 1)),
        )
    ),
    StructFacts(tuple, (), ()),
    StructFacts(tuple, ("0",), (NoneFacts(),)),
    StructFacts(Point, ("x", "y"), (NoneFacts(), NoneFacts())),
    StructFacts(Point, ("x", "y"), (StructFacts(tuple, (), ()), NoneFacts())),
    ObjectFacts(Point, ("x",), (1,)),
    ObjectFacts(Point, ("y",), (1,)),
    ObjectFacts(Tile, ("x",), (1,)),
    JitArgumentFacts(Point, 1, (), ()),
    JitArgumentFacts(Point, 1, ("x",), (NoneFacts(),)),
]


def test_different_descriptors_have_different_bytes() -> None:
    written = [canonical(descriptor, fingerprint) for descriptor in DESCRIPTORS]
    assert len(set(written)) == len(DESCRIPTORS)
    assert written == [canonical(descriptor, fingerprint) for descriptor in DESCRIPTORS]


def test_frozensets_are_order_free() -> None:
    forward, backward = frozenset(range(0, 64, 8)), frozenset(range(56, -8, -8))
    assert canonical_value(forward, fingerprint) == canonical_value(backward, fingerprint)


def test_names_stand_for_enum_members_and_classes() -> None:
    assert canonical_value(Color.RED, fingerprint).endswith(b".test_words:Color 3:RED 11:(int 3:0x1))")
    assert canonical_value(fingerprint, fingerprint) == b"(function 11:fingerprint)"
    assert canonical_value(1 << 30, fingerprint) == b"(int 10:0x40000000)"


def test_ints_of_any_length_are_written() -> None:
    huge = 1 << 100_000
    assert canonical_value(huge, fingerprint) != canonical_value(huge + 1, fingerprint)


def test_what_cannot_be_keyed_is_refused() -> None:
    with pytest.raises(UnkeyableError, match="argument 'C'"):
        canonical_value([1], fingerprint, "C")


PROBE = """
import enum, hashlib
from darter.signature.keyrecord import canonical_value
class Mode(enum.Enum):
    FAST = "fast"
value = (frozenset({"a", "b", "cc", ("d", 1)}), Mode.FAST, 1.5, Mode, {}.__class__, "text")
print(hashlib.sha256(canonical_value(value, lambda function: b"")).hexdigest())
"""


def test_bytes_are_the_same_in_every_process() -> None:
    digests = set()
    for seed in ("0", "1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", PROBE], env=environment, capture_output=True, text=True, check=True
        )
        digests.add(done.stdout)
    assert len(digests) == 1
