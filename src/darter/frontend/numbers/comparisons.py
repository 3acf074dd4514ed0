"""Comparisons, and what is true: a Python bool where everything is static, else a Bool value."""

from __future__ import annotations

import ast
import enum
import operator
from typing import Any

from darter.capture.structure import COMPARISON, TRUTH
from darter.dtypes import Bool
from darter.errors import KernelTypeError
from darter.frontend.numbers.operators import Native, refuse_float8
from darter.frontend.numbers.promotion import as_value, common_type, is_number, strong
from darter.frontend.numbers.static_operators import compares_identity, refuse_foreign_type, settled, static_compare
from darter.frontend.tracer import Tracer
from darter.frontend.values import DeviceValue, is_runtime, kind_of
from darter.ir.nodes import Compare, CompareOp, Unary, UnaryOp, Value

COMPARE: dict[type[ast.cmpop], tuple[str, Native]] = {
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
}
_COMPARES = {
    "==": CompareOp.EQ,
    "!=": CompareOp.NE,
    "<": CompareOp.LT,
    "<=": CompareOp.LE,
    ">": CompareOp.GT,
    ">=": CompareOp.GE,
}


def compare(t: Tracer, symbol: str, native: Native, a: Any, b: Any) -> Any:
    """Return ``a symbol b``: a Python bool, or a Bool value."""
    if not isinstance(a, DeviceValue) and not isinstance(b, DeviceValue):
        if is_runtime(a) or is_runtime(b):
            t.fail(
                KernelTypeError,
                f"operator {symbol} does not compare these",
                found=f"{kind_of(a)} and {kind_of(b)}",
                accepted="numbers",
            )
        refuse_foreign_type(t, a, b)
        if symbol in ("==", "!=") and compares_identity(a) and compares_identity(b):
            settled(t, a, COMPARISON)
            settled(t, b, COMPARISON)
            return bool(t.recorded(lambda: t.recorder.same(a, b))) == (symbol == "==")
        return static_compare(t, symbol, native, a, b)
    a, b = strong(t, a), strong(t, b)
    if not (is_number(a) and is_number(b)):
        if (a is None or b is None) and symbol in ("==", "!="):
            return symbol == "!="
        t.fail(KernelTypeError, f"operator {symbol} does not compare these", found=f"{kind_of(a)} and {kind_of(b)}")
    dtype = common_type(t, a, b, symbol)
    refuse_float8(t, symbol, dtype)
    result = Value(Bool)
    t.emit(Compare(result, _COMPARES[symbol], as_value(t, a, dtype), as_value(t, b, dtype)))
    return DeviceValue(result)


def truth(t: Tracer, value: Any) -> bool | Value:
    """Return the truth of a value: a Python bool, or a Bool value (a number is true unless zero)."""
    value = strong(t, value)
    if isinstance(value, DeviceValue):
        if value.dtype is Bool:
            return value.value
        return t.cast(value.value, Bool)
    if isinstance(value, (list, dict)):
        return bool(t.recorded(lambda: t.recorder.length(value)))
    if isinstance(value, (int, float, complex, str, bytes, tuple, frozenset, range, type(None), enum.Enum)):
        if isinstance(value, enum.Enum) or (isinstance(value, tuple) and type(value) is not tuple):
            settled(t, value, TRUTH)
        return bool(value)
    if is_runtime(value):
        t.fail(KernelTypeError, "this has no truth value", found=kind_of(value), accepted="Bool values and numbers")
    if hasattr(type(value), "__bool__") or hasattr(type(value), "__len__"):
        t.fail(KernelTypeError, f"the truth of a {type(value).__name__} would run its class's code", accepted="numbers")
    settled(t, value, TRUTH)
    return True


def negate(t: Tracer, condition: Value) -> Value:
    """Return ``not condition``."""
    result = Value(Bool)
    t.emit(Unary(result, UnaryOp.NOT, condition))
    return result
