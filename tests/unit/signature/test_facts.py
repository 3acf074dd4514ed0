"""The facts of a tensor: each rule at its edge."""

from __future__ import annotations

import numpy as np
import pytest

import darter.dtypes as dt
from darter.errors import ArgumentValueError
from darter.signature.argument import from_dlpack
from darter.signature.descriptor import Layout
from darter.signature.facts import is_wide, static_layout, tensor_facts, unit_axis
from darter.signature.reader import read_tensor
from darter.signature.view import TensorView


def view(
    shape: tuple[int, ...], strides: tuple[int, ...], address: int = 64, dtype: dt.ScalarType = dt.f32
) -> TensorView:
    return TensorView(address, dtype, shape, strides, 1, 0, False)


@pytest.mark.parametrize(
    ("shape", "strides", "expected"),
    [
        ((), (), None),
        ((4,), (1,), 0),
        ((4,), (2,), None),
        ((4, 4), (4, 1), 1),
        ((4, 4), (1, 4), 0),
        ((4, 1), (1, 9), 1),
        ((1, 4), (9, 2), 0),
        ((4, 0), (3, 3), 1),
        ((4, 4), (1, 1), 1),
        ((4, 4), (0, 0), None),
        ((4, 4), (4, -1), None),
    ],
)
def test_unit_axis_is_the_last_with_stride_one_or_at_most_one_element(shape, strides, expected) -> None:
    assert unit_axis(shape, strides) == expected


@pytest.mark.parametrize(
    ("shape", "strides", "address", "expected"),
    [
        ((4, 4), (4, 1), 64, True),
        ((4, 4), (4, 1), 68, False),
        ((4, 4), (5, 1), 64, False),
        ((1, 4), (5, 1), 64, True),  # the stride of an axis of one element means nothing
        ((4, 0), (5, 7), 64, False),
        ((4, 4), (-4, 1), 64, True),
        ((4, 4), (0, 1), 64, True),
        ((4, 4), (8, 2), 64, False),  # no unit axis
        ((), (), 64, False),
    ],
)
def test_vec16(shape, strides, address, expected) -> None:
    assert tensor_facts(view(shape, strides, address)).vec16 is expected


@pytest.mark.parametrize(
    ("shape", "strides", "item_bytes", "expected"),
    [
        ((2**30 - 1,), (0,), 1, False),
        ((2**30,), (0,), 1, True),
        ((0, 2**30), (0, 0), 1, True),
        ((2,), (2**30 - 1,), 1, False),
        ((2,), (2**30,), 1, True),
        ((2,), (2**28 - 1,), 4, False),
        ((2,), (2**28,), 4, True),
        ((2,), (-(2**30),), 1, True),
        ((2, 2), (2**29, 2**29), 1, True),
        ((2, 2), (2**29, 2**29 - 1), 1, False),
        ((2, 2), (2**29, -(2**29)), 1, False),  # the two sides are counted apart
        ((1,), (2**40,), 8, False),
        ((2**31, 2**31), (2**31, 1), 8, True),
        ((2**20, 2**20), (2**62, -(2**63)), 8, True),
    ],
)
def test_wide(shape, strides, item_bytes, expected) -> None:
    assert is_wide(shape, strides, item_bytes) is expected


def test_explicit_layouts_hold_the_values_of_now() -> None:
    array = np.zeros((6, 8), np.float32)
    explicit = from_dlpack(array)
    assert static_layout("x", explicit, read_tensor("x", array)) == Layout((6, 8), (8, 1), (1, 1), (1, 1))
    loose = explicit.mark_layout_dynamic(leading_dim=1, div=4)
    assert static_layout("x", loose, read_tensor("x", array)) == Layout((None, None), (None, 1), (1, 1), (4, 1))
    other = read_tensor("x", np.zeros((6, 10), np.float32))
    with pytest.raises(ArgumentValueError, match=r"argument 'x': found stride 10 on axis 0, .*multiple of 4"):
        static_layout("x", loose, other)
    with pytest.raises(ArgumentValueError, match="rank 1"):
        static_layout("x", loose, read_tensor("x", array[0]))


def test_strides_of_single_element_axes_read_as_one_and_satisfy_every_divisor() -> None:
    column = np.zeros((6, 1), np.float32)
    explicit = from_dlpack(np.lib.stride_tricks.as_strided(column, (6, 1), (4, 12)))
    layout = static_layout("x", explicit, read_tensor("x", explicit.source))
    assert layout.strides == (1, 1)
    loose = explicit.mark_stride_dynamic(1, div=16)
    assert static_layout("x", loose, read_tensor("x", loose.source)).stride_divisors == (1, 16)
