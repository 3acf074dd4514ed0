"""The classes that parameters are annotated with: ``Tensor``, ``Pointer``, ``Constexpr`` and ``Stream``.

Two spellings mean the same::

    x: dt.Tensor[dt.bf16, "T", "H", 512]
    x: Annotated[dt.Tensor, dt.bf16, "T", "H", 512]

The first is the short one; mypy and ruff take its quoted names for forward references (ruff's F821 reports them, and
UP037 strips the quotes), so code that is checked uses the second, which both accept.  ``dt.Constexpr[int]`` is an
``int`` to a type checker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NoReturn, TypeVar

from darter.dtypes import Scalar, ScalarType
from darter.errors import ArgumentTypeError, SignatureError
from darter.frozen import Frozen

Dims = tuple[int | str | None, ...]
"""A contract on extents: per axis an int (fixed), a name (agrees across arguments) or None (free)."""


class OptionalAnnotation(Frozen):
    """``annotation | None`` for the subscripted annotations below, which are instances and not classes."""

    inner: Any


class _Annotation(Frozen):
    """What a subscripted annotation class returns; supports ``| None`` on both sides."""

    def __or__(self, other: object) -> OptionalAnnotation:
        if other is None or other is type(None):
            return OptionalAnnotation(self)
        return NotImplemented

    __ror__ = __or__


class TensorAnnotation(_Annotation):
    """The contract of ``dt.Tensor[...]``: element type (None: any) and extents (``dims`` None: any rank)."""

    dtype: ScalarType | None
    dims: Dims | None


class PointerAnnotation(_Annotation):
    """The element type of ``dt.Pointer[dtype]``."""

    dtype: ScalarType


class ConstexprAnnotation(_Annotation):
    """The exact type of ``dt.Constexpr[T]``; the origin class where ``T`` is a parametrised generic."""

    type: type


def is_scalar_type(value: object) -> bool:
    """True for the scalar types of ``darter.dtypes``, False for their abstract base ``dt.Scalar``."""
    return isinstance(value, ScalarType) and value is not Scalar


def tensor_annotation(items: Any) -> TensorAnnotation:
    """Return the contract that the subscript ``items`` of ``dt.Tensor`` (or the metadata of ``Annotated``) states.

    A scalar type may come first; then per axis a non-negative int, a name or None; ``...`` in their place, or nothing
    after the scalar type, means any rank, and ``()`` rank 0.  Raises ``SignatureError``.
    """
    entries: tuple[Any, ...] = items if isinstance(items, tuple) else (items,)
    dtype = None
    if entries and is_scalar_type(entries[0]):
        dtype, entries = entries[0], entries[1:]
        if not entries or entries == (...,):
            return TensorAnnotation(dtype, None)
    elif entries == (...,):
        return TensorAnnotation(None, None)
    if entries == ((),):
        return TensorAnnotation(dtype, ())
    for entry in entries:
        _check_dim(entry, entries)
    return TensorAnnotation(dtype, entries)


def _check_dim(entry: object, entries: tuple[Any, ...]) -> None:
    if entry is None or (type(entry) is int and 0 <= entry < 1 << 63) or (type(entry) is str and entry.isidentifier()):
        return
    raise SignatureError(
        f"dt.Tensor[...]: {entry!r} in {entries!r} is no extent. Accepted: a scalar type first (dt.f32), then per axis "
        'a non-negative int, a name ("n") or None; or ... for any rank.'
    )


def _no_instances(cls: type) -> NoReturn:
    raise ArgumentTypeError(
        f"dt.{cls.__name__} annotates parameters of kernels and launchers and has no instances; pass a NumPy array, a "
        "torch tensor or anything with DLPack as the argument."
    )


class Tensor:
    """An array in memory; as an annotation, any tensor: ``dt.Tensor``, ``dt.Tensor["n"]``, ``dt.Tensor[dt.f32, ...]``.

    The attributes stand here for type checkers; in kernel code the front end gives them their meaning.
    """

    __slots__ = ()

    def __new__(cls, *_: object, **__: object) -> Tensor:
        _no_instances(cls)

    def __class_getitem__(cls, items: Any) -> TensorAnnotation:
        return tensor_annotation(items)

    if TYPE_CHECKING:
        shape: tuple[Any, ...]
        """Extents, in elements."""
        strides: tuple[Any, ...]
        """Strides, in elements."""
        ndim: int
        """Rank."""
        dtype: ScalarType
        """Element type."""

        def __getitem__(self, index: Any) -> Any: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...
        def load(self, *index: Any, width: int = 1) -> Any: ...
        def store(self, *args: Any) -> None: ...
        def data_ptr(self) -> Any: ...


class Pointer:
    """An address of elements of one type: ``dt.Pointer[dt.f32]`` takes a tensor (its dtype is checked) or an int."""

    __slots__ = ()

    def __new__(cls, *_: object, **__: object) -> Pointer:
        _no_instances(cls)

    def __class_getitem__(cls, dtype: Any) -> PointerAnnotation:
        if not is_scalar_type(dtype):
            raise SignatureError(f"dt.Pointer[...] takes one scalar type, such as dt.Pointer[dt.f32]; found {dtype!r}.")
        return PointerAnnotation(dtype)

    if TYPE_CHECKING:

        def __getitem__(self, index: Any) -> Any: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...
        def __add__(self, offset: Any) -> Pointer: ...
        def load(self, index: Any = 0, *, width: int = 1) -> Any: ...
        def store(self, *args: Any) -> None: ...


class Stream:
    """A stream: None, a raw handle as an int, or an object with ``cuda_stream`` or ``__cuda_stream__``."""

    __slots__ = ()
    accepted: ClassVar[str] = "None, a raw handle (int), an object with .cuda_stream or __cuda_stream__"

    def __new__(cls, *_: object, **__: object) -> Stream:
        _no_instances(cls)


if TYPE_CHECKING:
    _T = TypeVar("_T")
    Constexpr = Annotated[_T, "constexpr"]
else:

    class Constexpr:
        """A compile-time value: bare, of any keyable type; ``dt.Constexpr[T]`` demands ``type(value) is T``."""

        __slots__ = ()

        def __new__(cls, *_: object, **__: object) -> Constexpr:
            _no_instances(cls)

        def __class_getitem__(cls, item: Any) -> Any:
            return constexpr_annotation(item)


def constexpr_annotation(item: Any) -> Any:
    """Return the annotation that ``dt.Constexpr[item]`` means; ``T | None`` admits None, ``Any`` is the bare form."""
    if item is Any:
        return Constexpr
    if isinstance(item, type) and getattr(item, "__origin__", None) is None:
        return ConstexprAnnotation(item)
    arguments = getattr(item, "__args__", ())
    if len(arguments) == 2 and type(None) in arguments:
        inner = constexpr_annotation(next(entry for entry in arguments if entry is not type(None)))
        return OptionalAnnotation(inner)
    origin = getattr(item, "__origin__", None)
    if isinstance(origin, type):
        return ConstexprAnnotation(origin)
    raise SignatureError(
        f"dt.Constexpr[...] takes one class, such as dt.Constexpr[int], or one class | None; found {item!r}."
    )
