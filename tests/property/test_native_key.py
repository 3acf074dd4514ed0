"""The native key and slots equal the Python reference, word for word, over layouts that tests of shapes forget."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.lib.stride_tricks import as_strided

from darter.dtypes import ALL, Int32, f16, f32, f64
from darter.signature.annotations import Constexpr, Pointer, Stream, Tensor
from darter.signature.argument import from_dlpack
from darter.signature.reader import read_tensor
from darter.signature.words import full_key
from tests.unit.native.noop import noop

BUFFER = np.zeros(1 << 16, np.uint8)


def assert_same_key(function: Any, *arguments: Any) -> None:
    bound = function._bind(*arguments)
    assert function._key_words(*arguments) == full_key(function.plan, bound, function._intern)


extents = st.one_of(st.integers(0, 4), st.sampled_from([2**30 - 1, 2**30, 2**31 - 1, 2**31, 2**31 + 8, 2**40]))
strides = st.one_of(
    st.integers(-5, 5), st.sampled_from([8, 16, -16, 2**28, 2**30, -(2**30), 2**31 - 1, 2**31, 2**35, -(2**40)])
)


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray[Any, Any]:
    """Arrays over one small buffer, with extents and strides that no memory stands behind."""
    dtype = draw(st.sampled_from([d.numpy() for d in ALL]))
    rank = draw(st.integers(0, 6))
    shape, steps, size = [], [], 1
    for _ in range(rank):
        extent = draw(extents)
        if size * max(extent, 1) * dtype.itemsize >= 2**62:
            extent = 1
        size *= max(extent, 1)
        shape.append(extent)
        steps.append(draw(strides) * dtype.itemsize + (draw(st.integers(0, 3)) if extent <= 1 else 0))
    offset = draw(st.integers(0, 8)) * dtype.itemsize
    bits = as_strided(BUFFER[offset : offset + 64].view(f"u{dtype.itemsize}"), shape, steps)
    array = bits.view(dtype)
    if draw(st.booleans()):
        array.flags.writeable = False
    return array


@given(st.lists(arrays(), min_size=1, max_size=3))
def test_numpy_layouts(values: list[np.ndarray[Any, Any]]) -> None:
    function = noop(lambda a, b=None, c=None: None)
    assert_same_key(function, *values)
    slots: list[int] = []
    for value in values:
        view = read_tensor("a", value)
        slots += [view.address, *view.shape, *(stride % 2**64 for stride in view.strides)]
    assert function._slots(*values) == tuple(slots)


def dynamic_layout(array: np.ndarray[Any, Any]) -> Any:
    return from_dlpack(array).mark_layout_dynamic()


@given(arrays(), st.sampled_from([from_dlpack, dynamic_layout]))
def test_explicit_layouts(array: np.ndarray[Any, Any], wrap: Any) -> None:
    assert_same_key(noop(lambda x: None), wrap(array))


@given(st.lists(st.integers(1, 5), max_size=5), st.randoms(use_true_random=False), st.booleans())
def test_torch_layouts(shape: list[int], random: Any, accelerated: bool) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from darter import _native

    tensor = torch.zeros([extent * 2 for extent in shape], dtype=torch.bfloat16)
    order = list(range(len(shape)))
    random.shuffle(order)
    tensor = tensor.permute(order)[tuple(slice(random.randrange(2), None, random.randrange(1, 3)) for _ in shape)]
    try:
        _native.set_torch_acceleration(accelerated)
        assert_same_key(noop(lambda x: None), tensor)
    finally:
        _native.set_torch_acceleration(True)


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Level(enum.IntEnum):
    LOW = 1


class Pair(NamedTuple):
    left: Tensor
    scale: Int32


@dataclass(frozen=True)
class Config:
    size: Constexpr[int]
    weight: Tensor
    name: str = "a"


class Owner:
    width: Constexpr[int] = 4
    mode: Constexpr = "fast"


class Quantized:
    __jit_fields__ = ("data", "zero")

    def __init__(self, data: Any, zero: int) -> None:
        self.data = data
        self.zero = zero

    def __cache_signature__(self) -> Any:
        return ("q", 8)


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=12), st.binary(max_size=12),
    st.complex_numbers(), st.sampled_from([*ALL, *Color, Level.LOW, np.float32(1.5), ml_dtypes.bfloat16(2), int, len]),
    st.text(alphabet="\ud800a", max_size=2),
)  # fmt: skip
constants = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner), max_leaves=6
)


@given(constants)
def test_constexprs(value: Any) -> None:
    def function(c: Constexpr) -> None: ...

    assert_same_key(noop(function), value)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        2.5,
        np.int8(-3),
        np.float64(1),
        np.bool_(True),
        ml_dtypes.float8_e4m3fn(1),
        f16,
        (1, (2.0, None)),
        Pair(np.zeros(3), 5),
        Pair(np.zeros((2, 2), np.float16), -5),
        Owner(),
        Quantized(np.zeros(4, np.int8), 3),
    ],
    ids=lambda value: re.sub(r" at 0x[0-9a-f]+", "", repr(value)),
)
def test_arguments_without_annotation(value: Any) -> None:
    assert_same_key(noop(lambda x: None), value)


def test_annotated_parameters() -> None:
    x = np.zeros((4, 8), np.float32)

    def function(
        x: Tensor[f32, "n", 8],
        p: Pointer[f32],
        n: Int32,
        m: Int32 | None,
        t: type[f32],
        pair: Pair,
        o: Owner,
        q: Quantized,
        z: tuple[Tensor, Int32],
        stream: Stream = None,
    ) -> None: ...

    launcher = noop(function)
    for pointer in (x, x[:, 1:], 0, 24, 2**64 - 1, from_dlpack(x)):
        for optional in (None, 4):
            assert_same_key(launcher, x, pointer, -1, optional, f32, Pair(x, 1), Owner(), Quantized(x, 1), (x, 2), 77)
    assert launcher._slots(x, 24, -1, None, f32, Pair(x, 1), Owner(), Quantized(x, 1), (x, 2))[5:7] == (24, 2**64 - 1)


def test_a_class_method_keys_on_the_class() -> None:
    function = noop(lambda cls, x: None, owner=True)
    assert_same_key(function, Owner, 1)
    assert function._key_words(Owner, 1) != function._key_words(Pair, 1)


@given(st.sampled_from([f16, f32, f64]), st.floats(allow_nan=False))
def test_float_slots_are_those_of_numpy(dtype: Any, value: float) -> None:
    def function(v: object) -> None: ...

    function.__annotations__["v"] = dtype
    launcher = noop(function)
    with np.errstate(over="ignore"):
        converted = dtype.numpy().type(value)
    if np.isfinite(value) and not np.isfinite(converted):
        with pytest.raises(ValueError, match="argument 'v'"):
            launcher._slots(value)
    else:
        assert launcher._slots(value) == (int.from_bytes(converted.tobytes(), "little"),)
