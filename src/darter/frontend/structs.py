"""Instances of NamedTuples and frozen dataclasses made in kernel code."""

from __future__ import annotations

from typing import Any

from darter.capture.structure import CONSTRUCTION
from darter.errors import KernelTypeError
from darter.frontend.static_operators import run_native
from darter.frontend.tracer import Tracer
from darter.frontend.values import StructValue, is_runtime


def is_struct_class(cls: Any) -> bool:
    """True for NamedTuple classes and frozen dataclasses."""
    if not isinstance(cls, type):
        return False
    if issubclass(cls, tuple):
        return hasattr(cls, "_fields")
    parameters = getattr(cls, "__dataclass_params__", None)
    return parameters is not None and parameters.frozen


def construct(t: Tracer, cls: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """Return ``cls(*arguments, **keywords)`` without running code of the class's own."""
    structure = t.recorded(lambda: t.recorder.structure(cls))
    own = [name for name in structure[1] if name in CONSTRUCTION]
    if own:
        t.fail(KernelTypeError, f"{cls.__name__} has a {own[0]} of its own, which kernel code does not run")
    if issubclass(cls, tuple):
        names, with_default = structure[2], structure[3]
    else:
        names = tuple(part[0] for part in structure[2] if part[1])
        with_default = tuple(part[0] for part in structure[2] if part[1] and part[4])
    if len(arguments) > len(names):
        t.fail(KernelTypeError, f"{cls.__name__} takes {len(names)} values", found=f"{len(arguments)}")
    given = dict(zip(names, arguments, strict=False))
    for name, value in keywords.items():
        if name not in names or name in given:
            t.fail(
                KernelTypeError,
                f"{cls.__name__} got an unexpected or repeated field '{name}'",
                accepted=", ".join(names),
            )
        given[name] = value
    missing = [name for name in names if name not in given and name not in with_default]
    if missing:
        t.fail(KernelTypeError, f"{cls.__name__} is missing field '{missing[0]}'")
    values = tuple(given[name] if name in given else _default(t, cls, name) for name in names)
    if any(map(is_runtime, values)):
        return StructValue(cls, names, values)
    return run_native(t, lambda: cls(*values), f"{cls.__name__}(...)")


def _default(t: Tracer, cls: Any, name: str) -> Any:
    """Return a field's default, recorded."""
    if issubclass(cls, tuple):
        defaults = t.recorded(lambda: t.recorder.attribute(cls, "_field_defaults"))
        return t.recorded(lambda: t.recorder.item(defaults, name))
    fields = t.recorded(lambda: t.recorder.attribute(cls, "__dataclass_fields__"))
    field = t.recorded(lambda: t.recorder.item(fields, name))
    return t.recorded(lambda: t.recorder.attribute(field, "default"))
