"""Operators of Python objects, run at compile time: only those that are not the user's code."""

from __future__ import annotations

import enum
from collections.abc import Callable, Set as AbstractSet
from typing import Any

from darter.capture.structure import ARITHMETIC, COMPARISON, TEXT
from darter.dtypes import ALL, ScalarType
from darter.errors import CompileError, DarterError, KernelTypeError, StaticEvaluationError
from darter.frontend.numbers.promotion import numpy_scalar
from darter.frontend.tracer import Tracer
from darter.frontend.values import kind_of

_PURE = (
    int,
    float,
    complex,
    str,
    bytes,
    tuple,
    list,
    dict,
    frozenset,
    range,
    type(None),
    type,
    enum.Enum,
    slice,
    type(...),
)


def run_native(t: Tracer, thunk: Callable[[], Any], what: str) -> Any:
    """Run pure Python at compile time; what it raises becomes an error at the line."""
    try:
        return thunk()
    except DarterError as error:
        if not isinstance(error, CompileError) or "\n" in str(error):
            raise
        raise t.error(type(error), str(error)) from error
    except Exception as error:
        raise t.error(
            StaticEvaluationError, f"{what} raised {type(error).__name__} at compile time: {error}"
        ) from error


def static_binary(t: Tracer, symbol: str, native: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """Return an operator's value on Python objects; only those run whose operators are not the user's code."""
    for operand in (a, b):
        if not isinstance(operand, _PURE) and numpy_scalar(operand) is None:
            t.fail(
                KernelTypeError,
                f"operator {symbol} does not take these operands",
                found=f"{kind_of(a)} and {kind_of(b)}",
                accepted="numbers, strings, tuples and lists",
            )
    # "%" of a string writes its operands; operators of sets and dicts compare their items.
    special = ARITHMETIC | TEXT if isinstance(a, (str, bytes)) else ARITHMETIC
    if symbol in ("-", "&", "|", "^"):
        special |= COMPARISON
    left, right = settled(t, a, special), settled(t, b, special)
    return run_native(t, lambda: native(left, right), f"{symbol} of {kind_of(a)} and {kind_of(b)}")


def settled(t: Tracer, value: Any, special: AbstractSet[str]) -> Any:
    """Return a value that an operation reads whole: recorded, and without special methods that a user wrote."""
    return t.recorded(lambda: t.recorder.content(value, special))


def compares_identity(value: Any) -> bool:
    """True if ``==`` of the value's class is that of ``object``."""
    equality: Any = type(value).__eq__
    return equality is object.__eq__


def refuse_foreign_type(t: Tracer, a: Any, b: Any) -> None:
    """Refuse to compare a scalar type with another library's name of one: it would be False, whatever the types."""
    for one, other in ((a, b), (b, a)):
        if isinstance(one, ScalarType) and _is_foreign_type(other):
            name = getattr(other, "name", None) or getattr(other, "__name__", None) or str(other).rpartition(".")[2]
            known = [f"dt.{each.__name__}" for each in ALL if name in (each.numpy_name, each.numpy_name.rstrip("_"))]
            t.fail(
                KernelTypeError,
                f"{one!r} is never equal to another library's type",
                found=f"{type(other).__module__.partition('.')[0]} {other!s}"
                if not isinstance(other, type)
                else repr(other),
                accepted="dt.Float32, dt.Int8, …",
                advice=f"write {known[0]}" if known else "",
            )


def _is_foreign_type(value: Any) -> bool:
    if isinstance(value, type):
        return value.__module__ in ("numpy", "ml_dtypes")
    cls = type(value)
    return cls.__name__.lower().endswith("dtype") and cls.__module__.partition(".")[0] in ("numpy", "torch", "jax")


def static_compare(t: Tracer, symbol: str, native: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """Compare Python objects whose comparison is not the user's code; frozen dataclasses compare by their fields."""
    for operand in (a, b):
        generated = hasattr(type(operand), "__dataclass_params__")
        if not isinstance(operand, _PURE) and not generated and numpy_scalar(operand) is None:
            if symbol in ("==", "!=") and compares_identity(operand):
                continue
            t.fail(
                KernelTypeError,
                f"operator {symbol} would run code of class {type(operand).__name__}",
                found=f"{kind_of(a)} and {kind_of(b)}",
                accepted="numbers, strings, tuples, types, enum members",
            )
    left, right = settled(t, a, COMPARISON), settled(t, b, COMPARISON)
    return run_native(t, lambda: native(left, right), f"{symbol} of {kind_of(a)} and {kind_of(b)}")
