"""What names stand for while kernel or launcher code is traced.

A Python object stands for itself: it is static.  The classes here stand for what is known at run time only, or for
Python objects that hold such values.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from darter.dtypes import ScalarType
from darter.errors import CompileError
from darter.frontend.frame import Frame
from darter.ir.nodes import PointerType, Space, Value
from darter.signature.descriptor import TensorFacts


class DeviceValue:
    """A scalar known at run time.

    ``weak``: it stands for a Python number, one that a loop carries and whose type is still being found, or one of two
    that a condition chose; like a Python number it takes the type of what it meets.  ``choice``: the condition and the
    two numbers.  ``multiple``: an integer known to divide the value (1: nothing known).  ``origins``: the sites of the
    Python numbers that alone made the value (see ``frontend.numbers.literals``).
    """

    __slots__ = ("choice", "multiple", "origins", "value", "weak")

    def __init__(
        self, value: Value, weak: bool = False, multiple: int = 1, choice: tuple[Value, Any, Any] | None = None
    ) -> None:
        self.value = value
        self.weak = weak
        self.multiple = multiple
        self.choice = choice
        self.origins: frozenset[Any] = frozenset()

    @property
    def dtype(self) -> ScalarType:
        """The scalar type."""
        return self.value.type  # type: ignore[return-value]

    def __repr__(self) -> str:
        return f"<{'weak ' if self.weak else ''}{self.dtype.name} value>"


class PointerValue:
    """An address; ``align_bytes`` is what it is known to be a multiple of, ``parameter`` the argument it came from.

    ``walk`` is kept where bounds are checked.
    """

    __slots__ = ("align_bytes", "parameter", "value", "walk")

    def __init__(self, value: Value, align_bytes: int, parameter: int = -1, walk: Walk | None = None) -> None:
        self.value = value
        self.align_bytes = align_bytes
        self.parameter = parameter
        self.walk = walk

    @property
    def type(self) -> PointerType:
        """The pointer type."""
        return self.value.type  # type: ignore[return-value]

    @property
    def element(self) -> ScalarType:
        """Type of the elements."""
        return self.type.element


class TensorValue:
    """A tensor argument: its facts, and its place among the parameters, from which extents and strides are read."""

    __slots__ = ("extents", "facts", "name", "parameter", "path", "pointer", "strides")

    def __init__(self, name: str, facts: TensorFacts, path: tuple[int, ...]) -> None:
        self.name = name
        self.facts = facts
        self.path = path
        self.parameter = path[0]
        self.pointer: Value | None = None
        self.extents: list[int | Value | None] = [None] * facts.rank
        self.strides: list[int | Value | None] = [None] * facts.rank


class SharedArray:
    """Shared memory of the block: row-major with static extents; ``shape`` None: a dynamic number of elements."""

    __slots__ = ("name", "pointer", "shape")

    def __init__(self, pointer: Value, shape: tuple[int, ...] | None) -> None:
        self.pointer = pointer
        self.shape = shape
        self.name = "shared memory" if shape is not None else "dynamic shared memory"

    @property
    def element(self) -> ScalarType:
        """Type of the elements."""
        return self.pointer.type.element  # type: ignore[union-attr]


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """How a pointer came to be where it is: ``bytes`` (an Int64) from the base of a tensor or shared memory."""

    start: TensorValue | SharedArray
    bytes: Value


class RegisterArray:
    """A fixed number of values of one type in registers, indexed statically; mutable, compared by identity."""

    __slots__ = ("dtype", "items", "serial")

    def __init__(self, dtype: ScalarType, items: list[DeviceValue], serial: int) -> None:
        self.dtype = dtype
        self.items = items
        self.serial = serial


class KernelList(list[Any]):
    """A list made in kernel code; ``serial`` tells in which region, since only that region may mutate it."""

    __slots__ = ("serial",)

    serial: int


class KernelDict(dict[Any, Any]):
    """A dict made in kernel code; see :class:`KernelList`."""

    __slots__ = ("serial",)

    serial: int


@dataclass(frozen=True, slots=True, eq=False)
class StructValue:
    """An instance of a NamedTuple or frozen dataclass whose fields may be run-time values."""

    cls: type
    names: tuple[str, ...]
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False)
class JitArgumentValue(StructValue):
    """A user's own argument: its fields, and what its ``__cache_signature__()`` gave, which is static."""

    signature: Any


