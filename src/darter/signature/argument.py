"""Explicit arguments: ``dt.from_dlpack(t)`` fixes a layout at compile time; users' types implement ``JitArgument``.

The native reader reads a ``TensorArgument`` through the member descriptors of its slots: CPython lays slots out sorted
by name, so their order in the class says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from darter.errors import ArgumentTypeError, ArgumentValueError

if TYPE_CHECKING:
    from darter.signature.view import TensorView

MAX_LAYOUT_RANK = 32
"""Ranks that the two 32-bit masks of a layout hold."""


class JitArgument(Protocol):
    """A user's own argument type.

    ``__cache_signature__`` returns what the compiled code depends on, as a keyable compile-time value; it is asked at
    every call.  ``__jit_fields__`` names the attributes passed to the kernel, planned as their annotations say.
    """

    __jit_fields__: ClassVar[tuple[str, ...]] = ()

    def __cache_signature__(self) -> Any: ...


class TensorArgument:
    """A tensor whose extents and strides are compile-time constants where it does not say otherwise.  Immutable.

    Slots, as the native reader finds them:

    ``source``: the tensor, read again at every call; static entries are what it holds then.
    ``shape_mask``, ``stride_mask``: bit ``d`` set where extent or stride ``d`` is static.
    ``shape_divisors``, ``stride_divisors``: tuples of ``rank`` ints; what a dynamic entry (in elements) must be a
    multiple of, 1 for static ones.  Strides of axes of extent ≤ 1 are not checked, and read as 1.
    """

    __slots__ = ("shape_divisors", "shape_mask", "source", "stride_divisors", "stride_mask")

    source: Any
    shape_mask: int
    stride_mask: int
    shape_divisors: tuple[int, ...]
    stride_divisors: tuple[int, ...]

    def __init__(
        self,
        source: Any,
        shape_mask: int,
        stride_mask: int,
        shape_divisors: tuple[int, ...],
        stride_divisors: tuple[int, ...],
    ) -> None:
        values = (shape_divisors, shape_mask, source, stride_divisors, stride_mask)
        for name, value in zip(self.__slots__, values, strict=True):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a TensorArgument is immutable; its mark_ methods return a new one (set {name!r})")

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how copy and pickle make it anew: around a copy of its tensor."""
        layout = self.shape_mask, self.stride_mask, self.shape_divisors, self.stride_divisors
        return TensorArgument, (self.source, *layout)

    def __repr__(self) -> str:
        return f"dt.from_dlpack(<{type(self.source).__name__}>, static shape {self._static(self.shape_mask)}, " + (
            f"static strides {self._static(self.stride_mask)})"
        )

    @property
    def rank(self) -> int:
        """Number of axes."""
        return len(self.shape_divisors)

    def mark_layout_dynamic(self, leading_dim: int | None = None, div: int = 1) -> TensorArgument:
        """Return the argument with every extent dynamic, and every stride but that of ``leading_dim``, which stays 1.

        Without ``leading_dim`` it is the last axis with stride 1 or extent ≤ 1; where there is none, all are dynamic.
        ``div`` promises that each dynamic stride is a multiple of ``div`` elements; every call checks it.
        Raises ``ArgumentValueError`` where ``leading_dim`` is no axis or its stride is not 1.
        """
        shape, strides = self._layout()
        if leading_dim is None:
            candidates = [axis for axis in range(self.rank) if shape[axis] <= 1 or strides[axis] == 1]
            leading = candidates[-1] if candidates else None
        else:
            leading = self._axis(leading_dim)
            if shape[leading] > 1 and strides[leading] != 1:
                raise ArgumentValueError(
                    f"mark_layout_dynamic: axis {leading} has stride {strides[leading]}; the leading dimension has "
                    "stride 1. Name another axis, or none to have it found."
                )
        dynamic = [axis for axis in range(self.rank) if axis != leading]
        return self.mark_shape_dynamic().mark_stride_dynamic(dynamic, div)

    def mark_shape_dynamic(self, dims: Iterable[int] | int | None = None, div: int = 1) -> TensorArgument:
        """Return the argument with the extents ``dims`` (all by default) dynamic, each a multiple of ``div``."""
        axes = self._axes(dims, div)
        mask, divisors = _loosen(self.shape_mask, self.shape_divisors, axes, div)
        return TensorArgument(self.source, mask, self.stride_mask, divisors, self.stride_divisors)

    def mark_stride_dynamic(self, dims: Iterable[int] | int | None = None, div: int = 1) -> TensorArgument:
        """Return the argument with the strides ``dims`` (all by default) dynamic, each a multiple of ``div``."""
        axes = self._axes(dims, div)
        mask, divisors = _loosen(self.stride_mask, self.stride_divisors, axes, div)
        return TensorArgument(self.source, self.shape_mask, mask, self.shape_divisors, divisors)

    def _layout(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        view = _view(self.source)
        return view.shape, view.strides

    def _static(self, mask: int) -> tuple[int, ...]:
        return tuple(axis for axis in range(self.rank) if mask >> axis & 1)

    def _axes(self, dims: Iterable[int] | int | None, div: int) -> tuple[int, ...]:
        if type(div) is not int or not 1 <= div < 1 << 63:
            raise ArgumentValueError(f"div: found {div!r}; accepted: a positive int")
        if dims is None:
            return tuple(range(self.rank))
        return tuple(self._axis(dim) for dim in ((dims,) if isinstance(dims, int) else dims))

    def _axis(self, dim: int) -> int:
        if type(dim) is not int:
            raise ArgumentTypeError(f"an axis is an int; found {dim!r} of type {type(dim).__name__}")
        if not -self.rank <= dim < self.rank:
            raise ArgumentValueError(f"axis {dim} is out of range for a tensor of rank {self.rank}")
        return dim % self.rank


def _loosen(mask: int, divisors: tuple[int, ...], axes: tuple[int, ...], div: int) -> tuple[int, tuple[int, ...]]:
    for axis in axes:
        mask &= ~(1 << axis)
    return mask, tuple(div if axis in axes else held for axis, held in enumerate(divisors))


def from_dlpack(t: Any) -> TensorArgument:
    """Return an explicit argument for ``t`` (NumPy, torch, DLPack, array interface) with a fully static layout.

    Raises ``ArgumentTypeError`` or ``ArgumentValueError`` for what is no readable tensor or has more than 32 axes.
    """
    if isinstance(t, TensorArgument):
        return t
    rank = len(_view(t).shape)
    if rank > MAX_LAYOUT_RANK:
        raise ArgumentValueError(f"argument 't': rank {rank}; a static layout has at most {MAX_LAYOUT_RANK} axes.")
    every_axis = (1 << rank) - 1
    return TensorArgument(t, every_axis, every_axis, (1,) * rank, (1,) * rank)


def _view(t: Any) -> TensorView:
    # Here and not above: `import darter` needs no reader of arrays.
    from darter.signature.reader import read_tensor

    return read_tensor("t", t)
