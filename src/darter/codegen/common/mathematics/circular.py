"""sin, cos and tan: the angle reduced to a quadrant and a rest of at most π/4, polynomials there.

Below 2^30 the rest comes from π/2 in three parts with fused multiply-adds; beyond, lane by lane, from as many bits of
2/π as the angle's exponent asks for (the method of Payne and Hanek).  f32 angles are reduced in f64.
"""

from __future__ import annotations

import math

from darter.codegen.common.lanes import Lanes
from darter.codegen.common.mathematics.core import DOUBLE, magnitude, nearest, polynomial
from darter.codegen.common.text import FunctionText, ModuleText

_TWO_OVER_PI = 0.6366197723675814
_HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
_LARGE = 2.0**30
# The first 1280 bits of 2/π.
_TWO_OVER_PI_BITS = int(
    "A2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBBC561"
    "B7246E3A424DD2E006492EEA09D1921CFE1DEB1CB129A73EE88235F52EBB4484"
    "E99C7026B45F7E413991D639835339F49C845F8BBDF9283B1FF897FFDE05980F"
    "EF2F118B5A0A6D1F6D367ECF27CB09B74F463F669E5FEA2D7527BAC7EBE5F17B"
    "3D0739F78A5292EA6BFB5FB11F8D5D0856033046FC7B6BABF0CFBC209AF4361D",
    16,
)
# (sin(r)/r - 1)/r² and (cos(r) - 1 + r²/2)/r⁴ over r²: 2.0e-8, 2.0e-9 and 2.1e-17, 1.3e-18.
_SIN = {
    "float": (-0.000195876391, 0.008332747105, -0.1666666466),
    "double": (
        1.5917988979397433e-10, -2.5051129896450186e-8, 2.7557316093198405e-6, -0.00019841269836740532,
        0.0083333333333309366, -0.16666666666666665,
    ),
}  # fmt: skip
_COS = {
    "float": (2.454768977e-5, -0.001388830187, 0.04166666465),
    "double": (
        -1.138254464534925e-11, 2.0876145049413179e-9, -2.755731726587808e-7, 2.4801587298754401e-5,
        -0.001388888888888739, 0.041666666666666665,
    ),
}  # fmt: skip


def sin(lanes: Lanes, element: str, x: str) -> str:
    return _circular(lanes, element, x, 0)


def cos(lanes: Lanes, element: str, x: str) -> str:
    return _circular(lanes, element, x, 1)


def tan(lanes: Lanes, x: str) -> str:
    """Return sin(x)/cos(x) in Float64; Float32 goes through it."""
    return lanes.op("fdiv", "double", sin(lanes, "double", x), cos(lanes, "double", x))


def _circular(lanes: Lanes, element: str, x: str, quarter: int) -> str:
    """Return sin(x + quarter·π/2)."""
    wide = lanes.convert("fpext", "float", "double", x) if element == "float" else x
    rest, quadrant = _reduce(lanes, wide, 2 if element == "float" else 3)
    quadrant = lanes.op("add", "i64", quadrant, lanes.integer("i64", quarter))
    r = lanes.convert("fptrunc", "double", "float", rest) if element == "float" else rest
    square = lanes.op("fmul", element, r, r)
    cube = lanes.op("fmul", element, square, r)
    sine = lanes.fma(element, cube, polynomial(lanes, element, square, _SIN[element]), r)
    odd = lanes.convert("trunc", "i64", "i1", quadrant)
    value = lanes.select(element, odd, _cosine(lanes, element, square), sine)
    second = lanes.convert("trunc", "i64", "i1", lanes.op("lshr", "i64", quadrant, lanes.integer("i64", 1)))
    value = lanes.select(element, second, lanes.negate(element, value), value)
    if quarter == 0:
        # The sine of -0 is -0.
        value = lanes.select(element, lanes.compare("oeq", element, x, lanes.real(element, 0.0)), x, value)
    finite = lanes.compare("olt", element, magnitude(lanes, element, x), lanes.real(element, math.inf))
    return lanes.select(element, finite, value, lanes.real(element, math.nan))


