"""Instances of NamedTuples and frozen dataclasses made in kernel code."""

from __future__ import annotations

import dataclasses
from typing import Any

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
    own = [name for name in ("__new__", "__init__", "__post_init__") if _is_users(cls, name)]
    if own:
        t.fail(KernelTypeError, f"{cls.__name__} has a {own[0]} of its own, which kernel code does not run")
    if issubclass(cls, tuple):
        names, defaults = cls._fields, dict(cls._field_defaults)
    else:
        fields = [field for field in dataclasses.fields(cls) if field.init]
        names = tuple(field.name for field in fields)
        defaults = {field.name: field.default for field in fields if field.default is not dataclasses.MISSING}
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
    missing = [name for name in names if name not in given and name not in defaults]
    if missing:
        t.fail(KernelTypeError, f"{cls.__name__} is missing field '{missing[0]}'")
    values = tuple(given.get(name, defaults.get(name)) for name in names)
    if any(map(is_runtime, values)):
        return StructValue(cls, names, values)
    return run_native(t, lambda: cls(*values), f"{cls.__name__}(...)")


def _is_users(cls: type, name: str) -> bool:
    found = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
    code = getattr(getattr(found, "__func__", found), "__code__", None)
    # dataclasses and namedtuple generate theirs from text.
    return code is not None and not code.co_filename.startswith("<")
