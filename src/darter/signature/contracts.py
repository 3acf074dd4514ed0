"""Checks what annotations demand of tensors: dtype, rank, fixed extents, names that agree, one device for all."""

from __future__ import annotations

from collections.abc import Iterable

from darter.errors import ArgumentTypeError, ArgumentValueError
from darter.frozen import Frozen
from darter.signature.plan import ParamPlan
from darter.signature.view import CPU, DEVICE_NAMES, TensorView
from darter.target import Device


class BoundTensor(Frozen):
    """A tensor of a call: where it stands (``x``, ``pair.left``, ``xs[1]``), its plan and its view."""

    name: str
    plan: ParamPlan
    view: TensorView


def check_contracts(tensors: Iterable[BoundTensor]) -> None:
    """Raise ``ArgumentTypeError`` for a dtype or rank, ``ArgumentValueError`` for an extent, that breaks a contract.

    A named extent is bound by the first argument that has it; the others must agree.
    """
    bound: dict[str, tuple[int, str, int]] = {}
    for tensor in tensors:
        check_dtype(tensor)
        dims = tensor.plan.dims
        if dims is None:
            continue
        shape = tensor.view.shape
        if len(shape) != len(dims):
            raise ArgumentTypeError(
                f"argument '{tensor.name}': found rank {len(shape)}, shape {shape}; accepted: rank {len(dims)}, "
                f"{_contract(tensor.plan)}. Reshape it, or loosen the contract."
            )
        for axis, (dim, extent) in enumerate(zip(dims, shape, strict=True)):
            if isinstance(dim, int) and dim != extent:
                raise ArgumentValueError(
                    f"argument '{tensor.name}': found extent {extent} on axis {axis}, shape {shape}; accepted: {dim}, "
                    f"as {_contract(tensor.plan)} fixes it."
                )
            if isinstance(dim, str):
                _agree(bound, dim, tensor, axis)


def check_dtype(tensor: BoundTensor) -> None:
    """Raise ``ArgumentTypeError`` where the annotation demands another element type."""
    demanded = tensor.plan.dtype
    if demanded is not None and demanded is not tensor.view.dtype:
        raise ArgumentTypeError(
            f"argument '{tensor.name}': found dtype {tensor.view.dtype.numpy_name}; accepted: {demanded.numpy_name}, "
            "as the annotation demands. Convert it before the call."
        )


def _agree(bound: dict[str, tuple[int, str, int]], dim: str, tensor: BoundTensor, axis: int) -> None:
    extent = tensor.view.shape[axis]
    known, other, other_axis = bound.setdefault(dim, (extent, tensor.name, axis))
    if known != extent:
        raise ArgumentValueError(
            f"argument '{tensor.name}': found extent {extent} on axis {axis}, named \"{dim}\"; accepted: {known}, "
            f"which argument '{other}' has on axis {other_axis} under the same name."
        )


def _contract(plan: ParamPlan) -> str:
    dims = plan.dims or ()
    dtype = [] if plan.dtype is None else [f"dt.{plan.dtype.name}"]
    entries = [*dtype, *(f'"{dim}"' if isinstance(dim, str) else str(dim) for dim in dims)]
    return f"dt.Tensor[{', '.join(entries) or '()'}]"


def common_device(tensors: Iterable[BoundTensor]) -> Device:
    """Return the device that all tensors are on, the CPU where there are none.

    Raises ``ArgumentValueError`` naming two arguments whose devices differ.
    """
    first: BoundTensor | None = None
    for tensor in tensors:
        if first is None:
            first = tensor
            continue
        found, expected = tensor.view, first.view
        if (found.device_type, found.device_ordinal) != (expected.device_type, expected.device_ordinal):
            raise ArgumentValueError(
                f"argument '{tensor.name}': found on device {found.device}, but argument '{first.name}' is on "
                f"{expected.device}; accepted: all tensors of a call on one device. Move one of the two."
            )
    if first is None or first.view.device_type == CPU:
        return Device("cpu", 0)
    return Device(DEVICE_NAMES[first.view.device_type], first.view.device_ordinal)
