"""How the recorder reads attributes: Python's rules, for the objects whose attributes can be guarded."""

from __future__ import annotations

import abc
import dataclasses
import enum
import functools
import types
from dataclasses import dataclass
from typing import Any, Final

from darter.capture import containers
from darter.capture.fingerprint import (
    ABSENT,
    capture_attributes,
    is_by_value,
    is_descriptor,
    is_frozen_dataclass,
    is_numpy_value,
    is_plain_class,
    refusal,
)
from darter.capture.reads import Reads
from darter.capture.steps import read
from darter.dtypes import ScalarType
from darter.errors import CaptureRefusedError

_METACLASSES: Final = frozenset({type, abc.ABCMeta, enum.EnumMeta, ScalarType})
_IMMUTABLE: Final = frozenset({type(None), bool, int, float, complex, str, bytes, tuple, frozenset, range, slice})
_PARTIAL_PARTS: Final = ("func", "args", "keywords")


@dataclass(frozen=True, slots=True)
class Getter:
    """A property read of ``instance``: to be interpreted by calling ``function`` with it."""

    function: types.FunctionType
    instance: Any


def attribute(reads: Reads, obj: Any, name: str) -> Any:
    """Return ``obj.name``, recorded; see ``Recorder.attribute``."""
    if isinstance(obj, types.ModuleType):
        return _module_attribute(reads, obj, name)
    if isinstance(obj, ScalarType) or type(obj) in _IMMUTABLE or is_numpy_value(obj):
        return getattr(obj, name)  # darter's own, or Python's own and immutable
    if isinstance(obj, type):
        return class_attribute(reads, obj, name)
    if isinstance(obj, types.MethodType):
        return _part(reads, obj, name, {"__func__": "func", "__self__": "self"})
    if isinstance(obj, functools.partial):
        if type(obj) is not functools.partial or name not in _PARTIAL_PARTS:
            raise CaptureRefusedError(
                f"attribute '{name}' of a functools.partial is not read; accepted: {', '.join(_PARTIAL_PARTS)}"
            )
        if reads.path_of(obj) is None and not reads.is_free(obj):
            raise _unplaced(obj)
        return reads.freed(getattr(obj, name)) if reads.is_free(obj) else reads.step(obj, ("field", name))
    return _instance_attribute(reads, obj, name)


def class_attribute(reads: Reads, cls: type, name: str) -> Any:
    """Return ``cls.name`` through the MRO; every class dict on the way is guarded."""
    if isinstance(cls, enum.EnumMeta) and name in cls._member_map_:
        return reads.step(cls, ("member", name))
    if isinstance(vars(type).get(name), (types.GetSetDescriptorType, types.MemberDescriptorType)):
        raise CaptureRefusedError(
            f"attribute '{name}' of class '{cls.__qualname__}' belongs to its type, which is not guarded"
        )
    found = _lookup(reads, cls, name)
    if found is ABSENT:
        raise AttributeError(f"class '{cls.__qualname__}' has no attribute '{name}'")
    if isinstance(found, (staticmethod, classmethod)):
        function = reads.step(found, ("func",))
        return function if isinstance(found, staticmethod) else types.MethodType(function, cls)
    if is_descriptor(found) and capture_attributes(type(found)) is None:
        raise _descriptor_refusal(cls, name, found)
    return found


def _lookup(reads: Reads, cls: type, name: str, kind: str = "lookup") -> Any:
    if type(cls) not in _METACLASSES:
        raise CaptureRefusedError(
            f"class '{cls.__qualname__}' has the metaclass '{type(cls).__qualname__}', which is not followed"
        )
    return reads.step(cls, (kind, name))


def _module_attribute(reads: Reads, module: types.ModuleType, name: str) -> Any:
    kind = type(module)
    if kind is not types.ModuleType and (
        kind.__getattribute__ is not types.ModuleType.__getattribute__ or name in vars(kind)
    ):
        raise CaptureRefusedError(f"module '{module.__name__}' computes its attributes, which cannot be guarded")
    if module.__name__.partition(".")[0] != "darter":
        if reads.step(module, ("type",)) is not types.ModuleType:
            _lookup(reads, kind, name)
    elif name not in module.__dict__:
        getattr(module, name)  # darter's own lazy names: the first read puts them into the module
    found = reads.step(module, ("attr", name))
    if found is not ABSENT:
        return found
    if reads.step(module, ("attr", "__getattr__")) is not ABSENT:
        raise CaptureRefusedError(
            f"attribute '{name}' of module '{module.__name__}' comes from the module's __getattr__, which cannot be "
            f"guarded; "
            f"import the object itself by name"
        )
    raise AttributeError(f"module '{module.__name__}' has no attribute '{name}'")


