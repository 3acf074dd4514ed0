"""Instances of NamedTuples and frozen dataclasses made in kernel code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from darter.capture.structure import CONSTRUCTION
from darter.errors import KernelTypeError
from darter.frontend.numbers.static_operators import run_native
from darter.frontend.structure import LEAF, Static, flatten, rebuild
from darter.frontend.tracer import Tracer
from darter.frontend.values import KernelList, StructValue, is_runtime, kind_of


def is_struct_class(cls: Any) -> bool:
    """True for NamedTuple classes and frozen dataclasses."""
    if not isinstance(cls, type):
        return False
    if issubclass(cls, tuple):
        return hasattr(cls, "_fields")
    parameters = getattr(cls, "__dataclass_params__", None)
    return parameters is not None and parameters.frozen


def opened(t: Tracer, value: Any) -> Any:
    """Return ``value`` with the static structs in it taken apart into their fields, so that conditions merge them."""
    if type(value) is tuple:
        return tuple(opened(t, item) for item in value)
    if isinstance(value, KernelList):
        result = KernelList(opened(t, item) for item in value)
        result.serial = value.serial
        return result
    if isinstance(value, StructValue):
        return StructValue(value.cls, value.names, tuple(opened(t, item) for item in value.values))
    cls = type(value)
    if not is_struct_class(cls):
        return value
    structure = t.recorded(lambda: t.recorder.structure(cls))
    if any(name in CONSTRUCTION for name in structure[1]):
        return value
    names = _field_names(cls, structure)
    return StructValue(cls, names, tuple(opened(t, t.read_attribute(value, name)) for name in names))


def in_structures(t: Tracer, name: str, function: Callable[..., Any], *values: Any) -> Any:
    """Return ``function`` of numbers, or of the numbers that stand at the same places of tuples, lists and structs."""
    first, *others = values
    leaves: list[list[Any]] = [[]]
    shape = flatten(opened(t, first), leaves[0])
    if shape == LEAF or isinstance(shape, Static):
        return function(*values)
    for other in others:
        leaves.append([])
        if flatten(opened(t, other), leaves[-1]) != shape:
            t.fail(
                KernelTypeError,
                f"dt.{name} takes numbers, or structures of the same shape",
                found=" and ".join(map(kind_of, values)),
            )
    return rebuild(shape, [function(*items) for items in zip(*leaves, strict=True)])


def _field_names(cls: Any, structure: tuple[Any, ...]) -> tuple[str, ...]:
    """Return the fields that the constructor of a NamedTuple or dataclass takes."""
    return structure[2] if issubclass(cls, tuple) else tuple(part[0] for part in structure[2] if part[1])


def construct(t: Tracer, cls: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """Return ``cls(*arguments, **keywords)`` without running code of the class's own."""
    structure = t.recorded(lambda: t.recorder.structure(cls))
    own = [name for name in structure[1] if name in CONSTRUCTION]
    if own:
        t.fail(KernelTypeError, f"{cls.__name__} has a {own[0]} of its own, which kernel code does not run")
    names = _field_names(cls, structure)
    if issubclass(cls, tuple):
        with_default = structure[3]
    else:
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
