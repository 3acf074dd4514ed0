"""Records: frozen, slotted classes of named fields, for all that a launch from disk needs.

They read and behave like ``@dataclass(frozen=True, slots=True)``, which writes, compiles and runs the text of six
methods for each class: 0.4 ms a class, half of what a launch from disk cost while it met 48 of them.  Here all records
share their methods, and a class takes 0.01 ms.  What only a compile needs is a dataclass: those are made by the ten
thousand, and a method written for one class is a little faster than one for all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar, dataclass_transform


class _FrozenType(type):
    """Makes slots of the annotated names of a class body, and defaults of the values given to them."""

    _fields: tuple[str, ...]
    _defaults: Mapping[str, Any]
    _setters: tuple[Callable[[object, object], None], ...]

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> _FrozenType:
        fields = tuple(namespace.get("__annotations__", ())) if bases else ()
        if len(bases) > 1 or any(isinstance(base, _FrozenType) and base._fields for base in bases):
            raise TypeError(f"{name}: a record derives from one class without fields, which Frozen or a record is")
        defaults = {field: namespace.pop(field) for field in fields if field in namespace}
        namespace |= {"__slots__": fields, "__match_args__": fields}
        made = super().__new__(cls, name, bases, namespace)
        made._fields, made._defaults = fields, defaults
        made._setters = tuple([made.__dict__[field].__set__ for field in fields])
        return made


@dataclass_transform(frozen_default=True)
class Frozen(metaclass=_FrozenType):
    """Base of the records: the annotated names of a class body are its fields, in order.

    Equal where class and fields are; hashable where the fields are.  Defaults are shared by all instances.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        cls = type(self)
        if kwargs or len(args) != len(cls._fields):
            args = _bound(cls, args, kwargs)
        for set_field, value in zip(cls._setters, args, strict=True):
            set_field(self, value)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__qualname__} is frozen: cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__qualname__} is frozen: cannot delete field {name!r}")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return values_of(self) == values_of(other)

    def __hash__(self) -> int:
        return hash(values_of(self))

    def __repr__(self) -> str:
        cls = type(self)
        shown = ", ".join(f"{field}={getattr(self, field)!r}" for field in cls._fields)
        return f"{cls.__qualname__}({shown})"

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), values_of(self)


Record = TypeVar("Record", bound=Frozen)


def values_of(record: Frozen) -> tuple[Any, ...]:
    """Return the values of a record's fields, in order."""
    return tuple([getattr(record, field) for field in type(record)._fields])


def replaced(record: Record, **changes: Any) -> Record:
    """Return a copy of ``record`` with other values in some fields; raises ``TypeError`` for a name that is none."""
    cls = type(record)
    values = [changes.pop(field) if field in changes else getattr(record, field) for field in cls._fields]
    return cls(*values, **changes)


def _bound(cls: _FrozenType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Return the values of all fields; raises ``TypeError`` as a call of a function with these parameters does."""
    fields, defaults, named = cls._fields, cls._defaults, dict(kwargs)
    try:
        values = [named.pop(field) if field in named else defaults[field] for field in fields[len(args) :]]
    except KeyError:
        values = []
    if named or len(args) + len(values) != len(fields):
        raise TypeError(
            f"{cls.__qualname__}() takes {', '.join(fields)}; found {len(args)} by position and "
            f"{', '.join(kwargs) or 'none'} by name"
        )
    return (*args, *values)
