"""Conversions between all scalar types, bit-equal on every backend.

Narrow floats are made by integer sequences, rounded once to nearest even, denormals kept.  f16 goes through the F16C
instructions where the target has them: they round to nearest even whatever the flush modes are, as the sequences do.
A plain ``fptrunc`` to ``bfloat`` would call a library function that does not exist.
"""

from __future__ import annotations

from darter.codegen.common.formats import BY_DTYPE, Format
from darter.codegen.common.lanes import Lanes
from darter.codegen.common.types import mangled, register_type
from darter.dtypes import BFloat16, Bool, Float16, Float32, Float64, Kind, ScalarType

_INFINITY_BITS = 0x7F800000


def cast(lanes: Lanes, source: ScalarType, target: ScalarType, a: str, f16c: bool) -> str:
    """Return ``a`` converted from ``source`` to ``target`` by the rules of ``ir.nodes.Cast``."""
    lanes = lanes.strict()
    if source is target:
        return a
    if source.is_float8:
        return cast(lanes, Float32, target, widen(lanes, source, a, f16c), f16c)
    if target is Bool:
        element = register_type(source)
        if source.is_float:
            return lanes.compare("une", element, a, lanes.real(element, 0.0))
        return lanes.compare("ne", element, a, lanes.integer(element, 0))
    if source.is_float:
        return _from_float(lanes, source, target, a, f16c)
    if target.is_float:
        return _from_integer(lanes, source, target, a, f16c)
    return _resize(lanes, source, target, a)


def _resize(lanes: Lanes, source: ScalarType, target: ScalarType, a: str) -> str:
    """Convert Bool or an integer to an integer."""
    from_bits = 1 if source is Bool else source.bits
    if from_bits == target.bits:
        return a
    if from_bits > target.bits:
        return lanes.convert("trunc", register_type(source), register_type(target), a)
    opcode = "sext" if source.kind is Kind.INT else "zext"
    return lanes.convert(opcode, register_type(source), register_type(target), a)


def _from_float(lanes: Lanes, source: ScalarType, target: ScalarType, a: str, f16c: bool) -> str:
    element = register_type(source)
    if target.is_integer:
        base = "llvm.fptosi.sat" if target.is_signed else "llvm.fptoui.sat"
        whole = register_type(target)
        suffix = f"{mangled(whole, lanes.width)}.{mangled(element, lanes.width)}"
        return lanes.text.call(base, suffix, lanes.type(whole), (lanes.type(element), a))
    if target is Float64:
        return lanes.convert("fpext", "float", "double", a)
    if target is Float32:
        return lanes.convert("fptrunc", "double", "float", a) if element == "double" else a
    single = _odd_float(lanes, a) if element == "double" else a
    return narrow(lanes, target, single, f16c)


def _from_integer(lanes: Lanes, source: ScalarType, target: ScalarType, a: str, f16c: bool) -> str:
    opcode, element = ("sitofp" if source.kind is Kind.INT else "uitofp"), register_type(source)
    if target in (Float32, Float64):
        return lanes.convert(opcode, element, register_type(target), a)
    if source is Bool or source.bits <= 16:
        return narrow(lanes, target, lanes.convert(opcode, element, "float", a), f16c)
    if source.bits == 64:
        a = _sticky(lanes, source, a)
    return narrow(lanes, target, _odd_float(lanes, lanes.convert(opcode, element, "double", a)), f16c)


def _sticky(lanes: Lanes, source: ScalarType, a: str) -> str:
    """Return 64-bit ``a`` with at most 53 significant bits, the lowest standing for all that were dropped."""
    low = lanes.op("and", "i64", a, lanes.integer("i64", 0x7FF))
    dropped = lanes.compare("ne", "i64", low, lanes.integer("i64", 0))
    high = lanes.op("xor", "i64", a, low)
    odd = lanes.op(
        "or", "i64", high, lanes.select("i64", dropped, lanes.integer("i64", 0x800), lanes.integer("i64", 0))
    )
    if source.is_signed:
        # |a| >= 2^53, as one unsigned comparison.
        moved = lanes.op("add", "i64", a, lanes.integer("i64", 1 << 53))
        large = lanes.compare("ugt", "i64", moved, lanes.integer("i64", 1 << 54))
    else:
        large = lanes.compare("ugt", "i64", a, lanes.integer("i64", 1 << 53))
    return lanes.select("i64", large, odd, a)


