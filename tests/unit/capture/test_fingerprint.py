from __future__ import annotations

import array
import dataclasses
import enum
import functools
import itertools
import math
import os
import struct
import subprocess
import sys
import threading
import typing

import ml_dtypes
import numpy as np
import pytest

from darter import dtypes
from darter.capture.fingerprint import ABSENT, INLINE_BYTES, encode, fingerprint
from darter.capture.static import static
from darter.errors import CaptureRefusedError


class Color(enum.IntEnum):
    RED = 1
    BLUE = 2


class Plain(enum.Enum):
    RED = 1


class Pair(typing.NamedTuple):
    a: object
    b: object


class OtherPair(typing.NamedTuple):
    a: object
    b: object


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: object = 1


@dataclasses.dataclass
class Mutable:
    a: object = 1


class Instance:
    pass


DISTINCT = [
    *(None, ..., ABSENT, False, True, 0, 1, -1, 2**63, 2**64, -(2**63), 0.0, -0.0, 1.0, math.nan, 0j, complex(-0.0, 0)),
    *("", "1", "é", "\ud800", b"", b"1", (), (1,), (True,), (1.0,), ((1,),), ("1",), (1, 2), (2, 1), frozenset()),
    *(frozenset({1}), frozenset({True}), frozenset({1, 2}), range(3), range(0, 3, 2), slice(1, 2), slice(1, 2, 1)),
    *(np.int64(1), np.int32(1), np.uint8(1), np.bool_(True), np.float32(1), np.float64(1), np.complex64(1)),
    *(ml_dtypes.bfloat16(1), ml_dtypes.float8_e4m3fn(1), ml_dtypes.float8_e4m3fnuz(1), np.dtype("f4"), np.dtype(">f4")),
    *(Color.RED, Color.BLUE, Plain.RED, Color, Plain, Pair, Pair(1, 2), Pair(1, True), OtherPair(1, 2), Frozen(1)),
    *(Frozen(True), Frozen((1,)), Mutable(), Instance(), dtypes.f32, dtypes.e4m3fn, dtypes.e4m3fnuz, np.float32, int),
    *(len, math.sqrt, np.sqrt, math, os, {}, [], functools.partial(len), static([1]), static({1}), static([True])),
    *(struct.unpack("<d", b"\1\0\0\0\0\0\xf8\x7f")[0], float("inf"), "x" * 300, "x" * 301, Instance, Frozen),
]


def test_values_of_different_type_or_bits_have_different_fingerprints() -> None:
    for a, b in itertools.combinations(DISTINCT, 2):
        assert fingerprint(a) != fingerprint(b), (a, b)


def test_equal_values_under_other_identities_have_equal_fingerprints() -> None:
    assert fingerprint(frozenset({"a", "b", "c"})) == fingerprint(frozenset({"c", "b", "a"}))
    assert fingerprint((1, ("a", 2.5))) == fingerprint((int("1"), tuple(["a", float("2.5")][:])))
    assert fingerprint(Frozen((1, 2))) == fingerprint(Frozen((1, 2)))
    assert fingerprint(static({"b", "a"})) == fingerprint(static({"a", "b"}))
    assert fingerprint(10**30) == fingerprint(int("1" + "0" * 30))


def test_a_structure_is_no_other_structures_concatenation() -> None:
    assert encode(("a", "b")) != encode(("a1:b",))
    assert encode(((1, 2), 3)) != encode((1, (2, 3)))


def test_long_values_are_digested_and_short_ones_are_kept() -> None:
    assert fingerprint(128) == b"int:128"
    assert len(fingerprint("x" * 10_000)) < INLINE_BYTES


@pytest.mark.parametrize(
    "value",
    [
        *({1}, bytearray(b"1"), array.array("i", [1]), np.zeros(2), threading.Lock(), iter([]), memoryview(b"1")),
        *(type("L", (list,), {})(), type("D", (dict,), {})(), type("I", (int,), {})(1), type("T", (tuple,), {})()),
        *((1, {2}), Frozen({1}), functools.lru_cache(len), [].append),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_guarded_is_refused_with_the_way_out(value: object) -> None:
    with pytest.raises(CaptureRefusedError, match=r"dt\.static\(obj\)"):
        fingerprint(value)


def test_a_value_that_contains_itself_is_refused() -> None:
    frozen = Frozen()
    object.__setattr__(frozen, "a", (frozen,))
    with pytest.raises(CaptureRefusedError, match="contains itself"):
        fingerprint(frozen)


_PRINT = """
import enum, sys, types
sys.modules["m"] = module = types.ModuleType("m")
exec('''
import enum, dataclasses
class E(enum.Enum):
    A = "a"
@dataclasses.dataclass(frozen=True)
class F:
    x: object = frozenset({"a", "b", "c", ("d",)})
class I: pass
''', vars(module))
for name in ("F", "I"): getattr(module, name).__module__ = "m"
module.E.__module__ = "m"
from darter.capture.fingerprint import fingerprint
from darter.capture.static import static
values = [module.F(), module.E.A, module.I(), frozenset("abcdef"), static({"x": {"p", "q", "r"}}), module]
print([fingerprint(value).hex() for value in values])
"""


def test_fingerprints_are_the_same_in_every_process(tmp_path) -> None:  # type: ignore[no-untyped-def]
    found = set()
    for seed in ("0", "1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        found.add(subprocess.check_output([sys.executable, "-c", _PRINT], env=environment, cwd=tmp_path, text=True))
    assert len(found) == 1
