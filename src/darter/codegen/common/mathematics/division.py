"""Floor division and modulo of floats: ``floor(a / b)``, and an exact remainder with the divisor's sign."""

from __future__ import annotations

import math

from darter.codegen.common.lanes import Lanes
from darter.codegen.common.mathematics.core import Layout, layout
from darter.codegen.common.text import FunctionText, ModuleText


def floor_divide(lanes: Lanes, element: str, a: str, b: str) -> str:
    """Return floor(a / b)."""
    strict = lanes.strict()
    return strict.call("llvm.floor", element, strict.op("fdiv", element, a, b))


def floor_modulo(lanes: Lanes, element: str, a: str, b: str) -> str:
    """Return the remainder of a / b of b's sign: exact, but for the one addition where the signs differ."""
    lanes = lanes.strict()
    zero = lanes.real(element, 0.0)
    rest = remainder(lanes, element, a, b)
    negative = lanes.compare("olt", element, rest, zero)
    other = lanes.op("xor", "i1", negative, lanes.compare("olt", element, b, zero))
    nonzero = lanes.compare("une", element, rest, zero)
    moves = lanes.op("and", "i1", other, nonzero)
    rest = lanes.select(element, moves, lanes.op("fadd", element, rest, b), rest)
    is_zero = lanes.compare("oeq", element, rest, zero)
    return lanes.select(element, is_zero, lanes.call("llvm.copysign", element, zero, b), rest)


def remainder(lanes: Lanes, element: str, a: str, b: str) -> str:
    """Return C's fmod: exact, of a's sign."""
    text = lanes.text
    scalar = scalar_remainder(text.module, element)
    if lanes.width == 1:
        return text.call_function(scalar, element, (element, a), (element, b))
    name, t = f"darter.fmod.{element}.w{lanes.width}", lanes.type(element)

    def make() -> FunctionText:
        inner = FunctionText(text.module, f"define internal {t} @{name}({t} %a, {t} %b) #1")
        places = [inner.stack(t, 64) for _ in range(3)]
        inner.line(f"store {t} %a, ptr {places[0]}, align 64")
        inner.line(f"store {t} %b, ptr {places[1]}, align 64")
        with inner.counted(str(lanes.width), "lane") as lane:
            at = [inner.value(f"getelementptr {element}, ptr {place}, i64 {lane}") for place in places]
            pair = [(element, inner.value(f"load {element}, ptr {where}")) for where in at[:2]]
            inner.line(f"store {element} {inner.call_function(scalar, element, *pair)}, ptr {at[2]}")
        inner.line(f"ret {t} {inner.value(f'load {t}, ptr {places[2]}, align 64')}")
        return inner

    return text.call_function(text.module.helper(name, make), t, (t, a), (t, b))


def scalar_remainder(module: ModuleText, element: str) -> str:
    """Return the helper for one lane: long division of the mantissas, as many bits a step as 64 hold."""
    name = f"darter.fmod.{element}"
    return module.helper(name, lambda: _scalar_remainder(module, name, layout(element)))


def _scalar_remainder(module: ModuleText, name: str, form: Layout) -> FunctionText:
    element, integer = form.element, form.integer
    text = FunctionText(module, f"define internal {element} @{name}({element} %a, {element} %b) #1")
    lanes = Lanes(text, 1)
    size_a, size_b = lanes.call("llvm.fabs", element, "%a"), lanes.call("llvm.fabs", element, "%b")
    finite = lanes.compare("olt", element, size_a, lanes.real(element, math.inf))
    divides = lanes.compare("ogt", element, size_b, lanes.real(element, 0.0))
    small = lanes.compare("olt", element, size_a, size_b)
    fine = lanes.op("and", "i1", finite, divides)
    text.branch(fine, "sized", "undefined")
    text.begin("undefined")
    text.line(f"ret {element} {lanes.real(element, math.nan)}")
    text.begin("sized")
    text.branch(small, "same", "work")
    text.begin("same")
    text.line(f"ret {element} %a")
    text.begin("work")
    (ma, ea), (mb, eb) = (_decomposed(lanes, form, value) for value in (size_a, size_b))
    step = 63 - form.mantissa - 1
    distance = lanes.op("sub", "i64", ea, eb)
    first = lanes.op("urem", "i64", ma, mb)
    text.branch(lanes.compare("ugt", "i64", distance, "0"), "turn", "done")
    text.begin("turn")
    rest, left = text.name(), text.name()
    slots = text.reserve(), text.reserve()
    now = lanes.call("llvm.umin", "i64", left, str(step))
    reduced = lanes.op("urem", "i64", lanes.op("shl", "i64", rest, now), mb)
    less = lanes.op("sub", "i64", left, now)
    text.fill(slots[0], f"{rest} = phi i64 [ {first}, %work ], [ {reduced}, %turn ]")
    text.fill(slots[1], f"{left} = phi i64 [ {distance}, %work ], [ {less}, %turn ]")
    text.branch(lanes.compare("ugt", "i64", less, "0"), "turn", "done")
    text.begin("done")
    whole = text.phi("i64", (first, "work"), (reduced, "turn"))
    # The unit of b's mantissa, 2^(eb - bias - mantissa), by its bits, be it a denormal.
    normal = lanes.op("shl", "i64", lanes.op("sub", "i64", eb, str(form.mantissa)), str(form.mantissa))
    denormal = lanes.op("shl", "i64", "1", lanes.op("and", "i64", lanes.op("sub", "i64", eb, "1"), "63"))
    unit = lanes.select("i64", lanes.compare("ugt", "i64", eb, str(form.mantissa)), normal, denormal)
    unit = unit if integer == "i64" else lanes.convert("trunc", "i64", integer, unit)
    unit = lanes.convert("bitcast", integer, element, unit)
    value = lanes.op("fmul", element, lanes.convert("uitofp", "i64", element, whole), unit)
    text.line(f"ret {element} {lanes.call('llvm.copysign', element, value, '%a')}")
    return text


def _decomposed(lanes: Lanes, form: Layout, a: str) -> tuple[str, str]:
    """Return (mantissa with its hidden bit, biased exponent of at least 1) of a positive number, as i64."""
    whole = lanes.convert("bitcast", form.element, form.integer, a)
    whole = whole if form.integer == "i64" else lanes.convert("zext", form.integer, "i64", whole)
    field = lanes.op("lshr", "i64", whole, str(form.mantissa))
    low = lanes.op("and", "i64", whole, str((1 << form.mantissa) - 1))
    is_normal = lanes.compare("ne", "i64", field, "0")
    mantissa = lanes.select("i64", is_normal, lanes.op("or", "i64", low, str(1 << form.mantissa)), low)
    return mantissa, lanes.select("i64", is_normal, field, "1")
