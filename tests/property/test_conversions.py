"""Every conversion of the narrow floats against ml_dtypes and exact rationals: all codes, midpoints and beside them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from darter import dtypes as dt
from darter.ir import numbers

NARROW = tuple(numbers.ENCODINGS)
FLOAT8 = tuple(dtype for dtype in NARROW if dtype.is_float8)
INTEGERS = tuple(dtype for dtype in dt.ALL if dtype.is_integer)


def all_codes(dtype: dt.ScalarType) -> np.ndarray:
    return np.arange(1 << dtype.bits, dtype=numbers.storage(dtype))


def by_ml_dtypes(codes: np.ndarray, dtype: dt.ScalarType) -> np.ndarray:
    return codes.view(dtype.numpy()).astype(np.float32)


def midpoints(dtype: dt.ScalarType) -> np.ndarray:
    """Return every finite value of a type, the midpoints between neighbours, and f32 one ulp around each."""
    values = numbers.decode(all_codes(dtype), dtype)
    values = np.unique(values[np.isfinite(values)]).astype(np.float64)
    step = values[-1] - values[-2]
    middle = np.concatenate([(values[1:] + values[:-1]) / 2, [values[-1] + step / 2, -values[-1] - step / 2]])
    points = np.concatenate([values, middle]).astype(np.float32)
    around = [points, np.nextafter(points, np.float32(np.inf)), np.nextafter(points, np.float32(-np.inf))]
    special = np.array([np.inf, -np.inf, np.nan, -0.0, 1e-45, -1e-45, 3.4e38, -3.4e38], np.float32)
    return np.concatenate([*around, special])


def same_floats(found: np.ndarray, expected: np.ndarray) -> None:
    """Assert equal bits, any NaN being equal to any other."""
    nan = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(found), nan)
    np.testing.assert_array_equal(found[~nan].view("u4"), expected[~nan].view("u4"))


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_every_code_widens_to_its_value(dtype: dt.ScalarType) -> None:
    codes = all_codes(dtype)
    same_floats(numbers.decode(codes, dtype), by_ml_dtypes(codes, dtype))


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_every_code_survives_widening_and_narrowing(dtype: dt.ScalarType) -> None:
    codes = all_codes(dtype)
    wide = numbers.decode(codes, dtype)
    kept = np.isfinite(wide)
    np.testing.assert_array_equal(numbers.encode(wide, dtype)[kept], codes[kept])
    same_floats(numbers.decode(numbers.encode(wide[~kept & np.isnan(wide)], dtype), dtype), wide[np.isnan(wide)])


@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("source", [np.float32, np.float64], ids=["f32", "f64"])
def test_midpoints_round_to_even_and_float8_saturates(dtype: dt.ScalarType, source: type) -> None:
    points = midpoints(dtype).astype(source)
    found = numbers.decode(numbers.encode(points, dtype), dtype)
    largest = numbers.decode(np.array([numbers.ENCODINGS[dtype].largest]), dtype)[0]
    # ml_dtypes overflows to infinity or NaN where darter saturates.
    inside = np.clip(points, -largest, largest) if dtype.is_float8 else points
    with np.errstate(all="ignore"):
        expected = inside.astype(dtype.numpy()).astype(np.float32)
    same_floats(found, expected)


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_doubles_just_beside_a_midpoint_round_once(dtype: dt.ScalarType) -> None:
    values = numbers.decode(all_codes(dtype), dtype)
    values = np.unique(values[np.isfinite(values)]).astype(np.float64)
    middle = (values[1:] + values[:-1]) / 2
    for toward, neighbour in ((np.inf, values[1:]), (-np.inf, values[:-1])):
        beside = np.nextafter(middle, toward)
        found = numbers.decode(numbers.encode(beside, dtype), dtype).astype(np.float64)
        np.testing.assert_array_equal(found, neighbour)


@pytest.mark.parametrize("target", INTEGERS, ids=str)
@pytest.mark.parametrize("source", NARROW, ids=str)
def test_every_code_becomes_an_integer_as_python_says(source: dt.ScalarType, target: dt.ScalarType) -> None:
    codes = all_codes(source)
    values = by_ml_dtypes(codes, source)
    expected = [_to_integer(float(value), target) for value in values]
    np.testing.assert_array_equal(numbers.cast(codes, source, target), np.array(expected, numbers.storage(target)))


def _to_integer(value: float, target: dt.ScalarType) -> int:
    if value != value:
        return 0
    return int(min(max(value, target.min), target.max)) if abs(value) < 2**70 else (target.min, target.max)[value > 0]


@pytest.mark.parametrize("target", NARROW, ids=str)
@pytest.mark.parametrize("source", INTEGERS, ids=str)
def test_integers_round_once_to_narrow_floats(source: dt.ScalarType, target: dt.ScalarType) -> None:
    interesting = {source.min, source.max, 0, 1}
    for exponent in range(source.bits):
        for mantissa in (128, 129, 257, 1025, 2049, 4097):
            base = mantissa << exponent
            interesting.update(sign * (base + near) for sign in (1, -1) for near in (-1, 0, 1))
    lanes = np.array(sorted(v for v in interesting if source.min <= v <= source.max), numbers.storage(source))
    found = numbers.decode(numbers.cast(lanes, source, target), target)
    finite = numbers.decode(all_codes(target), target).astype(np.float64)
    finite = np.unique(finite[np.isfinite(finite)])
    for lane, value in zip(lanes.tolist(), found.tolist(), strict=True):
        if np.isfinite(value):
            near = finite[max(0, np.searchsorted(finite, value) - 1) :][:3]
            best = min(abs(Fraction(lane) - Fraction(float(other))) for other in near)
            assert abs(Fraction(lane) - Fraction(value)) == best, (lane, value)
        else:
            assert abs(lane) > finite[-1]


def test_fnuz_has_one_zero_and_one_nan() -> None:
    for dtype in (dt.Float8E4M3FNUZ, dt.Float8E5M2FNUZ):
        found = numbers.encode(np.array([0.0, -0.0, -1e-30, np.nan, -np.nan], np.float32), dtype)
        assert found.tolist() == [0, 0, 0, 0x80, 0x80]


def test_float8_saturates_infinities_and_keeps_nan() -> None:
    for dtype in FLOAT8:
        found = numbers.decode(numbers.encode(np.array([np.inf, -np.inf, np.nan], np.float32), dtype), dtype)
        largest = numbers.decode(np.array([numbers.ENCODINGS[dtype].largest]), dtype)[0]
        assert found[:2].tolist() == [largest, -largest]
        assert np.isnan(found[2])


@pytest.mark.parametrize("source", [dt.Float32, dt.Float64], ids=str)
@pytest.mark.parametrize("target", INTEGERS, ids=str)
def test_floats_saturate_to_integers(source: dt.ScalarType, target: dt.ScalarType) -> None:
    edges = [0.0, -0.0, 0.99, -0.99, 1e30, -1e30, np.inf, -np.inf, np.nan, float(target.min), float(target.max)]
    lanes = np.array([near for edge in edges for near in (edge, edge - 1, edge + 1)], source.numpy_name)
    near = np.concatenate([lanes, np.nextafter(lanes, -np.inf), np.nextafter(lanes, np.inf)]).astype(lanes.dtype)
    expected = [_to_integer(float(value), target) for value in near]
    found = numbers.cast(near, source, target)
    np.testing.assert_array_equal(found, np.array(expected, numbers.storage(target)))