def _instance_attribute(reads: Reads, obj: Any, name: str) -> Any:
    cls = type(obj)
    captured = reads.path_of(obj) is not None
    declared = capture_attributes(cls)
    if declared is not None:
        if name not in declared:
            raise AttributeError(f"'{cls.__qualname__}' object has no attribute '{name}'")
        return _field(reads, obj, name) if captured else getattr(obj, name)
    if isinstance(obj, enum.Enum) and name in ("name", "value", "_name_", "_value_"):
        return _enum_attribute(reads, obj, name)
    if isinstance(obj, tuple) and name in getattr(cls, "_fields", ()):
        return containers.item(reads, obj, cls._fields.index(name))
    if not is_plain_class(cls) and not isinstance(obj, (enum.Enum, tuple)):
        raise refusal(obj)
    cls = reads.step(obj, ("type",)) if captured else cls
    return _plain_attribute(reads, obj, cls, name, captured=captured)


def _enum_attribute(reads: Reads, obj: enum.Enum, name: str) -> Any:
    if "name" in name:
        return obj._name_
    if reads.path_of(obj) is not None:
        return _field(reads, obj, "_value_")
    if not is_by_value(obj._value_):
        raise _unplaced(obj)
    return obj._value_


def _unplaced_attribute(reads: Reads, obj: Any, cls: type, name: str) -> Any:
    """Read an attribute of a value whose content stands in what it was reached by: its key, a tuple, a frozenset."""
    if is_frozen_dataclass(obj) and any(field.name == name for field in dataclasses.fields(obj)):
        return read(obj, ("field", name))
    if not is_frozen_dataclass(obj) and (
        name in getattr(obj, "__dict__", ()) or not isinstance(obj, (enum.Enum, tuple))
    ):
        raise _unplaced(obj)
    try:
        found = class_attribute(reads, cls, name)
    except AttributeError:
        return ABSENT
    return (
        types.MethodType(found, obj) if isinstance(found, types.FunctionType) and not _is_static(cls, name) else found
    )


def _is_static(cls: type, name: str) -> bool:
    return isinstance(next(vars(base)[name] for base in cls.__mro__ if name in vars(base)), staticmethod)


def _unplaced(obj: object) -> CaptureRefusedError:
    return CaptureRefusedError(
        f"a {type(obj).__qualname__} was reached in a way that cannot be followed again, so what is read of it cannot "
        "be guarded; read it by a name, an attribute, an index or a key"
    )


def _plain_attribute(reads: Reads, obj: Any, cls: type, name: str, *, captured: bool) -> Any:
    """Read an attribute of an instance whose class has the ordinary lookup: descriptor, instance, class."""
    if not isinstance(_lookup(reads, cls, "__getattribute__"), types.WrapperDescriptorType):
        raise CaptureRefusedError(f"class '{cls.__qualname__}' defines __getattribute__, which is not followed")
    found = _lookup(reads, cls, name, "descriptor")
    if isinstance(found, property):
        if not isinstance(found.fget, types.FunctionType):
            raise CaptureRefusedError(
                f"property '{name}' of class '{cls.__qualname__}' has no getter written in Python"
            )
        return Getter(reads.step(found, ("getter",)), obj)
    if found is not ABSENT and type(found) is not types.MemberDescriptorType:
        raise _descriptor_refusal(cls, name, found)
    if captured:
        value = _field(reads, obj, name)
    elif reads.is_free(obj):
        value = reads.freed(read(obj, ("field", name)))
    else:
        value = _unplaced_attribute(reads, obj, cls, name)
    if value is not ABSENT:
        return value
    if _lookup(reads, cls, "__getattr__") is not ABSENT:
        raise CaptureRefusedError(
            f"attribute '{name}' of a '{cls.__qualname__}' comes from __getattr__, which cannot be guarded"
        )
    raise AttributeError(f"'{cls.__qualname__}' object has no attribute '{name}'")


def _field(reads: Reads, obj: Any, name: str) -> Any:
    path = reads.path_of(obj)
    assert path is not None
    reads.count_field(path, obj, name)
    return reads.step(obj, ("field", name))


def _descriptor_refusal(cls: type, name: str, found: object) -> CaptureRefusedError:
    return CaptureRefusedError(
        f"attribute '{name}' of class '{cls.__qualname__}' is a descriptor of type '{type(found).__qualname__}', which "
        "cannot be guarded; accepted: functions, static and class methods, properties written in Python, plain values"
    )


def _part(reads: Reads, obj: Any, name: str, steps: dict[str, str]) -> Any:
    if name not in steps:
        raise CaptureRefusedError(
            f"attribute '{name}' of a {type(obj).__name__} is not read; accepted: {', '.join(steps)}"
        )
    if reads.path_of(obj) is not None:
        return reads.step(obj, (steps[name],))
    return reads.freed(getattr(obj, name)) if reads.is_free(obj) else getattr(obj, name)
