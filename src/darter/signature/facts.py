"""The facts of one tensor: unit-stride axis, ``vec16``, index width, static layout; native/key/key.cpp agrees."""

from __future__ import annotations

from collections.abc import Sequence

from darter.signature.argument import TensorArgument
from darter.signature.descriptor import Layout, TensorFacts
from darter.signature.view import TensorView, wrong_value

WIDE = 1 << 30
"""Extents and byte offsets from here on need 64-bit indices."""

VECTOR_BYTES = 16


def tensor_facts(view: TensorView, layout: Layout | None = None) -> TensorFacts:
    """Return what code generation may know about the tensor ``view``."""
    item_bytes = view.dtype.size_bytes
    axis = unit_axis(view.shape, view.strides)
    return TensorFacts(
        dtype=view.dtype,
        rank=len(view.shape),
        unit_axis=axis,
        vec16=axis is not None and is_vectorizable(view.address, view.shape, view.strides, item_bytes, axis),
        wide=is_wide(view.shape, view.strides, item_bytes),
        device_type=view.device_type,
        layout=layout,
    )


def unit_axis(shape: Sequence[int], strides: Sequence[int]) -> int | None:
    """Return the last axis with stride 1 (in elements) or extent ≤ 1, or None."""
    for axis in range(len(shape) - 1, -1, -1):
        if shape[axis] <= 1 or strides[axis] == 1:
            return axis
    return None


def is_vectorizable(address: int, shape: Sequence[int], strides: Sequence[int], item_bytes: int, unit: int) -> bool:
    """True where the base, and every meaningful stride but the unit axis', are multiples of 16 bytes."""
    return address % VECTOR_BYTES == 0 and all(
        stride * item_bytes % VECTOR_BYTES == 0
        for axis, (extent, stride) in enumerate(zip(shape, strides, strict=True))
        if extent > 1 and axis != unit
    )


def is_wide(shape: Sequence[int], strides: Sequence[int], item_bytes: int) -> bool:
    """True where an extent, or the byte offset of an element on either side of the base, reaches 2³⁰."""
    below = above = 0
    for extent, stride in zip(shape, strides, strict=True):
        if extent > 1:
            reach = (extent - 1) * abs(stride) * item_bytes
            if stride < 0:
                below += reach
            else:
                above += reach
    return any(extent >= WIDE for extent in shape) or below >= WIDE or above >= WIDE


def static_layout(name: str, argument: TensorArgument, view: TensorView) -> Layout:
    """Return the layout that ``argument`` fixes, with the values that its tensor has now.

    The stride of an axis of extent ≤ 1 reads as 1.  Raises ``ArgumentValueError`` where the rank is another one, or a
    dynamic value is no multiple of its promised divisor.
    """
    if len(view.shape) != argument.rank:
        raise wrong_value(
            name,
            f"rank {len(view.shape)} under an explicit argument made for rank {argument.rank}",
            "make the argument again with dt.from_dlpack.",
        )
    strides = tuple(1 if extent <= 1 else stride for extent, stride in zip(view.shape, view.strides, strict=True))
    _check_divisors(name, "extent", view.shape, argument.shape_divisors)
    _check_divisors(
        name,
        "stride",
        [0 if extent <= 1 else stride for extent, stride in zip(view.shape, view.strides, strict=True)],
        argument.stride_divisors,
    )
    return Layout(
        _masked(view.shape, argument.shape_mask),
        _masked(strides, argument.stride_mask),
        argument.shape_divisors,
        argument.stride_divisors,
    )


def _masked(values: Sequence[int], mask: int) -> tuple[int | None, ...]:
    return tuple(value if mask >> axis & 1 else None for axis, value in enumerate(values))


def _check_divisors(name: str, what: str, values: Sequence[int], divisors: Sequence[int]) -> None:
    for axis, (value, divisor) in enumerate(zip(values, divisors, strict=True)):
        if value % divisor:
            raise wrong_value(
                name,
                f"{what} {value} on axis {axis}, promised to be a multiple of {divisor}",
                "mark it dynamic with a divisor that holds, or with none.",
            )
