"""Integer operations whose corner cases the language defines: shifts, floor division and modulo."""

from __future__ import annotations

from darter.codegen.common.lanes import Lanes


def shift_amount(lanes: Lanes, element: str, amount: str, constant: int | None) -> str:
    """Return ``amount`` modulo the width of ``element``."""
    bits = int(element[1:])
    if constant is not None:
        return lanes.integer(element, constant % bits)
    return lanes.op("and", element, amount, lanes.integer(element, bits - 1))


def _power_of_two(constant: int | None) -> int | None:
    """Return the exponent of a positive power of two."""
    if constant is None or constant <= 0 or constant & (constant - 1):
        return None
    return constant.bit_length() - 1


def floor_divide(lanes: Lanes, element: str, signed: bool, a: str, b: str, constant: int | None) -> str:
    """Return floor(a / b); 0 where b is 0; the smallest integer // -1 wraps.  ``constant`` is b, if it is known."""
    exponent = _power_of_two(constant)
    if exponent is not None:
        return lanes.op("ashr" if signed else "lshr", element, a, lanes.integer(element, exponent))
    quotient, remainder, zero = _divide(lanes, element, signed, a, b, constant)
    if signed:
        low = lanes.op("sub", element, quotient, lanes.integer(element, 1))
        quotient = lanes.select(element, _adjusts(lanes, element, remainder, b), low, quotient)
    return quotient if zero is None else lanes.select(element, zero, lanes.integer(element, 0), quotient)


def floor_modulo(lanes: Lanes, element: str, signed: bool, a: str, b: str, constant: int | None) -> str:
    """Return a - floor(a / b)·b, of b's sign; 0 where b is 0."""
    exponent = _power_of_two(constant)
    if exponent is not None:
        return lanes.op("and", element, a, lanes.integer(element, (1 << exponent) - 1))
    _, remainder, zero = _divide(lanes, element, signed, a, b, constant)
    if signed:
        high = lanes.op("add", element, remainder, b)
        remainder = lanes.select(element, _adjusts(lanes, element, remainder, b), high, remainder)
    return remainder if zero is None else lanes.select(element, zero, lanes.integer(element, 0), remainder)


def _adjusts(lanes: Lanes, element: str, remainder: str, b: str) -> str:
    """Return where truncation and floor differ: the remainder is not 0 and its sign is not b's."""
    zero = lanes.integer(element, 0)
    other_sign = lanes.compare("slt", element, lanes.op("xor", element, remainder, b), zero)
    return lanes.op("and", "i1", other_sign, lanes.compare("ne", element, remainder, zero))


def _divide(
    lanes: Lanes, element: str, signed: bool, a: str, b: str, constant: int | None
) -> tuple[str, str, str | None]:
    """Return the truncated quotient, the remainder and where b is 0 (None: nowhere); no operand can trap."""
    if constant is not None and constant not in (0, -1):
        divisor, zero, minus_one = b, None, None
    else:
        zero = lanes.compare("eq", element, b, lanes.integer(element, 0))
        minus_one = lanes.compare("eq", element, b, lanes.integer(element, -1)) if signed else None
        special = zero if minus_one is None else lanes.op("or", "i1", zero, minus_one)
        divisor = lanes.select(element, special, lanes.integer(element, 1), b)
    quotient = lanes.op("sdiv" if signed else "udiv", element, a, divisor)
    if minus_one is not None:
        # The smallest integer / -1 traps: divided by 1 instead, then negated, which wraps.
        negated = lanes.op("sub", element, lanes.integer(element, 0), quotient)
        quotient = lanes.select(element, minus_one, negated, quotient)
    remainder = lanes.op("sub", element, a, lanes.op("mul", element, quotient, b))
    return quotient, remainder, zero
