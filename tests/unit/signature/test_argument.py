"""Explicit arguments: a static layout, loosened step by step, never in place."""

from __future__ import annotations

import numpy as np
import pytest

from darter.errors import ArgumentTypeError, ArgumentValueError
from darter.signature.argument import TensorArgument, from_dlpack


def marks(argument: TensorArgument) -> tuple[int, int, tuple[int, ...], tuple[int, ...]]:
    return argument.shape_mask, argument.stride_mask, argument.shape_divisors, argument.stride_divisors


def test_everything_is_static_at_first_and_marks_return_new_arguments() -> None:
    array = np.zeros((2, 3, 4))
    first = from_dlpack(array)
    assert first.source is array
    assert from_dlpack(first) is first
    assert marks(first) == (0b111, 0b111, (1, 1, 1), (1, 1, 1))
    assert marks(first.mark_shape_dynamic([0, -1], div=2)) == (0b010, 0b111, (2, 1, 2), (1, 1, 1))
    assert marks(first.mark_shape_dynamic()) == (0, 0b111, (1, 1, 1), (1, 1, 1))
    assert marks(first.mark_stride_dynamic(1, div=4)) == (0b111, 0b101, (1, 1, 1), (1, 4, 1))
    assert marks(first.mark_layout_dynamic()) == (0, 0b100, (1, 1, 1), (1, 1, 1))
    assert marks(first.mark_layout_dynamic(div=4)) == (0, 0b100, (1, 1, 1), (4, 4, 1))
    assert marks(first) == (0b111, 0b111, (1, 1, 1), (1, 1, 1))


def test_the_leading_dimension_is_found_or_checked() -> None:
    array = np.zeros((2, 3, 4))
    assert from_dlpack(array.T).mark_layout_dynamic().stride_mask == 0b001
    assert from_dlpack(array.T).mark_layout_dynamic(-3).stride_mask == 0b001
    assert from_dlpack(array[:, :, ::2]).mark_layout_dynamic().stride_mask == 0
    assert from_dlpack(array[:, :, :1]).mark_layout_dynamic().stride_mask == 0b100
    with pytest.raises(ArgumentValueError, match="axis 0 has stride 12"):
        from_dlpack(array).mark_layout_dynamic(0)


def test_arguments_are_immutable_and_say_what_they_are() -> None:
    argument = from_dlpack(np.zeros((2, 3)))
    with pytest.raises(AttributeError, match="immutable"):
        argument.shape_mask = 0
    assert repr(argument) == "dt.from_dlpack(<ndarray>, static shape (0, 1), static strides (0, 1))"


@pytest.mark.parametrize("dims", [2, -3, [0, 2]])
def test_axes_out_of_range_are_refused(dims) -> None:
    with pytest.raises(ArgumentValueError, match="out of range for a tensor of rank 2"):
        from_dlpack(np.zeros((2, 3))).mark_shape_dynamic(dims)


@pytest.mark.parametrize("div", [0, -1, 2.0, True, 1 << 63])
def test_divisors_are_positive_ints(div) -> None:
    with pytest.raises(ArgumentValueError, match="positive int"):
        from_dlpack(np.zeros(3)).mark_stride_dynamic(div=div)


def test_what_is_no_tensor_or_has_too_many_axes_is_refused() -> None:
    with pytest.raises(ArgumentTypeError, match="argument 't'"):
        from_dlpack([1, 2])
    if int(np.__version__.split(".")[0]) >= 2:
        with pytest.raises(ArgumentValueError, match="at most 32"):
            from_dlpack(np.zeros((1,) * 33))
    with pytest.raises(ArgumentTypeError, match="an axis is an int"):
        from_dlpack(np.zeros(3)).mark_shape_dynamic(["0"])
