"""What a class is made of, as far as Python's own code reads it: fields, members, order, special methods.

A class's fingerprint is its name, since its attributes are recorded one by one as they are read.  Where Python itself
reads a class (to construct an instance, to iterate an enum, to compare or add instances), its structure is recorded as
one value.
"""

from __future__ import annotations

import dataclasses
import enum
import types
from typing import Any, Final

_BINARY = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "lshift", "rshift", "and", "or", "xor"),
    "matmul",
)
ARITHMETIC: Final = frozenset(
    {f"__{side}{name}__" for name in _BINARY for side in ("", "r")}
    | {"__neg__", "__pos__", "__invert__", "__abs__", "__index__", "__int__", "__float__", "__complex__"}
    | {"__round__", "__trunc__", "__floor__", "__ceil__"}
)
"""Special methods that operators of numbers and conversions to numbers run."""

COMPARISON: Final = frozenset({"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__contains__"})
"""Special methods that comparisons, ``in``, dicts and sets run."""

TRUTH: Final = frozenset({"__bool__", "__len__"})
TEXT: Final = frozenset({"__str__", "__repr__", "__format__", "__bytes__"})
ITERATION: Final = frozenset({"__iter__", "__getitem__", "__len__", "__reversed__"})
CONSTRUCTION: Final = frozenset({"__new__", "__init__", "__post_init__"})

SPECIAL: Final = tuple(sorted(ARITHMETIC | COMPARISON | TRUTH | TEXT | ITERATION | CONSTRUCTION))
"""Every special method that a structure tells of."""

_LIBRARY: Final = frozenset({"enum", "collections", "typing", "dataclasses", "reprlib", "abc"})
_NATIVE: Final = (
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.BuiltinFunctionType,
    type(None),
)


def structure_of(cls: type) -> tuple[Any, ...]:
    """Return what ``cls`` is made of: its kind, the special methods that its user wrote, then by kind.

    Of an enum the names in order, each with the member that it stands for; of a NamedTuple the fields in order and
    which have defaults; of a dataclass the fields in order with what concerns construction and comparison.
    """
    own = tuple(name for name in SPECIAL if _is_users(cls, name))
    if issubclass(cls, enum.Enum):
        return ("enum", own, tuple((name, member._name_) for name, member in cls._member_map_.items()))
    fields = getattr(cls, "_fields", None)
    if issubclass(cls, tuple) and isinstance(fields, tuple):
        return ("namedtuple", own, fields, tuple(getattr(cls, "_field_defaults", ())))
    if dataclasses.is_dataclass(cls):
        parameters = cls.__dataclass_params__  # type: ignore[attr-defined]
        parts = tuple(
            (
                each.name,
                each.init,
                each.compare,
                bool(each.kw_only),
                each.default is not dataclasses.MISSING,
                each.default_factory is not dataclasses.MISSING,
            )
            for each in dataclasses.fields(cls)
        )
        return ("dataclass", own, parts, parameters.eq, parameters.order, parameters.frozen)
    return ("class", own)


def is_library_class(cls: type) -> bool:
    """True for the classes that Python brings (``enum.IntEnum``, ``tuple``): they are taken not to change."""
    return cls.__module__ in _LIBRARY or cls.__module__ == "builtins"


def _is_users(cls: type, name: str) -> bool:
    """True if the special method ``name`` of ``cls`` is code that its user wrote."""
    for base in cls.__mro__:
        if name not in base.__dict__:
            continue
        found: Any = base.__dict__[name]
        function = getattr(found, "__func__", found)
        if isinstance(function, types.FunctionType):
            return not _is_generated(function)
        return not is_library_class(base) and not isinstance(function, _NATIVE)
    return False


def _is_generated(function: types.FunctionType) -> bool:
    """True for what the standard library wrote or generated: methods of enums, dataclasses and NamedTuples."""
    home = str(function.__globals__.get("__name__", ""))
    code = function.__code__
    written = code.co_filename == "<string>"
    return (
        home in _LIBRARY
        or (written and code.co_qualname.startswith("__create_fn__"))
        or (written and home.startswith("namedtuple_"))
    )
