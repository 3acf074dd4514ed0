"""Runtime scalars: which Python and NumPy numbers a scalar parameter takes, and what type an unannotated number has."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from darter.dtypes import Bool, Float32, Float64, Int64, Kind, ScalarType
from darter.errors import ArgumentTypeError
from darter.signature.reader import numpy_scalar_type
from darter.signature.view import wrong_kind, wrong_value

_UNANNOTATED = {bool: Bool, int: Int64, float: Float32}


def is_number(value: object) -> bool:
    """True for plain bool, int and float and for NumPy's (and ml_dtypes') scalars of an accepted type."""
    return natural_type(value) is not None


def natural_type(value: object) -> ScalarType | None:
    """Return the scalar type of a number without an annotation, or None for what is no accepted number.

    Subclasses of the Python numbers (IntEnum among them) are none: what a kernel would see of them is unclear.
    """
    cls = type(value)
    if cls in _UNANNOTATED:
        return _UNANNOTATED[cls]
    if isinstance(value, np.generic):
        return numpy_scalar_type(value.dtype)
    return None


def scalar_type(name: str, value: Any, annotated: ScalarType | None) -> ScalarType:
    """Return the type that the number ``value`` is passed as: ``annotated``, or its natural type.

    Ints pass as ints and as floats, floats as floats only, bools as Bool only.  Raises ``ArgumentTypeError`` for other
    kinds and ``ArgumentValueError`` where the value is out of the type's range.
    """
    natural = natural_type(value)
    if natural is None:
        raise _no_number(name, value, annotated)
    target = annotated or natural
    if not _converts(natural, target):
        raise wrong_kind(name, f"{value!r} of type {type(value).__name__}", _accepted(target))
    if not _fits(value, natural, target):
        raise wrong_value(name, f"{value!r}, out of range for {_label(target)}", _range(target))
    return target


def _converts(source: ScalarType, target: ScalarType) -> bool:
    if target.kind is Kind.BOOL or source.kind is Kind.BOOL:
        return target.kind is source.kind
    return target.is_float or source.is_integer


def _fits(value: Any, source: ScalarType, target: ScalarType) -> bool:
    if target.is_integer:
        return target.min <= int(value) <= target.max
    if target.kind is Kind.BOOL:
        return True
    try:
        exact = float(value)
    except OverflowError:
        return False
    if not math.isfinite(exact) or target is Float64:
        return True
    with np.errstate(over="ignore"):
        return bool(np.isfinite(target.numpy().type(exact)))


def _label(dtype: ScalarType) -> str:
    return f"dt.{dtype.__name__}"


def _accepted(dtype: ScalarType) -> str:
    match dtype.kind:
        case Kind.BOOL:
            what = "bool and numpy.bool_"
        case Kind.FLOAT:
            what = "float, int and NumPy's numbers"
        case _:
            what = "int and NumPy's integers"
    return f"accepted for {_label(dtype)}: {what}. Convert the value before the call."


def _range(dtype: ScalarType) -> str:
    if dtype.is_integer:
        return f"accepted: {dtype.min} to {dtype.max}. Annotate a wider type."
    return "accepted: what rounds to a finite value of it. Annotate a wider type."


def _no_number(name: str, value: object, annotated: ScalarType | None) -> ArgumentTypeError:
    cls = type(value)
    found = "None" if value is None else f"a {cls.__module__}.{cls.__qualname__}"
    if isinstance(value, (bool, int, float)):
        base = next(known for known in _UNANNOTATED if isinstance(value, known))
        return wrong_kind(name, found, f"accepted: {base.__name__} and no subclass. Pass {base.__name__}(value).")
    if value is None:
        return wrong_kind(name, found, "the parameter is not optional; annotate it with `| None` to admit None.")
    return wrong_kind(name, found, _accepted(annotated or Int64))
