"""What the language's operators mean, against Python's integers and exact rationals."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from darter import dtypes as dt
from darter.ir import arithmetic, nodes as n, numbers

INTEGERS = tuple(dtype for dtype in dt.ALL if dtype.is_integer)


def _edges(dtype: dt.ScalarType) -> list[int]:
    candidates = [dtype.min, dtype.min + 1, -7, -2, -1, 0, 1, 2, 3, 7, 100, dtype.max // 3, dtype.max - 1, dtype.max]
    return sorted({value for value in candidates if dtype.min <= value <= dtype.max})


def _wrapped(value: int, dtype: dt.ScalarType) -> int:
    value &= (1 << dtype.bits) - 1
    return value - (1 << dtype.bits) if value > dtype.max else value


def _python(op: n.BinaryOp, a: int, b: int, dtype: dt.ScalarType) -> int:
    match op:
        case n.BinaryOp.FLOORDIV:
            return a // b if b else 0
        case n.BinaryOp.MOD:
            return a % b if b else 0
        case n.BinaryOp.SHL:
            return a << (b % dtype.bits)
        case n.BinaryOp.SHR:
            return a >> (b % dtype.bits)
        case n.BinaryOp.MIN | n.BinaryOp.MAX:
            return min(a, b) if op is n.BinaryOp.MIN else max(a, b)
    symbol = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^"}[op.value]
    return eval(f"a {symbol} b", {"a": a, "b": b})


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("op", [op for op in n.BinaryOp if op is not n.BinaryOp.DIV], ids=lambda op: op.value)
def test_integers_wrap_and_floor(op: n.BinaryOp, dtype: dt.ScalarType) -> None:
    pairs = [(a, b) for a in _edges(dtype) for b in _edges(dtype)]
    x, y = (np.array(side, numbers.storage(dtype)) for side in zip(*pairs, strict=True))
    with np.errstate(all="ignore"):
        found = arithmetic.binary(op, x, y, dtype)
    assert found.dtype == x.dtype
    assert found.tolist() == [_wrapped(_python(op, a, b, dtype), dtype) for a, b in pairs]


@pytest.mark.parametrize("dtype", [dt.Float16, dt.BFloat16], ids=str)
@pytest.mark.parametrize("op", [n.BinaryOp.ADD, n.BinaryOp.SUB, n.BinaryOp.MUL], ids=lambda op: op.value)
def test_narrow_floats_round_the_exact_result(op: n.BinaryOp, dtype: dt.ScalarType) -> None:
    random = np.random.default_rng(1)
    x, y = (random.integers(0, 1 << 15, 500).astype(np.uint16) for _ in range(2))
    a, b = numbers.decode(x, dtype).astype(float), numbers.decode(y, dtype).astype(float)
    kept = np.isfinite(a) & np.isfinite(b)
    with np.errstate(all="ignore"):
        exact = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[op.value](a, b)
        found = arithmetic.binary(op, x, y, dtype)
    np.testing.assert_array_equal(found[kept], numbers.encode(exact, dtype)[kept])


def test_extremes_propagate_nan_and_order_zeros() -> None:
    x = np.array([1.0, np.nan, 1.0, -0.0, 0.0], np.float32)
    y = np.array([2.0, 1.0, np.nan, 0.0, -0.0], np.float32)
    low = arithmetic.binary(n.BinaryOp.MIN, x, y, dt.Float32)
    high = arithmetic.binary(n.BinaryOp.MAX, x, y, dt.Float32)
    assert low[0] == 1.0
    assert np.isnan(low[1:3]).all()
    assert np.signbit(low[3:]).tolist() == [True, True]
    assert high[0] == 2.0
    assert np.isnan(high[1:3]).all()
    assert np.signbit(high[3:]).tolist() == [False, False]


def test_negation_and_absolute_value_change_the_sign_bit_only() -> None:
    x = np.array([0.0, -0.0, np.inf, 1.5], np.float32)
    assert np.signbit(arithmetic.unary(n.UnaryOp.NEG, x, dt.Float32)).tolist() == [True, False, True, True]
    assert arithmetic.unary(n.UnaryOp.ABS, np.array([-128, 5], np.int8), dt.Int8).tolist() == [-128, 5]


@pytest.mark.parametrize(
    ("op", "expected"),
    [(n.UnaryOp.POPCOUNT, [0, 1, 8, 1, 2]), (n.UnaryOp.CLZ, [8, 7, 0, 0, 5]), (n.UnaryOp.CTZ, [8, 0, 0, 7, 1])],
)
@pytest.mark.parametrize("dtype", [dt.Int8, dt.UInt8])
def test_bits_are_counted_in_the_width_of_the_type(op: n.UnaryOp, expected: list[int], dtype: dt.ScalarType) -> None:
    words = np.array([0, 1, 255, 128, 6], np.uint8).view(dtype.numpy())
    assert arithmetic.unary(op, words, dtype).tolist() == expected
    assert arithmetic.unary(n.UnaryOp.NEG, np.array([0x0000], np.uint16), dt.BFloat16).tolist() == [0x8000]


def _correctly_rounded(exact: Fraction, dtype: dt.ScalarType) -> float:
    if dtype is dt.Float64:
        return float(exact)
    near = np.float32(float(exact))
    candidates = [near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))]
    distance = [(abs(Fraction(float(c)) - exact), int(c.view(np.uint32)) & 1) for c in candidates]
    return float(candidates[distance.index(min(distance))])


@pytest.mark.parametrize("dtype", [dt.Float32, dt.Float64], ids=str)
def test_fma_rounds_once(dtype: dt.ScalarType) -> None:
    random = np.random.default_rng(7)
    kind = dtype.numpy_name
    a, b = ((1 + random.random(400)).astype(kind) for _ in range(2))
    # Addends near -a·b cancel, addends far below it decide ties: both are where two roundings go wrong.
    scale = 2.0 ** random.integers(-60, 2, 400)
    c = np.where(random.random(400) < 0.5, -(a * b), a * scale).astype(kind)
    found = arithmetic.fma(a, b, c, dtype)
    for lane in range(400):
        exact = Fraction(float(a[lane])) * Fraction(float(b[lane])) + Fraction(float(c[lane]))
        assert float(found[lane]) == _correctly_rounded(exact, dtype)


@pytest.mark.parametrize("dtype", [dt.Float32, dt.Float64], ids=str)
def test_fma_of_special_values(dtype: dt.ScalarType) -> None:
    inf, nan = math.inf, math.nan
    lanes = [
        (inf, 0.0, 1.0),
        (inf, 1.0, -inf),
        (1.0, inf, 1.0),
        (1e30, 1e30, -inf),
        (0.0, -1.0, 0.0),
        (0.0, -1.0, -0.0),
    ]
    a, b, c = (np.array(side, dtype.numpy_name) for side in zip(*lanes, strict=True))
    with np.errstate(all="ignore"):
        found = arithmetic.fma(a, b, c, dtype)
    np.testing.assert_array_equal(found, np.array([nan, nan, inf, -inf, 0.0, -0.0], dtype.numpy_name))
    assert np.signbit(found[4:]).tolist() == [False, True]


def test_float_floor_division_and_modulo_have_the_divisors_sign() -> None:
    x = np.array([7.5, -7.5, 7.5, -7.5, 6.0, -6.0], np.float32)
    y = np.array([2.0, 2.0, -2.0, -2.0, 2.0, 2.0], np.float32)
    assert arithmetic.binary(n.BinaryOp.FLOORDIV, x, y, dt.Float32).tolist() == [3, -4, -4, 3, 3, -3]
    assert arithmetic.binary(n.BinaryOp.MOD, x, y, dt.Float32).tolist() == [1.5, 0.5, -0.5, -1.5, 0, 0]


def _with(function: Any, value: float) -> Any:
    return function(value, 1.7)


@pytest.mark.parametrize("op", list(n.MathOp), ids=lambda op: op.value)
@pytest.mark.parametrize("dtype", [dt.Float32, dt.Float64], ids=str)
def test_functions_are_those_of_mathematics(op: n.MathOp, dtype: dt.ScalarType) -> None:
    points = [0.3, 1.0, 2.5]
    if op in (n.MathOp.ACOSH, n.MathOp.ASIN, n.MathOp.ACOS, n.MathOp.ATANH):
        points = [1.0, 1.5, 2.5] if op is n.MathOp.ACOSH else [0.1, 0.3, 0.9]
    reference: dict[str, Any] = {
        "rsqrt": lambda v: 1 / math.sqrt(v),
        "rint": round,
        "exp2": lambda v: 2.0**v,
        "tgamma": math.gamma,
        **{name: functools.partial(_with, getattr(math, name)) for name in ("pow", "atan2", "hypot", "fmod")},
    }
    function = reference.get(op.value) or getattr(math, op.value)
    x = np.array(points, dtype.numpy_name)
    operands = (x, np.full(3, 1.7, x.dtype)) if op in n.BINARY_MATH else (x,)
    found = arithmetic.math_function(op, operands, dtype)
    assert found.dtype == x.dtype
    np.testing.assert_allclose(found, [function(point) for point in points], rtol=3e-7)


def test_fma_of_doubles_overflows_to_infinity() -> None:
    big = np.array([1e308, -1e308])
    assert arithmetic.fma(big, np.array([10.0, 10.0]), np.zeros(2), dt.Float64).tolist() == [math.inf, -math.inf]
