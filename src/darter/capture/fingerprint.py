"""Canonical encoding of captured values: type-tagged, by value, the same in every process.

A value is encoded whole where it is immutable (numbers, text, tuples, frozensets, enum members, frozen dataclasses,
NamedTuples, numpy scalars, dtypes).  A value that is read *through* (modules, classes, functions, dicts, lists,
instances) is encoded by its kind and name only: each read from it is an entry of the record with a fingerprint of its
own, so an encoding never descends into something mutable and always ends.

No encoding depends on an address, ``repr``, ``hash()``, a path, a time or the order of a set.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import struct
import sys
import types
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from darter.dtypes import ScalarType
from darter.errors import CaptureRefusedError
from darter.sha256 import sha256

if TYPE_CHECKING:
    from darter.source.digests import SourceDigests

MAX_DEPTH: Final = 64
"""Nesting of tuples, frozensets and dataclasses that is encoded; deeper (or cyclic) values are refused."""

INLINE_BYTES: Final = 256
"""A fingerprint is the encoding itself up to this size, else its SHA-256 behind a tag."""

ABSENT_FINGERPRINT: Final = b"absent"

_HEAP_TYPE: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE
_IMMUTABLE_TYPE: Final = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE


class _Absent:
    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()
"""What a read gives where the name is not there; never a captured value."""


def kind_fingerprint(value: object) -> bytes:
    """Return a fingerprint that tells the type of ``value`` only, for what is read inside ``dt.static(...)``."""
    return join(b"unguarded", (_class(type(value)),))


def fingerprint(value: object) -> bytes:
    """Return the fingerprint of one captured value; ``CaptureRefusedError`` if it cannot be guarded."""
    if value is ABSENT:
        return ABSENT_FINGERPRINT
    encoded = encode(value)
    return encoded if len(encoded) <= INLINE_BYTES else b"sha256:" + sha256(encoded).digest()


def encode(value: object, depth: int = 0) -> bytes:
    """Return the canonical encoding of ``value``; raises ``CaptureRefusedError`` for a kind that cannot be guarded."""
    if depth > MAX_DEPTH:
        raise CaptureRefusedError(
            f"a captured {type(value).__name__} is nested more than {MAX_DEPTH} deep, or contains itself"
        )
    exact = _ENCODERS.get(type(value))
    if exact is not None:
        return exact(value, depth)
    if isinstance(value, type):
        return _class(value)
    if isinstance(value, enum.Enum):
        return join(b"enum", (_class(type(value)), _text(value._name_ or ""), encode(value._value_, depth + 1)))
    return _by_family(value, depth)


def is_plain_class(cls: type) -> bool:
    """True if instances of ``cls`` hold only attributes: the whole MRO but ``object`` is written in Python."""
    return all(
        base is object or (base.__flags__ & _HEAP_TYPE and not base.__flags__ & _IMMUTABLE_TYPE) for base in cls.__mro__
    )


def _declared(cls: type, name: str) -> Any:
    """Return an attribute from the classes of the MRO themselves: no metaclass, no descriptor has a say."""
    for base in cls.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return None


def is_descriptor(value: object) -> bool:
    """True if ``value``, found in a class, takes part in attribute access by more than binding a function."""
    if isinstance(value, (types.FunctionType, staticmethod, classmethod)):
        return False
    return any(_declared(type(value), name) is not None for name in ("__get__", "__set__", "__delete__"))


def is_frozen_dataclass(value: object) -> bool:
    """True for an instance of a dataclass declared with ``frozen=True``."""
    parameters = getattr(type(value), "__dataclass_params__", None)
    return dataclasses.is_dataclass(value) and parameters is not None and bool(parameters.frozen)


def is_by_value(value: object, depth: int = 0) -> bool:
    """True if the encoding of ``value`` tells all of it, so that two values with one encoding are the same."""
    if depth > MAX_DEPTH:
        return False
    if isinstance(value, enum.Enum):
        return is_by_value(value._value_, depth + 1)
    if isinstance(value, (tuple, frozenset)):
        return all(is_by_value(item, depth + 1) for item in value)
    if is_frozen_dataclass(value):
        return all(is_by_value(getattr(value, field.name), depth + 1) for field in dataclasses.fields(value))  # type: ignore[arg-type]
    return type(value) in _BY_VALUE or isinstance(value, ScalarType) or _is_foreign_value(value)


def _is_foreign_value(value: object) -> bool:
    torch = sys.modules.get("torch")
    return is_numpy_value(value) or (torch is not None and isinstance(value, torch.dtype))


def capture_attributes(cls: type) -> tuple[str, ...] | None:
    """Return what a class of darter's own lets a record read of its instances (``__darter_capture__``), or None."""
    declared = _declared(cls, "__darter_capture__")
    return None if declared is None else tuple(declared)


