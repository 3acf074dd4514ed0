"""Scalars: natural types, what an annotation takes, and the edges of every range."""

from __future__ import annotations

import enum
import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import darter.dtypes as dt
from darter.errors import ArgumentTypeError, ArgumentValueError
from darter.signature.scalars import natural_type, scalar_type


class Color(enum.IntEnum):
    RED = 1


class Metres(float):
    pass


def test_natural_types() -> None:
    assert [natural_type(value) for value in (True, 1, 1.0)] == [dt.Bool, dt.Int64, dt.Float32]
    for dtype in dt.ALL:
        assert natural_type(dtype(1)) is dtype
    assert natural_type(np.longlong(1)) is dt.Int64
    for other in (
        Color.RED,
        Metres(1),
        1j,
        "1",
        None,
        np.complex64(1),
        np.str_("a"),
        np.datetime64(1, "s"),
        np.longdouble(1),
    ):
        assert natural_type(other) is None


INTEGERS = [dtype for dtype in dt.ALL if dtype.is_integer]
FLOATS = [dtype for dtype in dt.ALL if dtype.is_float]


@pytest.mark.parametrize("dtype", INTEGERS, ids=repr)
def test_integers_take_their_range_and_no_more(dtype: dt.ScalarType) -> None:
    for value in (dtype.min, dtype.max, dtype(dtype.max)):
        assert scalar_type("n", value, dtype) is dtype
    for value in (dtype.min - 1, dtype.max + 1, 10**40):
        with pytest.raises(
            ArgumentValueError, match=rf"argument 'n': found {value}, out of range for dt\.{dtype.__name__}"
        ):
            scalar_type("n", value, dtype)
    for wrong in (1.0, True, np.bool_(1), np.float32(1), Color.RED, None, "1", [1], np.array(1)):
        with pytest.raises(ArgumentTypeError, match="argument 'n': found"):
            scalar_type("n", wrong, dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=repr)
def test_floats_take_numbers_that_round_to_finite_ones(dtype: dt.ScalarType) -> None:
    largest = float(ml_dtypes.finfo(dtype.numpy()).max)
    for value in (largest, -largest, 1, np.int8(1), np.float64(0.1), ml_dtypes.bfloat16(1), math.inf, math.nan):
        assert scalar_type("a", value, dtype) is dtype
    beyond = 10**400 if dtype is dt.Float64 else int(largest) * 2
    with pytest.raises(ArgumentValueError, match="out of range"):
        scalar_type("a", beyond, dtype)
    for wrong in (True, np.bool_(1), 1j, None, "1", Metres(1)):
        with pytest.raises(ArgumentTypeError, match="argument 'a': found"):
            scalar_type("a", wrong, dtype)


def test_bools_take_bools() -> None:
    assert scalar_type("b", True, dt.Bool) is scalar_type("b", np.bool_(0), dt.Bool) is dt.Bool
    for wrong in (1, 0, 1.0, np.int8(1), [True]):
        with pytest.raises(ArgumentTypeError, match=r"accepted for dt\.Bool: bool"):
            scalar_type("b", wrong, dt.Bool)


@pytest.mark.parametrize("value", [1 << 63, -(1 << 63) - 1, 1e39, -1e39])
def test_unannotated_numbers_are_checked_against_their_natural_type(value: Any) -> None:
    with pytest.raises(ArgumentValueError, match="argument 'n'"):
        scalar_type("n", value, None)


def test_numpy_scalars_without_annotation_keep_their_own_type() -> None:
    assert scalar_type("n", np.uint64(2**64 - 1), None) is dt.UInt64
    assert scalar_type("n", np.float64(1e300), None) is dt.Float64
