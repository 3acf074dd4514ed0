"""Tells apart the classes whose instances are arguments: NamedTuples, frozen dataclasses, users' own, and the rest."""

from __future__ import annotations

import dataclasses
from typing import Any

from darter.errors import SignatureError
from darter.signature.annotations import Constexpr, ConstexprAnnotation, OptionalAnnotation
from darter.signature.scopes import class_scope, evaluate


def is_named_tuple(cls: type) -> bool:
    """True for NamedTuple classes, and for their subclasses that add no instance attributes."""
    fields = getattr(cls, "_fields", None)
    return (
        issubclass(cls, tuple)
        and type(fields) is tuple
        and all(type(name) is str for name in fields)
        and cls.__dictoffset__ == 0
    )


def is_frozen_dataclass(cls: type) -> bool:
    """True where ``cls`` itself (no base class of it) was made by ``@dataclass(frozen=True)``."""
    parameters = vars(cls).get("__dataclass_params__")
    return parameters is not None and bool(parameters.frozen)


def is_struct(cls: type) -> bool:
    """True for classes whose instances are passed as their fields."""
    return is_named_tuple(cls) or is_frozen_dataclass(cls)


def is_jit_argument(cls: type) -> bool:
    """True for classes that take part in the ``JitArgument`` protocol."""
    return hasattr(cls, "__cache_signature__")


def field_names(cls: type) -> tuple[str, ...]:
    """Return the field names of a NamedTuple or dataclass in order, those left out of ``__eq__`` included."""
    if issubclass(cls, tuple):
        names: tuple[str, ...] = cls._fields  # type: ignore[attr-defined]
        return names
    return tuple(field.name for field in dataclasses.fields(cls))  # type: ignore[arg-type]


def jit_field_names(cls: type) -> tuple[str, ...]:
    """Return the names of the dynamic fields of a ``JitArgument`` class (``__jit_fields__``, none by default)."""
    names = getattr(cls, "__jit_fields__", ())
    if type(names) is not tuple or not all(type(name) is str for name in names):
        raise SignatureError(f"{cls.__qualname__}.__jit_fields__ must be a tuple of attribute names; found {names!r}.")
    return names


def class_annotations(cls: type) -> dict[str, tuple[Any, type]]:
    """Return, per annotated name, the raw annotation and the class in the MRO that made it; base classes first."""
    found: dict[str, tuple[Any, type]] = {}
    for base in reversed(cls.__mro__):
        held = vars(base).get("__annotations__")
        if isinstance(held, dict):  # the type of functions has a descriptor of that name
            found.update({name: (annotation, base) for name, annotation in held.items()})
    return found


def constexpr_annotations(cls: type) -> dict[str, type | None]:
    """Return the attributes that ``cls`` declares ``dt.Constexpr``, with the exact type each demands (None: any).

    Annotations that do not resolve (names imported for type checkers only) are passed over unless they are written as
    a Constexpr.  Raises ``SignatureError`` for those.
    """
    declared: dict[str, type | None] = {}
    for name, (annotation, owner) in class_annotations(cls).items():
        if owner.__module__ in ("builtins", "typing", "enum"):
            continue
        try:
            annotation = evaluate(annotation, class_scope(owner))
        except Exception as error:
            if isinstance(annotation, str) and "Constexpr" not in annotation:
                continue
            raise SignatureError(
                f"{owner.__qualname__}.{name}: the annotation {annotation!r} does not resolve ({error}). Import what "
                "it names where the class is defined, at run time and not under TYPE_CHECKING alone."
            ) from error
        if isinstance(annotation, OptionalAnnotation) and annotation.inner is Constexpr:
            annotation = Constexpr
        if annotation is Constexpr:
            declared[name] = None
        elif isinstance(annotation, ConstexprAnnotation):
            declared[name] = annotation.type
    return declared
