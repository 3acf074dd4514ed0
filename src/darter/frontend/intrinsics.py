"""What the intrinsics of ``darter.lang`` mean: each emits its node."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

from darter.dtypes import BFloat16, Bool, Float16, Float32, Int32, ScalarType, UInt64
from darter.errors import KernelTypeError, KernelValueError
from darter.frontend.access import mark_written, stored_value
from darter.frontend.casts import convert
from darter.frontend.operators import arithmetic, binary, math_function, truth
from darter.frontend.promotion import as_value, common_type, default_type, is_number, runtime, strong
from darter.frontend.static_operators import run_native, static_binary
from darter.frontend.structure import join, leaf_type
from darter.frontend.tensors import address
from darter.frontend.tracer import Tracer
from darter.frontend.values import (
    DeviceValue,
    FormattedText,
    PointerValue,
    RegisterArray,
    SharedArray,
    TensorValue,
    is_runtime,
    kind_of,
)
from darter.ir.nodes import (
    Assert,
    Atomic,
    AtomicOp,
    Barrier,
    Binary,
    BinaryOp,
    Bitcast,
    DynamicShared,
    Fma,
    MathOp,
    Order,
    PointerType,
    Print,
    Scope,
    Select,
    SharedAlloc,
    Shuffle,
    ShuffleMode,
    Space,
    Unary,
    UnaryOp,
    Value,
    Vote,
    VoteMode,
)
from darter.lang import host

Handler = Callable[[Tracer, list[Any], dict[str, Any]], Any]


def _bound(t: Tracer, name: str, arguments: list[Any], keywords: dict[str, Any], *names: str) -> list[Any]:
    """Return the arguments of an intrinsic by name; a name that ends in ``=`` may be missing (None)."""
    plain = [n.rstrip("=") for n in names]
    values = dict(zip(plain, arguments, strict=False))
    wrong = [key for key in keywords if key not in plain or key in values]
    if len(arguments) > len(names) or wrong:
        found = f"unexpected '{wrong[0]}'" if wrong else f"{len(arguments)} arguments"
        t.fail(KernelTypeError, f"dt.{name} is called wrongly", found=found, accepted=f"dt.{name}({', '.join(names)})")
    values.update(keywords)
    for key, shown in zip(plain, names, strict=True):
        if key not in values and not shown.endswith("="):
            t.fail(KernelTypeError, f"dt.{name} is missing argument '{key}'", accepted=f"dt.{name}({', '.join(names)})")
    return [values.get(key) for key in plain]


def _kernel_only(t: Tracer, name: str) -> None:
    if t.host:
        t.fail(KernelTypeError, f"dt.{name} has no meaning in a launcher", advice="use it in the kernel")


def _number(t: Tracer, value: Any, name: str) -> Any:
    value = strong(t, value)
    if not is_number(value):
        t.fail(KernelTypeError, f"dt.{name} takes a number", found=kind_of(value))
    return value


def cast_call(t: Tracer, dtype: ScalarType, arguments: list[Any], keywords: dict[str, Any]) -> DeviceValue:
    """``dt.Float32(v)``: a cast."""
    if keywords or len(arguments) != 1:
        t.fail(KernelTypeError, f"dt.{dtype.__name__}(v) casts one value", found=f"{len(arguments)} arguments")
    if dtype.code == 0:
        t.fail(KernelTypeError, "dt.Scalar is no type of a value", accepted="dt.Float32, dt.Int32, …")
    return convert(t, arguments[0], dtype)


# -- mathematics ------------------------------------------------------------------------------------------------------

_STATIC_MATH: dict[str, Callable[..., Any]] = {
    "exp": math.exp,
    "exp2": lambda x: 2.0**x,
    "log": math.log,
    "log2": math.log2,
    "sqrt": math.sqrt,
    "rsqrt": lambda x: 1.0 / math.sqrt(x),
    "tanh": math.tanh,
    "erf": math.erf,
    "sin": math.sin,
    "cos": math.cos,
    "pow": math.pow,
    "floor": lambda x: float(math.floor(x)),
    "ceil": lambda x: float(math.ceil(x)),
    "trunc": lambda x: float(math.trunc(x)),
    "rint": lambda x: float(round(x)),
}


def _math(name: str, t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    names = ("x", "y") if name == "pow" else ("x",)
    values = [_number(t, value, name) for value in _bound(t, name, arguments, keywords, *names)]
    if not any(isinstance(value, DeviceValue) for value in values):
        return run_native(t, lambda: _STATIC_MATH[name](*values), f"dt.{name}")
    return math_function(t, MathOp(name), tuple(values), f"dt.{name}")


def _fma(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    _kernel_only(t, "fma")
    a, b, c = (_number(t, value, "fma") for value in _bound(t, "fma", arguments, keywords, "a", "b", "c"))
    dtype: Any = None
    for value in (a, b, c):
        if isinstance(value, DeviceValue):
            dtype = value.dtype if dtype is None else common_type(t, DeviceValue(Value(dtype)), value, "dt.fma")
    if dtype is None:
        return a * b + c
    if not dtype.is_float or dtype.is_float8:
        t.fail(KernelTypeError, "dt.fma takes floats", found=f"{kind_of(a)}, {kind_of(b)}, {kind_of(c)}")
    wide = Float32 if dtype in (Float16, BFloat16) else dtype
    result = Value(wide)
    t.emit(Fma(result, as_value(t, a, wide), as_value(t, b, wide), as_value(t, c, wide)))
    return DeviceValue(t.cast(result, dtype))


def absolute(t: Tracer, value: Any) -> Any:
    """``abs(v)``."""
    value = _number(t, value, "abs")
    if not isinstance(value, DeviceValue):
        return abs(value)
    if value.dtype.is_float8:
        t.fail(KernelTypeError, f"abs of {value.dtype.name}: float8 values must be cast first", advice="dt.Float32(v)")
    if value.dtype is Bool or not value.dtype.is_signed:
        return value
    result = Value(value.dtype)
    t.emit(Unary(result, UnaryOp.ABS, value.value))
    return DeviceValue(result, value.weak, value.multiple)


def _abs(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    return absolute(t, *_bound(t, "abs", arguments, keywords, "x"))


def extremum(t: Tracer, name: str, values: list[Any]) -> Any:
    """``min`` or ``max`` of two or more numbers; NaN propagates."""
    result = _number(t, values[0], name)
    for value in values[1:]:
        result = _extremum_of_two(t, name, result, _number(t, value, name))
    return result


def _extremum_of_two(t: Tracer, name: str, a: Any, b: Any) -> Any:
    if not isinstance(a, DeviceValue) and not isinstance(b, DeviceValue):
        return (min if name == "min" else max)(a, b)
    dtype = common_type(t, a, b, f"dt.{name}")
    if dtype.is_float8:
        t.fail(KernelTypeError, f"{name} of {dtype.name}: float8 values must be cast first", advice="dt.Float32(v)")
    op = BinaryOp.MIN if name == "min" else BinaryOp.MAX
    if dtype is Bool:
        op = BinaryOp.AND if name == "min" else BinaryOp.OR
    result = Value(dtype)
    t.emit(Binary(result, op, as_value(t, a, dtype), as_value(t, b, dtype)))
    weak = all(not isinstance(v, DeviceValue) or v.weak for v in (a, b))
    return DeviceValue(result, weak)


def _extremum(name: str, t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    if keywords or not arguments:
        t.fail(KernelTypeError, f"dt.{name} takes one or more numbers")
    return extremum(t, name, arguments)


def _where(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    condition, a, b = _bound(t, "where", arguments, keywords, "condition", "a", "b")
    known = truth(t, condition)
    if not isinstance(known, Value):
        return a if known else b
    a, b = _number(t, a, "where"), _number(t, b, "where")
    joined = join(leaf_type(a), leaf_type(b))
    if isinstance(a, DeviceValue) or isinstance(b, DeviceValue):
        dtype = common_type(t, a, b, "dt.where")
    elif joined is not None:
        dtype = default_type(a if joined.type is default_type(a) else b)
    else:
        t.fail(KernelTypeError, "dt.where takes two numbers of one kind", found=f"{kind_of(a)} and {kind_of(b)}")
    result = Value(dtype)
    t.emit(Select(result, known, as_value(t, a, dtype), as_value(t, b, dtype)))
    return DeviceValue(result)


def _bitcast(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    value, dtype = _bound(t, "bitcast", arguments, keywords, "value", "dtype")
    value = _number(t, value, "bitcast")
    if not isinstance(dtype, ScalarType):
        t.fail(KernelTypeError, "dt.bitcast takes a scalar type second", found=kind_of(dtype))
    if not isinstance(value, DeviceValue):
        t.fail(KernelTypeError, "dt.bitcast takes a value of known type", found=kind_of(value), advice="dt.Float32(v)")
    if value.dtype.bits != dtype.bits or Bool in (value.dtype, dtype):
        t.fail(KernelTypeError, "dt.bitcast keeps the width", found=f"{value.dtype.name} to {dtype.name}")
    result = Value(dtype)
    t.emit(Bitcast(result, value.value))
    return DeviceValue(result)


# -- memory -----------------------------------------------------------------------------------------------------------


def _scalar_type(t: Tracer, dtype: Any, name: str) -> ScalarType:
    if not isinstance(dtype, ScalarType) or dtype.code == 0:
        t.fail(
            KernelTypeError, f"dt.{name} takes a scalar type first", found=kind_of(dtype), accepted="dt.f32, dt.i32, …"
        )
    return dtype


def _static_count(t: Tracer, value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        t.fail(
            KernelValueError, f"the size in dt.{name} is a positive number known at compile time", found=kind_of(value)
        )
    return value


def _shared(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    _kernel_only(t, "shared")
    dtype, shape = _bound(t, "shared", arguments, keywords, "dtype", "shape")
    dtype = _scalar_type(t, dtype, "shared")
    extents = shape if isinstance(shape, tuple) else (shape,)
    extents = tuple(_static_count(t, extent, "shared") for extent in extents)
    pointer = Value(PointerType(dtype, Space.SHARED), "shared")
    node = SharedAlloc(pointer, math.prod(extents), 16)
    node.loc = t.loc()
    t.prologue.append(node)
    return SharedArray(pointer, extents)


def _dynamic_shared(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    _kernel_only(t, "dynamic_shared")
    (dtype,) = _bound(t, "dynamic_shared", arguments, keywords, "dtype")
    pointer = Value(PointerType(_scalar_type(t, dtype, "dynamic_shared"), Space.SHARED), "dynamic_shared")
    node = DynamicShared(pointer)
    node.loc = t.loc()
    t.prologue.append(node)
    return SharedArray(pointer, None)


def _array(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    _kernel_only(t, "array")
    dtype, n, init = _bound(t, "array", arguments, keywords, "dtype", "n", "init=")
    dtype = _scalar_type(t, dtype, "array")
    count = _static_count(t, n, "array")
    if isinstance(init, (tuple, list, RegisterArray)):
        values = list(init.items) if isinstance(init, RegisterArray) else list(init)
        if len(values) != count:
            t.fail(KernelValueError, f"dt.array of {count} is initialised with {len(values)} values")
    else:
        values = [(False if dtype is Bool else 0) if init is None else init] * count
    items = [DeviceValue(stored_value(t, value, dtype)) for value in values]
    return RegisterArray(dtype, items, t.next_serial())


def _barrier(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> None:
    _kernel_only(t, "barrier")
    _bound(t, "barrier", arguments, keywords)
    t.emit(Barrier())


_INTEGERS_ONLY = (AtomicOp.AND, AtomicOp.OR, AtomicOp.XOR)


def _atomic(op: AtomicOp, t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    name = f"atomic_{op.value}"
    _kernel_only(t, name)
    names = ("target", "index", "expected", "value") if op is AtomicOp.CAS else ("target", "index", "value")
    values = _bound(t, name, arguments, keywords, *names, "order=", "scope=")
    target, index, *operands, order, scope = values
    if not isinstance(target, (TensorValue, PointerValue, SharedArray)):
        t.fail(KernelTypeError, f"dt.{name} takes a tensor, pointer or shared memory first", found=kind_of(target))
    place = address(t, target, index)
    dtype = place.element
    accepted = (dtype.is_integer and dtype.bits >= 32) or (dtype.is_float and dtype.bits >= 32)
    if not accepted or (op in _INTEGERS_ONLY and not dtype.is_integer):
        kinds = "i32, u32, i64, u64" + ("" if op in _INTEGERS_ONLY else ", f32, f64")
        t.fail(KernelTypeError, f"dt.{name} on memory of {dtype.name}", accepted=kinds)
    mark_written(t, target)
    expected = stored_value(t, operands[0], dtype) if op is AtomicOp.CAS else None
    value = stored_value(t, operands[-1], dtype)
    result = Value(dtype)
    chosen = _member(t, Order, order or "relaxed", "order"), _member(t, Scope, scope or "device", "scope")
    t.emit(Atomic(result, op, place.pointer, place.offset, value, expected, *chosen))
    return DeviceValue(result)


def _member(t: Tracer, kind: Any, value: Any, name: str) -> Any:
    try:
        return kind(value)
    except ValueError:
        accepted = ", ".join(repr(member.value) for member in kind)
        raise t.error(KernelValueError, f"{name} is unknown", found=repr(value), accepted=accepted) from None


# -- warps ------------------------------------------------------------------------------------------------------------


def _shuffle(mode: ShuffleMode, operand: str, t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    name = "shuffle_" + {"index": "idx"}.get(mode.value, mode.value)
    _kernel_only(t, name)
    value, lane = _bound(t, name, arguments, keywords, "value", operand)
    number = runtime(t, _number(t, value, name))
    if number.dtype.bits < 16 or number.dtype is Bool:
        return _shuffle_narrow(t, mode, operand, number, lane)
    if number.dtype.bits == 16 and not number.dtype.is_float:
        return _shuffle_narrow(t, mode, operand, number, lane)
    lane_value = _number(t, lane, name)
    if isinstance(lane_value, (bool, float)) or (
        isinstance(lane_value, DeviceValue) and not lane_value.dtype.is_integer
    ):
        t.fail(KernelTypeError, f"dt.{name} takes an integer second", found=kind_of(lane_value))
    result = Value(number.dtype)
    t.emit(Shuffle(result, mode, number.value, as_value(t, lane_value, Int32)))
    return DeviceValue(result, number.weak)


def _shuffle_narrow(t: Tracer, mode: ShuffleMode, operand: str, value: DeviceValue, lane: Any) -> DeviceValue:
    """Shuffle a Bool or a small integer as Int32, float8 as Float32: exact both ways."""
    wide = Float32 if value.dtype.is_float else Int32
    moved = _shuffle(mode, operand, t, [convert(t, value, wide), lane], {})
    return convert(t, moved, value.dtype)


def _vote(mode: VoteMode, name: str, t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    _kernel_only(t, name)
    (predicate,) = _bound(t, name, arguments, keywords, "predicate")
    known = truth(t, predicate)
    value = known if isinstance(known, Value) else t.const(Bool, known)
    result = Value(UInt64 if mode is VoteMode.BALLOT else Bool)
    t.emit(Vote(result, mode, value))
    return DeviceValue(result)


# -- host and device --------------------------------------------------------------------------------------------------


def _cdiv(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    a, b = (strong(t, v) for v in _bound(t, "cdiv", arguments, keywords, "a", "b"))
    for value in (a, b):
        if (
            isinstance(value, float)
            or not is_number(value)
            or (isinstance(value, DeviceValue) and not value.dtype.is_integer)
        ):
            t.fail(KernelTypeError, "dt.cdiv takes integers", found=f"{kind_of(a)} and {kind_of(b)}")
    if not isinstance(a, DeviceValue) and not isinstance(b, DeviceValue):
        return static_binary(t, "//", lambda x, y: (x + y - 1) // y, a, b)
    total = arithmetic(t, "+", a, b - 1) if isinstance(b, int) else arithmetic(t, "-", arithmetic(t, "+", a, b), 1)
    return binary(t, "//", operator.floordiv, total, b)


def _static_range(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    start, stop, step = _bound(t, "static_range", arguments, keywords, "start", "stop=", "step=")
    if any(map(is_runtime, (start, stop, step))):
        t.fail(
            KernelTypeError,
            "dt.static_range takes numbers known at compile time",
            found=", ".join(map(kind_of, arguments)),
            advice="use range for a run-time loop",
        )
    return run_native(t, lambda: host.static_range(start, stop, 1 if step is None else step), "dt.static_range")


def _text(t: Tracer, values: list[Any]) -> tuple[tuple[str, ...], tuple[DeviceValue, ...]]:
    """Return the pieces and operands of values printed one after the other, with spaces between them."""
    pieces, operands = [""], []
    for position, value in enumerate(values):
        value = strong(t, value)
        pieces[-1] += " " if position else ""
        if isinstance(value, DeviceValue):
            operands.append(value)
            pieces.append("")
        elif isinstance(value, FormattedText):
            pieces[-1] += value.pieces[0]
            pieces.extend(value.pieces[1:])
            operands.extend(value.operands)
        elif is_runtime(value):
            t.fail(KernelTypeError, "this cannot be printed", found=kind_of(value), accepted="numbers and strings")
        else:
            pieces[-1] += str(value)
    return tuple(pieces), tuple(operands)


def print_values(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> None:
    """``dt.print(...)``."""
    _kernel_only(t, "print")
    if keywords:
        t.fail(KernelTypeError, "dt.print takes no keywords", found=next(iter(keywords)))
    pieces, operands = _text(t, arguments)
    t.emit(Print(pieces, tuple(operand.value for operand in operands)))


def _assert(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> None:
    _kernel_only(t, "assert_")
    condition, message = _bound(t, "assert_", arguments, keywords, "condition", "message=")
    known = truth(t, condition)
    pieces, operands = _text(t, [message if message is not None else "dt.assert_ failed"])
    text = "{}".join(piece.replace("{}", "{ }") for piece in pieces)
    if not isinstance(known, Value):
        if known:
            return
        known = t.const(Bool, False)
    t.emit(Assert(known, text, tuple(operand.value for operand in operands)))


INTRINSICS: dict[str, Handler] = {
    **{name: functools.partial(_math, name) for name in _STATIC_MATH},
    "fma": _fma,
    "abs": _abs,
    "min": functools.partial(_extremum, "min"),
    "max": functools.partial(_extremum, "max"),
    "where": _where,
    "bitcast": _bitcast,
    "shared": _shared,
    "dynamic_shared": _dynamic_shared,
    "array": _array,
    "barrier": _barrier,
    **{f"atomic_{op.value}": functools.partial(_atomic, op) for op in AtomicOp},
    "shuffle_idx": functools.partial(_shuffle, ShuffleMode.INDEX, "lane"),
    "shuffle_xor": functools.partial(_shuffle, ShuffleMode.XOR, "mask"),
    "shuffle_up": functools.partial(_shuffle, ShuffleMode.UP, "delta"),
    "shuffle_down": functools.partial(_shuffle, ShuffleMode.DOWN, "delta"),
    "vote_any": functools.partial(_vote, VoteMode.ANY, "vote_any"),
    "vote_all": functools.partial(_vote, VoteMode.ALL, "vote_all"),
    "ballot": functools.partial(_vote, VoteMode.BALLOT, "ballot"),
    "print": print_values,
    "assert_": _assert,
}

SPECIAL: dict[Any, Handler] = {
    host.cdiv: _cdiv,
    host.static_range: _static_range,
}
"""Plain functions of ``darter.lang`` that mean more in kernel code than their Python says."""