def _cosine(lanes: Lanes, element: str, square: str) -> str:
    one = lanes.real(element, 1.0)
    half = lanes.op("fmul", element, square, lanes.real(element, 0.5))
    near = lanes.op("fsub", element, one, half)
    lost = lanes.op("fsub", element, lanes.op("fsub", element, one, near), half)
    fourth = lanes.op("fmul", element, square, square)
    rest = lanes.fma(element, fourth, polynomial(lanes, element, square, _COS[element]), lost)
    return lanes.op("fadd", element, near, rest)


def _reduce(lanes: Lanes, x: str, parts: int) -> tuple[str, str]:
    """Return (r, q) of f64 ``x``: x = q·π/2 + r with |r| <= π/4; q (i64) counts modulo 4."""
    text = lanes.text
    scaled = lanes.op("fmul", "double", x, lanes.real("double", _TWO_OVER_PI))
    whole, quadrant = nearest(lanes, DOUBLE, scaled)
    rest = x
    for part in _HALF_PI[:parts]:
        rest = lanes.fma("double", whole, lanes.real("double", -part), rest)
    large = lanes.compare("oge", "double", magnitude(lanes, "double", x), lanes.real("double", _LARGE))
    some = large
    if lanes.width > 1:
        mask = text.value(f"bitcast {lanes.type('i1')} {large} to i{lanes.width}")
        some = text.value(f"icmp ne i{lanes.width} {mask}, 0")
    beyond, join, before = text.fresh_label("large"), text.fresh_label("reduced"), text.label
    text.branch(some, beyond, join)
    text.begin(beyond)
    far_rest, far_quadrant = _reduce_large(lanes, x, large, rest, quadrant)
    after = text.label
    text.jump(join)
    text.begin(join)
    return (
        text.phi(lanes.type("double"), (rest, before), (far_rest, after)),
        text.phi(lanes.type("i64"), (quadrant, before), (far_quadrant, after)),
    )


def _reduce_large(lanes: Lanes, x: str, large: str, rest: str, quadrant: str) -> tuple[str, str]:
    """Return (rest, quadrant) with the lanes of ``large`` replaced."""
    text = lanes.text
    name = text.module.helper("darter.reduce_angle", lambda: _reduce_angle(text.module))
    if lanes.width == 1:
        return _call(text, name, x)
    kinds = (("double", x), ("double", rest), ("i64", quadrant), ("i8", lanes.convert("zext", "i1", "i8", large)))
    places = []
    for element, data in kinds:
        place = text.stack(lanes.type(element), 64)
        text.line(f"store {lanes.type(element)} {data}, ptr {place}, align 64")
        places.append((element, place))
    with text.counted(str(lanes.width), "lane") as lane:
        at = [text.value(f"getelementptr {element}, ptr {place}, i64 {lane}") for element, place in places]
        flag = text.value(f"trunc i8 {text.value(f'load i8, ptr {at[3]}')} to i1")
        work, skip = text.fresh_label("work"), text.fresh_label("skip")
        text.branch(flag, work, skip)
        text.begin(work)
        one_rest, one_quadrant = _call(text, name, text.value(f"load double, ptr {at[0]}"))
        text.line(f"store double {one_rest}, ptr {at[1]}")
        text.line(f"store i64 {one_quadrant}, ptr {at[2]}")
        text.jump(skip)
        text.begin(skip)
    return (
        text.value(f"load {lanes.type('double')}, ptr {places[1][1]}, align 64"),
        text.value(f"load {lanes.type('i64')}, ptr {places[2][1]}, align 64"),
    )


def _call(text: FunctionText, name: str, x: str) -> tuple[str, str]:
    pair = text.call_function(name, "{ double, i64 }", ("double", x))
    return text.value(f"extractvalue {{ double, i64 }} {pair}, 0"), text.value(
        f"extractvalue {{ double, i64 }} {pair}, 1"
    )


def _table(module: ModuleText) -> str:
    """Return the constant of 2/π: 64 bits of 0 (the whole part), then its first 1280 bits, highest words first."""
    words = [0, *((_TWO_OVER_PI_BITS >> shift) & (1 << 64) - 1 for shift in range(1216, -64, -64))]
    numbers = ", ".join(f"i64 {word - (1 << 64) if word >> 63 else word}" for word in words)
    return module.constant("darter.two_over_pi", f"[{len(words)} x i64] [{numbers}]")