def refusal(value: object) -> CaptureRefusedError:
    """Return the error for a value of a kind that cannot be guarded."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    return CaptureRefusedError(
        f"a captured value of type {kind} cannot be guarded: its content can change without notice; captured values "
        f"may be "
        "numbers, strings, tuples, frozensets, enums, dataclasses, instances of plain classes, dicts, lists, "
        "functions, "
        "classes and modules; to compile in the present content of another object, capture `dt.static(obj)` instead"
    )


# -- the encoding -----------------------------------------------------------------------------------------------------


def join(tag: bytes, parts: Iterable[bytes]) -> bytes:
    """Return ``tag`` and the parts, each behind its length, so that no two structures share an encoding."""
    return b"".join([tag, b"(", *[b"%d:%b" % (len(part), part) for part in parts], b")"])


def _text(value: str) -> bytes:
    return value.encode("utf-8", "surrogatepass")


def _class(value: object) -> bytes:
    if isinstance(value, ScalarType):
        return join(b"dtype", (value.name.encode(),))
    assert isinstance(value, type)
    return join(b"class", (_text(value.__module__), _text(value.__qualname__)))


def _float_bits(value: float) -> bytes:
    return struct.pack("<d", value)


def _function(value: object) -> bytes:
    assert isinstance(value, types.FunctionType)
    return join(b"function", (_text(value.__module__ or ""), _text(value.__qualname__)))


def _builtin(value: object, depth: int) -> bytes:
    assert isinstance(value, types.BuiltinFunctionType)
    owner = value.__self__
    if owner is None or isinstance(owner, types.ModuleType):
        return join(b"builtin", (_text(value.__module__ or ""), _text(value.__qualname__)))
    if not isinstance(owner, (type, str, bytes, int, float, complex, tuple, frozenset)):
        raise refusal(value)  # it can change what it is bound to
    return join(b"builtin-method", (_text(value.__name__), encode(owner, depth + 1)))


def _frozenset(value: object, depth: int) -> bytes:
    assert isinstance(value, frozenset)
    return join(b"frozenset", sorted(encode(item, depth + 1) for item in value))


def _slice(value: object, depth: int) -> bytes:
    assert isinstance(value, slice)
    return join(b"slice", (encode(part, depth + 1) for part in (value.start, value.stop, value.step)))


def _range(value: object, depth: int) -> bytes:
    assert isinstance(value, range)
    return join(b"range", (b"%d" % part for part in (value.start, value.stop, value.step)))


def _descriptor(value: Any, depth: int) -> bytes:
    return join(b"descriptor", (encode(value.__objclass__, depth + 1), _text(value.__name__)))


_DESCRIPTORS: Final = (
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)

_BY_VALUE: Final = frozenset(
    {type(None), bool, int, float, complex, str, bytes, range, slice, type(...), type(NotImplemented)}
)

_Encoder = Callable[[Any, int], bytes]

_ENCODERS: Final[dict[type, _Encoder]] = {
    type(None): lambda _value, _depth: b"none",
    type(...): lambda _value, _depth: b"ellipsis",
    type(NotImplemented): lambda _value, _depth: b"not-implemented",
    bool: lambda value, _depth: b"bool:1" if value else b"bool:0",
    int: lambda value, _depth: b"int:%d" % value if -(2**63) <= value < 2**63 else b"bigint:%x" % value,
    float: lambda value, _depth: b"float:" + _float_bits(value),
    complex: lambda value, _depth: b"complex:" + _float_bits(value.real) + _float_bits(value.imag),
    str: lambda value, _depth: b"str:" + _text(value),
    bytes: lambda value, _depth: b"bytes:" + value,
    tuple: lambda value, depth: join(b"tuple", [encode(item, depth + 1) for item in value]),
    frozenset: _frozenset,
    range: _range,
    slice: _slice,
    dict: lambda _value, _depth: b"dict",
    list: lambda _value, _depth: b"list",
    types.ModuleType: lambda value, _depth: join(b"module", (_text(value.__name__),)),
    types.FunctionType: lambda value, _depth: _function(value),
    types.BuiltinFunctionType: _builtin,
    types.MethodType: lambda value, depth: join(
        b"method", (encode(value.__func__, depth + 1), encode(value.__self__, depth + 1))
    ),
    staticmethod: lambda value, depth: join(b"staticmethod", (encode(value.__func__, depth + 1),)),
    classmethod: lambda value, depth: join(b"classmethod", (encode(value.__func__, depth + 1),)),
    property: lambda value, depth: join(b"property", (encode(value.fget, depth + 1),)),
    **dict.fromkeys(_DESCRIPTORS, _descriptor),
    functools.partial: lambda _value, _depth: b"partial",
}


def _by_family(value: object, depth: int) -> bytes:
    """Encode what no exact type stands for: numpy's scalars, NamedTuples, dataclasses, instances, darter's own."""
    cls = type(value)
    if isinstance(value, types.ModuleType):
        return join(b"module", (_text(value.__name__),))
    identity = _declared(cls, "__darter_identity__")
    if identity is not None:
        return join(b"darter", (_class(cls), encode(identity(value), depth + 1)))
    if capture_attributes(cls) is not None:
        return join(b"instance", (_class(cls),))
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.dtype):
        return join(b"torch-dtype", (_text(str(value)),))
    numpy_encoding = _numpy(value)
    if numpy_encoding is not None:
        return numpy_encoding
    if isinstance(value, tuple) and hasattr(cls, "_fields"):
        return join(b"namedtuple", (_class(cls), *(encode(item, depth + 1) for item in value)))
    if not is_plain_class(cls):
        raise refusal(value)
    if is_frozen_dataclass(value):
        fields = (getattr(value, field.name) for field in dataclasses.fields(value))  # type: ignore[arg-type]
        return join(b"dataclass", (_class(cls), *(encode(item, depth + 1) for item in fields)))
    return join(b"instance", (_class(cls),))


def is_numpy_value(value: object) -> bool:
    """True for a numpy scalar, dtype or ufunc, which are immutable."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, (numpy.dtype, numpy.ufunc, numpy.generic))