def _odd_float(lanes: Lanes, a: str) -> str:
    """Return f64 ``a`` as f32 rounded to odd, which a second rounding to at most 22 bits cannot tell from ``a``."""
    near = lanes.convert("fptrunc", "double", "float", a)
    back = lanes.convert("fpext", "float", "double", near)
    bits = lanes.convert("bitcast", "float", "i32", near)
    beyond = lanes.compare(
        "ogt", "double", lanes.call("llvm.fabs", "double", back), lanes.call("llvm.fabs", "double", a)
    )
    inward = lanes.select("i32", beyond, lanes.op("sub", "i32", bits, lanes.integer("i32", 1)), bits)
    odd = lanes.op("or", "i32", inward, lanes.integer("i32", 1))
    exact = lanes.compare("ueq", "double", back, a)
    return lanes.convert("bitcast", "i32", "float", lanes.select("i32", exact, bits, odd))


# -- narrow floats ----------------------------------------------------------------------------------------------------


def narrow(lanes: Lanes, target: ScalarType, a: str, f16c: bool) -> str:
    """Return f32 ``a`` rounded to ``target`` (f16, bf16 or float8), as a register holds it."""
    if target is BFloat16:
        return round_bfloat16(lanes, a)
    if target is Float16:
        return round_float16(lanes, a, f16c)
    return lanes.convert("trunc", "i32", "i8", _encode(lanes, a, BY_DTYPE[target]))


def widen(lanes: Lanes, source: ScalarType, a: str, f16c: bool) -> str:
    """Return the f32 value of a register of a narrow float type."""
    if not source.is_float8:
        return a
    return _decode(lanes, lanes.convert("zext", "i8", "i32", a), BY_DTYPE[source])


def round_bfloat16(lanes: Lanes, a: str) -> str:
    """Return f32 ``a`` rounded to the nearest bf16, as f32; NaN keeps its sign and becomes quiet."""
    bits = lanes.convert("bitcast", "float", "i32", a)
    odd = lanes.op("and", "i32", lanes.op("lshr", "i32", bits, lanes.integer("i32", 16)), lanes.integer("i32", 1))
    moved = lanes.op("add", "i32", lanes.op("add", "i32", bits, lanes.integer("i32", 0x7FFF)), odd)
    rounded = lanes.op("and", "i32", moved, lanes.integer("i32", -0x10000))
    sign = lanes.op("and", "i32", bits, lanes.integer("i32", -(1 << 31)))
    nan = lanes.op("or", "i32", sign, lanes.integer("i32", 0x7FC00000))
    result = lanes.select("i32", lanes.compare("uno", "float", a, a), nan, rounded)
    return lanes.convert("bitcast", "i32", "float", result)


def round_float16(lanes: Lanes, a: str, f16c: bool) -> str:
    """Return f32 ``a`` rounded to the nearest f16, as f32."""
    if f16c:
        return lanes.convert("fpext", "half", "float", lanes.convert("fptrunc", "float", "half", a))
    return _decode(lanes, _encode(lanes, a, BY_DTYPE[Float16]), BY_DTYPE[Float16])


def _encode(lanes: Lanes, a: str, form: Format) -> str:
    """Return the bits of f32 ``a`` in ``form`` (whose exponents are fewer than those of f32), as i32."""
    lanes, shift = lanes.strict(), 23 - form.mantissa_bits
    bits = lanes.convert("bitcast", "float", "i32", a)
    magnitude = lanes.op("and", "i32", bits, lanes.integer("i32", 0x7FFFFFFF))
    odd = lanes.op(
        "and", "i32", lanes.op("lshr", "i32", magnitude, lanes.integer("i32", shift)), lanes.integer("i32", 1)
    )
    rebias = ((1 << (shift - 1)) - 1) - ((127 - form.bias) << 23)
    moved = lanes.op("add", "i32", lanes.op("add", "i32", magnitude, lanes.integer("i32", rebias)), odd)
    normal = lanes.op("lshr", "i32", moved, lanes.integer("i32", shift))
    # Added to a power of two whose unit in the last place is the denormal spacing, the sum rounds as the format would.
    unit = 2.0 ** (1 - form.bias - form.mantissa_bits + 23)
    total = lanes.op("fadd", "float", lanes.convert("bitcast", "i32", "float", magnitude), lanes.real("float", unit))
    unit_bits = (1 - form.bias - form.mantissa_bits + 23 + 127) << 23
    denormal = lanes.op("sub", "i32", lanes.convert("bitcast", "float", "i32", total), lanes.integer("i32", unit_bits))
    small = lanes.compare("ult", "i32", magnitude, lanes.integer("i32", (128 - form.bias) << 23))
    code = lanes.select("i32", small, denormal, normal)
    above = lanes.compare("ugt", "i32", code, lanes.integer("i32", form.max_code))
    code = lanes.select("i32", above, lanes.integer("i32", form.overflow_code), code)
    return _sign_and_nan(lanes, form, bits, magnitude, code)


