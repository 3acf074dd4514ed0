"""Where captured paths may begin beside the launcher: the code that arguments bring with them.

A compile-time function, kernel, class or enum member is in the key, but what it reads is captured; so are the methods
of the classes of objects, structs, dataclasses and NamedTuples.  Each is a root, named by its place in the arguments:
``F``, ``F[0]``, ``F.scale``; ``F.__class__`` is the class of a value whose content is in the key.
"""

from __future__ import annotations

import dataclasses
import enum
import types
from collections.abc import Iterator, Mapping

from darter.capture.fingerprint import capture_attributes, is_frozen_dataclass
from darter.dtypes import ScalarType
from darter.signature.descriptor import ConstexprFacts, Descriptor, JitArgumentFacts, ObjectFacts, StructFacts


def argument_roots(descriptors: Mapping[str, Descriptor]) -> dict[str, object]:
    """Return the roots of described arguments, by name."""
    return {name: root for key, facts in descriptors.items() for name, root in _of_facts(key, facts)}


def _of_facts(name: str, facts: Descriptor) -> Iterator[tuple[str, object]]:
    match facts:
        case ConstexprFacts(value=value):
            yield from _of_value(name, value)
        case ObjectFacts(cls=cls, names=names, values=values):
            yield name, cls
            for field, value in zip(names, values, strict=True):
                yield from _of_value(f"{name}.{field}", value)
        case StructFacts(cls=cls, names=names, fields=fields) | JitArgumentFacts(cls=cls, names=names, fields=fields):
            if cls is not tuple:
                yield name, cls
            if isinstance(facts, JitArgumentFacts):
                yield from _of_value(f"{name}.__cache_signature__", facts.signature)
            for field, inner in zip(names, fields, strict=True):
                yield from _of_facts(f"{name}.{field}", inner)


def _of_value(name: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, (types.FunctionType, enum.Enum)) or capture_attributes(type(value)) is not None:
        yield name, value
    elif isinstance(value, type):
        if not isinstance(value, ScalarType):
            yield name, value
    elif isinstance(value, (tuple, frozenset)):
        if type(value) not in (tuple, frozenset):
            yield f"{name}.__class__", type(value)
        if isinstance(value, tuple):
            for position, item in enumerate(tuple.__iter__(value)):
                yield from _of_value(f"{name}[{position}]", item)
    elif is_frozen_dataclass(value):
        yield f"{name}.__class__", type(value)
        for field in dataclasses.fields(value):  # type: ignore[arg-type]
            yield from _of_value(f"{name}.{field.name}", getattr(value, field.name))