def _numpy(value: object) -> bytes | None:
    """Return the encoding of a numpy scalar, dtype or ufunc, else None; numpy is not imported for it."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    if isinstance(value, numpy.dtype):
        if value.hasobject or value.fields is not None or value.subdtype is not None:
            raise refusal(value)
        return join(b"numpy-dtype", (_text(value.name), _text(value.byteorder), b"%d" % value.itemsize))
    if isinstance(value, numpy.ufunc):
        return join(b"numpy-ufunc", (_text(value.__name__),))
    if isinstance(value, numpy.generic):
        if value.dtype.hasobject or value.dtype.fields is not None:
            raise refusal(value)
        return join(b"numpy", (_text(value.dtype.name), value.tobytes()))
    return None


def code_fingerprint(function: types.FunctionType, digests: SourceDigests | None = None) -> bytes:
    """Return the fingerprint of a function's code: the digest of its source as the user wrote it, normalised by AST.

    ``digests`` are those that are known; a compile has none, since it parses the source anyway.

    Raises ``SourceUnavailableError`` where the source is not to be found or is not the code that runs.
    """
    if digests is not None:
        digest = bytes.fromhex(digests.of(function))
    else:
        from darter.source.function_source import source_of

        digest = sha256(_text(source_of(function).digest_text)).digest()
    return join(b"code", (_text(function.__module__ or ""), _text(function.__qualname__), digest))