@dataclass(frozen=True, slots=True, eq=False)
class ObjectValue:
    """``self`` or another object argument: only its declared constexpr fields and its class may be read."""

    cls: type
    names: tuple[str, ...]
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False)
class StreamValue:
    """The launcher's stream."""


@dataclass(frozen=True, slots=True, eq=False)
class BoundMethod:
    """A function looked up on an object: called with ``instance`` first."""

    function: Any
    instance: Any


@dataclass(frozen=True, slots=True, eq=False)
class ValueMethod:
    """A method of a tensor, pointer, array or list, called by the front end."""

    name: str
    instance: Any


@dataclass(frozen=True, slots=True, eq=False)
class LocalFunction:
    """A lambda or nested ``def`` of kernel code, with the frame that it closes over."""

    name: str
    node: ast.FunctionDef | ast.Lambda
    frame: Frame
    defaults: dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class KernelCall:
    """``k(x, y)`` in a launcher, before ``.launch``."""

    kernel: Any
    instance: Any
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    node: ast.AST


@dataclass(frozen=True, slots=True, eq=False)
class FormattedText:
    """An f-string with run-time values: ``pieces[0] operands[0] pieces[1] …``."""

    pieces: tuple[str, ...]
    operands: tuple[DeviceValue, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Unbound:
    """A name that is bound on some paths only; ``reason`` says on which.

    ``error`` is what reading it raises, where that says more than the reason.
    """

    reason: str
    node: ast.AST | None = field(default=None)
    error: CompileError | None = field(default=None)


class RuntimeRange:
    """``range(...)`` with a run-time bound: only a ``for`` statement takes it."""

    __slots__ = ("bounds",)

    def __init__(self, bounds: tuple[Any, Any, Any]) -> None:
        self.bounds = bounds


SHARED = Space.SHARED
GLOBAL = Space.GLOBAL


def kind_of(value: Any) -> str:
    """Return what a user calls ``value``, for messages."""
    match value:
        case DeviceValue():
            return f"{_with_article(value.dtype.name)} value" if not value.weak else "a number carried or chosen"
        case PointerValue():
            return f"a pointer to {value.element.name}"
        case TensorValue():
            return f"tensor '{value.name}' ({value.facts.dtype.name}, rank {value.facts.rank})"
        case SharedArray():
            return f"{value.name} of {value.element.name}"
        case RegisterArray():
            return f"a register array of {len(value.items)} {value.dtype.name}"
        case KernelList():
            return "a list"
        case KernelDict():
            return "a dict"
        case StructValue() | ObjectValue():
            return f"a {value.cls.__name__}"
        case StreamValue():
            return "a stream"
        case LocalFunction() | BoundMethod() | ValueMethod():
            return "a function"
        case KernelCall():
            return "a kernel call without .launch(...)"
        case RuntimeRange():
            return "a range with run-time bounds"
        case FormattedText():
            return "a text with run-time values"
        case ScalarType():
            return f"the type {value!r}"
        case None | bool() | int() | float() | complex():
            return f"the static {type(value).__name__} {value!r}" if value is not None else "None"
        case str() | bytes():
            return f"the static {type(value).__name__} {value!r:.60}"
        case _:
            return f"a static {type(value).__name__}"


def _with_article(name: str) -> str:
    """Return a scalar type's name as it is read: an i32, an f32, a u8, a bool."""
    return f"{'an' if name[0] in 'ief' else 'a'} {name}"


def is_runtime(value: Any) -> bool:
    """True if ``value`` is, or holds, something known at run time only."""
    if isinstance(value, (tuple, list)):
        return any(map(is_runtime, value))
    if isinstance(value, dict):
        return any(map(is_runtime, value.values()))
    if isinstance(value, StructValue):
        return any(map(is_runtime, value.values))
    return isinstance(value, _RUNTIME)


_RUNTIME = (
    DeviceValue,
    PointerValue,
    TensorValue,
    SharedArray,
    RegisterArray,
    FormattedText,
    StreamValue,
    KernelCall,
    RuntimeRange,
)