def _reduce_angle(module: ModuleText) -> FunctionText:
    """Write the reduction of one |x| >= 2^30: x = m·2^e, m·(192 bits of 2/π from weight 2^(2-e) on) modulo 4."""
    text = FunctionText(module, "define internal { double, i64 } @darter.reduce_angle(double %x) #1")
    lanes = Lanes(text, 1)
    whole = lanes.convert("bitcast", "double", "i64", "%x")
    field = lanes.op("and", "i64", lanes.op("lshr", "i64", whole, "52"), "2047")
    m = lanes.op("or", "i64", lanes.op("and", "i64", whole, str((1 << 52) - 1)), str(1 << 52))
    # The exponent of infinity and NaN would read beyond the table.
    field = lanes.call("llvm.umin", "i64", field, "2046")
    start = lanes.op("sub", "i64", field, str(1075 + 2 - 64))
    word, shift = lanes.op("lshr", "i64", start, "6"), lanes.op("and", "i64", start, "63")
    table = _table(module)
    first = text.value(f"getelementptr i64, ptr @{table}, i64 {word}")
    words = [text.value(f"load i64, ptr {text.value(f'getelementptr i64, ptr {first}, i64 {i}')}") for i in range(4)]
    high, middle, low = (lanes.call("llvm.fshl", "i64", words[i], words[i + 1], shift) for i in range(3))
    carry = _upper(lanes, _product(lanes, m, low))
    second = lanes.op("add", "i128", _product(lanes, m, middle), lanes.convert("zext", "i64", "i128", carry))
    top = lanes.op("add", "i64", lanes.op("mul", "i64", m, high), _upper(lanes, second))
    quadrant = lanes.op("lshr", "i64", lanes.op("add", "i64", top, str(1 << 61)), "62")
    top = lanes.op("sub", "i64", top, lanes.op("shl", "i64", quadrant, "62"))
    bottom = lanes.convert("trunc", "i128", "i64", second)
    rest = _angle(lanes, top, bottom)
    negative = lanes.compare("slt", "i64", whole, "0")
    rest = lanes.select("double", negative, lanes.negate("double", rest), rest)
    quadrant = lanes.select("i64", negative, lanes.op("sub", "i64", "0", quadrant), quadrant)
    pair = text.value(f"insertvalue {{ double, i64 }} poison, double {rest}, 0")
    pair = text.value(f"insertvalue {{ double, i64 }} {pair}, i64 {quadrant}, 1")
    text.line(f"ret {{ double, i64 }} {pair}")
    return text


def _product(lanes: Lanes, a: str, b: str) -> str:
    return lanes.op("mul", "i128", lanes.convert("zext", "i64", "i128", a), lanes.convert("zext", "i64", "i128", b))


def _upper(lanes: Lanes, a: str) -> str:
    return lanes.convert("trunc", "i128", "i64", lanes.op("lshr", "i128", a, "64"))


def _angle(lanes: Lanes, top: str, bottom: str) -> str:
    """Return (top:bottom, signed)·2^-126·π/2 as f64, with all its bits."""
    wide = lanes.op("shl", "i128", lanes.convert("zext", "i64", "i128", top), "64")
    wide = lanes.op("or", "i128", wide, lanes.convert("zext", "i64", "i128", bottom))
    negative = lanes.compare("slt", "i128", wide, "0")
    size = lanes.select("i128", negative, lanes.op("sub", "i128", "0", wide), wide)
    zeros = lanes.text.call("llvm.ctlz", "i128", "i128", ("i128", size), ("i1", "false"))
    zeros = lanes.op("and", "i128", zeros, "127")
    lead = _upper(lanes, lanes.op("shl", "i128", size, zeros))
    tail = lanes.op("and", "i64", lead, "2047")
    head = lanes.convert("uitofp", "i64", "double", lanes.op("xor", "i64", lead, tail))
    tail = lanes.convert("uitofp", "i64", "double", tail)
    high, low = lanes.real("double", _HALF_PI[0]), lanes.real("double", _HALF_PI[1])
    rest = lanes.fma("double", head, low, lanes.op("fmul", "double", tail, high))
    value = lanes.fma("double", head, high, rest)
    count = lanes.convert("trunc", "i128", "i64", zeros)
    factor = lanes.op("shl", "i64", lanes.op("sub", "i64", str(1023 - 62), count), "52")
    value = lanes.op("fmul", "double", value, lanes.convert("bitcast", "i64", "double", factor))
    return lanes.select("double", negative, lanes.negate("double", value), value)
