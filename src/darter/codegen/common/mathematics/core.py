"""What the functions share: the layout of f32 and f64, polynomials, rounding to whole numbers, powers of two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from darter.codegen.common.lanes import Lanes


@dataclass(frozen=True, slots=True)
class Layout:
    """A float type: its LLVM ``element``, the ``integer`` of its width, ``mantissa`` bits and exponent ``bias``."""

    element: str
    integer: str
    mantissa: int
    bias: int

    @property
    def magic(self) -> float:
        """Added to a smaller number, it leaves that number's nearest whole number in the low bits."""
        return 1.5 * 2.0**self.mantissa

    @property
    def magic_bits(self) -> int:
        return ((self.bias + self.mantissa) << self.mantissa) | 1 << (self.mantissa - 1)


SINGLE = Layout("float", "i32", 23, 127)
DOUBLE = Layout("double", "i64", 52, 1023)


def layout(element: str) -> Layout:
    return SINGLE if element == "float" else DOUBLE


def bits(lanes: Lanes, form: Layout, a: str) -> str:
    return lanes.convert("bitcast", form.element, form.integer, a)


def from_bits(lanes: Lanes, form: Layout, a: str) -> str:
    return lanes.convert("bitcast", form.integer, form.element, a)


def polynomial(lanes: Lanes, element: str, x: str, coefficients: Sequence[float]) -> str:
    """Return the polynomial of ``coefficients`` (highest power first) by Horner's rule."""
    result = lanes.real(element, coefficients[0])
    for coefficient in coefficients[1:]:
        result = lanes.fma(element, result, x, lanes.real(element, coefficient))
    return result


def nearest(lanes: Lanes, form: Layout, a: str) -> tuple[str, str]:
    """Return the whole number nearest to ``a`` as a float and as an integer; |a| is below half the magic number.

    A NaN gives NaN and some integer, where ``fptosi`` would give poison.
    """
    moved = lanes.op("fadd", form.element, a, lanes.real(form.element, form.magic))
    whole = lanes.op("sub", form.integer, bits(lanes, form, moved), lanes.integer(form.integer, form.magic_bits))
    return lanes.op("fsub", form.element, moved, lanes.real(form.element, form.magic)), whole


def clamp(lanes: Lanes, element: str, a: str, low: float, high: float) -> str:
    """Return ``a`` held between two bounds; NaN stays."""
    least, most = lanes.real(element, low), lanes.real(element, high)
    a = lanes.select(element, lanes.compare("olt", element, a, least), least, a)
    return lanes.select(element, lanes.compare("ogt", element, a, most), most, a)


def power_of_two(lanes: Lanes, form: Layout, exponent: str) -> str:
    """Return 2^exponent of an integer in the normal range."""
    biased = lanes.op("add", form.integer, exponent, lanes.integer(form.integer, form.bias))
    return from_bits(lanes, form, lanes.op("shl", form.integer, biased, lanes.integer(form.integer, form.mantissa)))


def scale(lanes: Lanes, form: Layout, a: str, exponent: str) -> str:
    """Return a·2^exponent in two steps, so that overflow gives infinity and denormals round once."""
    half = lanes.op("ashr", form.integer, exponent, lanes.integer(form.integer, 1))
    rest = lanes.op("sub", form.integer, exponent, half)
    first = lanes.op("fmul", form.element, a, power_of_two(lanes, form, half))
    return lanes.op("fmul", form.element, first, power_of_two(lanes, form, rest))


def magnitude(lanes: Lanes, element: str, a: str) -> str:
    return lanes.call("llvm.fabs", element, a)


def with_sign(lanes: Lanes, element: str, a: str, sign: str) -> str:
    return lanes.call("llvm.copysign", element, a, sign)


def negated(lanes: Lanes, element: str, a: str) -> str:
    return lanes.negate(element, a)