def _sign_and_nan(lanes: Lanes, form: Format, bits: str, magnitude: str, code: str) -> str:
    sign_bit = 1 << (form.bits - 1)
    moved = lanes.op("lshr", "i32", bits, lanes.integer("i32", 32 - form.bits))
    sign = lanes.op("and", "i32", moved, lanes.integer("i32", sign_bit))
    nan = lanes.compare("ugt", "i32", magnitude, lanes.integer("i32", _INFINITY_BITS))
    if not form.unsigned_zero:
        return lanes.op("or", "i32", sign, lanes.select("i32", nan, lanes.integer("i32", form.nan_code), code))
    zero = lanes.compare("eq", "i32", code, lanes.integer("i32", 0))
    signed = lanes.select("i32", zero, lanes.integer("i32", 0), lanes.op("or", "i32", sign, code))
    return lanes.select("i32", nan, lanes.integer("i32", form.nan_code), signed)


def _decode(lanes: Lanes, code: str, form: Format) -> str:
    """Return the f32 value of i32 ``code`` in ``form``."""
    lanes, shift = lanes.strict(), 23 - form.mantissa_bits
    sign_bit = 1 << (form.bits - 1)
    magnitude = lanes.op("and", "i32", code, lanes.integer("i32", sign_bit - 1))
    moved = lanes.op("shl", "i32", magnitude, lanes.integer("i32", shift))
    normal = lanes.op("add", "i32", moved, lanes.integer("i32", (127 - form.bias) << 23))
    spacing = lanes.real("float", 2.0 ** (1 - form.bias - form.mantissa_bits))
    scaled = lanes.op("fmul", "float", lanes.convert("uitofp", "i32", "float", magnitude), spacing)
    small = lanes.compare("ult", "i32", magnitude, lanes.integer("i32", 1 << form.mantissa_bits))
    value = lanes.select("i32", small, lanes.convert("bitcast", "float", "i32", scaled), normal)
    special = lanes.compare("ugt", "i32", magnitude, lanes.integer("i32", form.max_code))
    if form.infinity_code is not None:
        # The payload of a NaN keeps its place under the widened exponent.
        value = lanes.select("i32", special, lanes.op("or", "i32", moved, lanes.integer("i32", _INFINITY_BITS)), value)
    elif not form.unsigned_zero:
        value = lanes.select("i32", special, lanes.integer("i32", 0x7FC00000), value)
    sign = lanes.op("and", "i32", code, lanes.integer("i32", sign_bit))
    value = lanes.op("or", "i32", value, lanes.op("shl", "i32", sign, lanes.integer("i32", 32 - form.bits)))
    if form.unsigned_zero:
        alone = lanes.compare("eq", "i32", lanes.op("and", "i32", code, lanes.integer("i32", 2 * sign_bit - 1)),
                              lanes.integer("i32", sign_bit))  # fmt: skip
        value = lanes.select("i32", alone, lanes.integer("i32", 0x7FC00000), value)
    return lanes.convert("bitcast", "i32", "float", value)


# -- bits and memory --------------------------------------------------------------------------------------------------


def from_memory(lanes: Lanes, dtype: ScalarType, a: str, f16c: bool) -> str:
    """Return what was loaded as ``memory_type(dtype)`` as a register holds it."""
    if dtype is Bool:
        return lanes.compare("ne", "i8", a, lanes.integer("i8", 0))
    if dtype is BFloat16:
        wide = lanes.convert("zext", "i16", "i32", a)
        return lanes.convert("bitcast", "i32", "float", lanes.op("shl", "i32", wide, lanes.integer("i32", 16)))
    if dtype is Float16:
        if f16c:
            return lanes.convert("fpext", "half", "float", lanes.convert("bitcast", "i16", "half", a))
        return _decode(lanes, lanes.convert("zext", "i16", "i32", a), BY_DTYPE[Float16])
    return a


def to_memory(lanes: Lanes, dtype: ScalarType, a: str, f16c: bool) -> str:
    """Return register ``a`` as ``memory_type(dtype)``; exact, since the register already is rounded."""
    if dtype is Bool:
        return lanes.convert("zext", "i1", "i8", a)
    if dtype is BFloat16:
        bits = lanes.convert("bitcast", "float", "i32", a)
        return lanes.convert("trunc", "i32", "i16", lanes.op("lshr", "i32", bits, lanes.integer("i32", 16)))
    if dtype is Float16:
        if f16c:
            return lanes.convert("bitcast", "half", "i16", lanes.convert("fptrunc", "float", "half", a))
        return lanes.convert("trunc", "i32", "i16", _encode(lanes, a, BY_DTYPE[Float16]))
    return a


def reinterpret(lanes: Lanes, source: ScalarType, target: ScalarType, a: str, f16c: bool) -> str:
    """Return the bits of ``a`` seen as ``target``, which has the same width."""
    if source.bits in (32, 64):
        if register_type(source) == register_type(target):
            return a
        return lanes.convert("bitcast", register_type(source), register_type(target), a)
    return from_memory(lanes, target, to_memory(lanes, source, a, f16c), f16c)
