"""``@dt.kernel(noalias=...)``: launches check that the tensors named there overlap no other argument."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from darter.dtypes import Int64
from darter.errors import KernelTypeError
from darter.frontend.calls.intrinsics import extremum
from darter.frontend.numbers.comparisons import compare
from darter.frontend.numbers.operators import binary
from darter.frontend.tensors import extents, pointer, strides
from darter.frontend.tracer import Tracer
from darter.frontend.values import DeviceValue, PointerValue, StructValue, TensorValue, kind_of
from darter.ir.nodes import Bitcast, Value

RaiseIf = Callable[[Tracer, Value, str, tuple[str, ...], tuple[Value, ...]], None]


@dataclass(frozen=True, slots=True)
class Span:
    """What a tensor may touch: bytes from ``low`` up to, not including, ``end``; ``smallest`` is its least extent."""

    name: str
    low: Any
    end: Any
    smallest: Any


def check_overlap(t: Tracer, names: tuple[str, ...], arguments: dict[str, Any], raise_if: RaiseIf) -> None:
    """Emit the checks of a launch whose kernel was declared with ``noalias=names``; ``arguments`` are its own, by name.

    Raises:
        KernelTypeError: a name is no tensor parameter, or an argument is a pointer, whose size nobody knows.
    """
    for name in names:
        if not isinstance(arguments.get(name), TensorValue):
            found = kind_of(arguments[name]) if name in arguments else "no parameter of that name"
            t.fail(KernelTypeError, f"noalias names '{name}', which is no tensor of the kernel", found=found)
    if not names:
        return
    tensors = {name: value for argument, value in arguments.items() for name, value in _tensors(t, argument, value)}
    spans = {name: _span(t, name, value) for name, value in tensors.items()}
    for position, name in enumerate(names):
        for other in spans:
            if other != name and other not in names[:position]:
                _check(t, spans[name], spans[other], raise_if)


def _tensors(t: Tracer, name: str, value: Any) -> list[tuple[str, TensorValue]]:
    if isinstance(value, PointerValue):
        t.fail(
            KernelTypeError,
            f"a kernel with noalias takes a pointer, argument '{name}'",
            found=kind_of(value),
            accepted="tensors: how far a pointer reaches is not known",
        )
    if isinstance(value, TensorValue):
        return [(name, value)]
    if isinstance(value, StructValue):
        fields = zip(value.names, value.values, strict=True)
        return [found for field, inner in fields for found in _tensors(t, f"{name}.{field}", inner)]
    if isinstance(value, tuple):
        return [found for index, inner in enumerate(value) for found in _tensors(t, f"{name}[{index}]", inner)]
    return []


def _span(t: Tracer, name: str, tensor: TensorValue) -> Span:
    low, high, shape = 0, 0, extents(t, tensor)
    for extent, stride in zip(shape, strides(t, tensor), strict=True):
        reach = binary(t, "*", operator.mul, binary(t, "-", operator.sub, extent, 1), stride)
        low = binary(t, "+", operator.add, low, extremum(t, "min", [reach, 0]))
        high = binary(t, "+", operator.add, high, extremum(t, "max", [reach, 0]))
    item = tensor.facts.dtype.size_bytes
    bits = Value(Int64, f"{name}_address")
    t.emit(Bitcast(bits, pointer(t, tensor)))
    base = DeviceValue(bits)
    first = binary(t, "+", operator.add, base, binary(t, "*", operator.mul, low, item))
    above = binary(t, "*", operator.mul, binary(t, "+", operator.add, high, 1), item)
    smallest = extremum(t, "min", list(shape)) if shape else 1
    return Span(name, first, binary(t, "+", operator.add, base, above), smallest)


def _check(t: Tracer, a: Span, b: Span, raise_if: RaiseIf) -> None:
    overlap = compare(t, "<", operator.lt, a.low, b.end)
    overlap = binary(t, "&", operator.and_, overlap, compare(t, "<", operator.lt, b.low, a.end))
    smallest = extremum(t, "min", [a.smallest, b.smallest])
    overlap = binary(t, "&", operator.and_, overlap, compare(t, ">", operator.gt, smallest, 0))
    pieces = (f"argument '{a.name}' of the kernel overlaps argument '{b.name}'; it is declared noalias",)
    raise_if(t, overlap.value, "ArgumentValueError", pieces, ())
