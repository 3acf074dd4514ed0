"""Keys: equal exactly where the descriptors are, and every reader sees the same tensor."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, strategies as st

import darter.dtypes as dt
from darter.signature.argument import TensorArgument, from_dlpack
from darter.signature.describe import describe
from darter.signature.facts import tensor_facts
from darter.signature.keyrecord import canonical, canonical_value
from darter.signature.planner import plan_signature
from darter.signature.reader import read_tensor
from darter.signature.words import constexpr_words, key_words
from tests.interner import Interner

from .layouts import numpy_arrays, restrided, torch_tensors

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]

pytestmark = pytest.mark.usefixtures("layouts_are_shown")
needs_torch = pytest.mark.skipif(torch is None, reason="torch is not installed")


class Plain(enum.Enum):
    A = "a"
    B = 1


class Whole(enum.IntEnum):
    A = 1


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclass(frozen=True)
class Box:
    left: Any
    right: Any


def first_function() -> None: ...


def second_function() -> None: ...


leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(),
    st.integers(-70, 70).map(lambda k: (1 << 63) + k),
    st.floats(),
    st.complex_numbers(),
    st.text(max_size=20),
    st.binary(max_size=20),
    st.sampled_from(dt.ALL),
    st.sampled_from([Plain.A, Plain.B, Whole.A]),
    st.sampled_from([int, Plain, Pair, first_function, second_function, max]),
    st.sampled_from(dt.ALL).map(lambda dtype: dtype(1)),
    st.sampled_from(["int8", "uint16", "int64"]).flatmap(lambda name: st.integers(0, 9).map(np.dtype(name).type)),
)

values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(tuple),
        st.builds(Pair, inner, inner),
        st.builds(Box, inner, inner),
        st.frozensets(st.one_of(st.integers(-2, 2), st.text(max_size=2)), max_size=3),
    ),
    max_leaves=8,
)


def by_name(function: Any) -> bytes:
    return f"{function.__module__}.{function.__qualname__}".encode()


@given(first=values, second=values)
def test_values_have_equal_words_exactly_where_their_canonical_bytes_are_equal(first: Any, second: Any) -> None:
    intern = Interner()
    one, two = constexpr_words(first, intern), constexpr_words(second, intern)
    assert (one == two) is (canonical_value(first, by_name) == canonical_value(second, by_name))
    assert all(type(word) is int and 0 <= word < 1 << 64 for word in (*one, *two))


@given(first=values, second=values)
def test_no_value_begins_as_another_one_does(first: Any, second: Any) -> None:
    """So that words written one after the other can be read back in one way only."""
    intern = Interner()
    shorter, longer = sorted((constexpr_words(first, intern), constexpr_words(second, intern)), key=len)
    assert shorter == longer or longer[: len(shorter)] != shorter


def loose(x, y): ...


LOOSE = plan_signature(loose, owner=False)

arguments = st.one_of(
    numpy_arrays(),
    st.none(),
    st.booleans(),
    st.integers(-9, 9),
    st.floats(-9, 9),
    st.sampled_from(dt.ALL),
    st.sampled_from(dt.ALL).map(lambda dtype: dtype(1)),
)
nested = st.one_of(arguments, st.lists(arguments, max_size=3).map(tuple), st.builds(Pair, arguments, arguments))


@given(first=st.tuples(nested, nested), second=st.tuples(nested, nested))
def test_calls_have_equal_keys_exactly_where_their_descriptors_are_equal(first: Any, second: Any) -> None:
    intern = Interner()
    one, two = describe(LOOSE, first), describe(LOOSE, second)
    same_words = key_words(LOOSE, one.descriptors, one.device, intern) == key_words(
        LOOSE, two.descriptors, two.device, intern
    )
    same_bytes = all(
        canonical(one.descriptors[name], by_name) == canonical(two.descriptors[name], by_name) for name in ("x", "y")
    )
    assert same_words is (one.descriptors == two.descriptors) is same_bytes


@st.composite
def explicit(draw: st.DrawFn, tensors: st.SearchStrategy[Any]) -> TensorArgument:
    """Explicit arguments with some of their entries loosened, by divisors that hold."""
    argument = from_dlpack(draw(tensors))
    if draw(st.booleans()):
        argument = argument.mark_layout_dynamic()
    view = read_tensor("t", argument.source)
    for axis in range(argument.rank):
        if draw(st.booleans()):
            argument = argument.mark_shape_dynamic(axis, div=draw(st.sampled_from(divisors(view.shape[axis]))))
        if draw(st.booleans()):
            stride = view.strides[axis] if view.shape[axis] > 1 else 0
            argument = argument.mark_stride_dynamic(axis, div=draw(st.sampled_from(divisors(stride))))
    return argument


def divisors(value: int) -> list[int]:
    return [candidate for candidate in (1, 2, 3, 4, 8, 16) if value % candidate == 0]


@given(argument=explicit(numpy_arrays()), other=explicit(numpy_arrays()))
def test_explicit_arguments_have_equal_keys_exactly_where_their_descriptors_are_equal(
    argument: Any, other: Any
) -> None:
    intern = Interner()
    one, two = describe(LOOSE, (argument, 1)), describe(LOOSE, (other, 1))
    first = key_words(LOOSE, one.descriptors, one.device, intern)
    second = key_words(LOOSE, two.descriptors, two.device, intern)
    assert (first == second) is (one.descriptors == two.descriptors)
    facts = one.descriptors["x"]
    assert len(first) == 1 + 2 + 2 * facts.rank + 1  # type: ignore[union-attr]


@needs_torch
@given(tensor=torch_tensors())
def test_torch_tensors_read_as_the_arrays_over_their_memory(tensor: Any) -> None:
    view = read_tensor("x", tensor)
    assert (view.shape, view.address) == (tuple(tensor.shape), tensor.data_ptr())
    if not tensor.numel():  # torch gives NumPy other strides then
        return
    array = tensor.detach().view(getattr(torch, f"int{view.dtype.bits}")).numpy().view(view.dtype.numpy())
    assert tensor_facts(read_tensor("x", array)) == tensor_facts(view)


@given(array=numpy_arrays())
def test_strides_of_single_element_axes_are_no_fact(array: np.ndarray[Any, Any]) -> None:
    def strides_with(step: int) -> list[int]:
        used = zip(array.shape, array.strides, strict=True)
        return [stride if extent > 1 else step * array.itemsize for extent, stride in used]

    views = [restrided(array, array.shape, strides_with(step)) for step in (0, 1, 3, 1 << 40)]
    assert len({tensor_facts(read_tensor("x", view)) for view in views}) == 1


@given(array=numpy_arrays())
def test_facts_hold_of_every_address(array: np.ndarray[Any, Any]) -> None:
    """Facts against their meaning, at the corners of the tensor: an independent reading of the rules."""
    facts = tensor_facts(read_tensor("x", array))
    axes = [axis for axis in range(array.ndim) if array.shape[axis] > 1]
    corners = [(array.shape[axis] - 1) * array.strides[axis] for axis in axes]
    reach = max(sum(c for c in corners if c > 0), -sum(c for c in corners if c < 0))
    assert facts.wide is (reach >= 1 << 30 or any(extent >= 1 << 30 for extent in array.shape))
    units = [axis for axis in range(array.ndim) if array.shape[axis] <= 1 or array.strides[axis] == array.itemsize]
    assert facts.unit_axis == (units[-1] if units else None)
    others = [array.strides[axis] for axis in axes if axis != facts.unit_axis]
    assert facts.vec16 is (bool(units) and all(value % 16 == 0 for value in (array.ctypes.data, *others)))
