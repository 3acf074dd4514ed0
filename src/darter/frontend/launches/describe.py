"""Descriptors of a kernel's arguments, made from the launcher's values, and the checks of the kernel's contracts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from darter.dtypes import Bool, Int64, ScalarType
from darter.errors import CompileError, KernelTypeError, KernelValueError
from darter.frontend.numbers.promotion import default_type
from darter.frontend.tensors import raw_extent, raw_stride
from darter.frontend.tracer import Tracer
from darter.frontend.values import (
    DeviceValue,
    JitArgumentValue,
    KernelDict,
    KernelList,
    ObjectValue,
    PointerValue,
    StreamValue,
    StructValue,
    TensorValue,
    is_runtime,
    kind_of,
)
from darter.frozen import replaced
from darter.ir.nodes import Compare, CompareOp, Value
from darter.signature.descriptor import (
    ConstexprFacts,
    Descriptor,
    JitArgumentFacts,
    Layout,
    NoneFacts,
    ObjectFacts,
    PointerFacts,
    ScalarFacts,
    StreamFacts,
    StructFacts,
    TensorFacts,
    TypeFacts,
)
from darter.signature.plan import ParamKind, ParamPlan

_WANTED = {
    ParamKind.TENSOR: "a tensor",
    ParamKind.POINTER: "a tensor or pointer",
    ParamKind.SCALAR: "a number",
    ParamKind.CONSTEXPR: "a value known at compile time",
    ParamKind.TYPE: "a scalar type",
    ParamKind.STREAM: "a stream",
    ParamKind.STRUCT: "a struct",
    ParamKind.SELF: "an object",
}


def argument_facts(t: Tracer, parameter: ParamPlan, value: Any) -> Descriptor:
    """Return the descriptor of one argument; refuses what the parameter does not take, at the launch's line."""
    if value is None and parameter.optional and parameter.kind is not ParamKind.CONSTEXPR:
        return NoneFacts()
    match parameter.kind:
        case ParamKind.CONSTEXPR:
            return _constexpr(t, parameter, value)
        case ParamKind.POINTER:
            return _pointer(t, parameter, value)
        case ParamKind.STREAM if value is None or isinstance(value, StreamValue):
            return StreamFacts()
        case ParamKind.SELF | ParamKind.JIT_ARGUMENT | ParamKind.ANY:
            return _any(t, parameter, value)
        case ParamKind.TENSOR if isinstance(value, TensorValue):
            _check_tensor(t, parameter, value)
            return tensor_facts(t, value)
        case ParamKind.SCALAR if isinstance(value, DeviceValue):
            return ScalarFacts(value.dtype)
        case ParamKind.TYPE if isinstance(value, ScalarType):
            return TypeFacts(value)
        case ParamKind.STRUCT:
            return _struct(t, parameter, value)
    raise _refusal(t, parameter, value)


def _refusal(t: Tracer, parameter: ParamPlan, value: Any, accepted: str = "") -> CompileError:
    return t.error(
        KernelTypeError,
        f"argument '{parameter.name}' of the kernel takes {_WANTED.get(parameter.kind, 'another kind of value')}",
        found=kind_of(value),
        accepted=accepted,
    )


def tensor_facts(t: Tracer, tensor: TensorValue) -> TensorFacts:
    """Return a tensor's facts, with the extents and strides that the launcher knows as static ones."""
    rank = tensor.facts.rank
    shape = [raw_extent(t, tensor, axis) for axis in range(rank)]
    strides = [raw_stride(t, tensor, axis) for axis in range(rank)]
    layout = tensor.facts.layout
    if layout is None and not any(isinstance(extent, int) for extent in shape):
        return tensor.facts
    old = layout or Layout((None,) * rank, (None,) * rank, (1,) * rank, (1,) * rank)
    made = Layout(
        tuple(extent if isinstance(extent, int) else None for extent in shape),
        tuple(old.strides[a] if not isinstance(stride, int) else stride for a, stride in enumerate(strides)),
        tuple(1 if isinstance(e, int) else d for e, d in zip(shape, old.shape_divisors, strict=True)),
        tuple(1 if isinstance(s, int) else d for s, d in zip(strides, old.stride_divisors, strict=True)),
    )
    return replaced(tensor.facts, layout=made)


def _check_tensor(t: Tracer, parameter: ParamPlan, tensor: TensorValue) -> None:
    facts = tensor.facts
    if parameter.dtype is not None and facts.dtype is not parameter.dtype:
        t.fail(
            KernelTypeError,
            f"argument '{parameter.name}' of the kernel takes elements of {parameter.dtype.name}",
            found=kind_of(tensor),
        )
    if parameter.dims is not None and facts.rank != len(parameter.dims):
        t.fail(
            KernelTypeError,
            f"argument '{parameter.name}' of the kernel takes rank {len(parameter.dims)}",
            found=kind_of(tensor),
        )


def _pointer(t: Tracer, parameter: ParamPlan, value: Any) -> Descriptor:
    if isinstance(value, TensorValue):
        dtype, align = value.facts.dtype, 16 if value.facts.vec16 else value.facts.dtype.size_bytes
    elif isinstance(value, PointerValue):
        dtype, align = value.element, value.align_bytes
    else:
        raise _refusal(t, parameter, value)
    if dtype is not parameter.dtype and parameter.dtype is not None:
        t.fail(
            KernelTypeError,
            f"argument '{parameter.name}' of the kernel points to {parameter.dtype.name}",
            found=kind_of(value),
        )
    return PointerFacts(dtype, align)


def _constexpr(t: Tracer, parameter: ParamPlan, value: Any) -> Descriptor:
    if is_runtime(value):
        t.fail(
            KernelTypeError,
            f"argument '{parameter.name}' of the kernel must be known at compile time",
            found=kind_of(value),
            advice="make it a dt.Constexpr parameter of the launcher, or a run-time parameter of the kernel",
        )
    if isinstance(value, (KernelList, KernelDict)):
        t.fail(
            KernelTypeError,
            f"argument '{parameter.name}' of the kernel is keyed by value",
            found=kind_of(value),
            accepted="a tuple",
        )
    wanted = parameter.constexpr_type
    if wanted is not None and type(value) is not wanted and not (value is None and parameter.optional):
        t.fail(
            KernelTypeError,
            f"argument '{parameter.name}' of the kernel takes exactly {wanted.__name__}",
            found=kind_of(value),
        )
    return ConstexprFacts(value)


def _struct(t: Tracer, parameter: ParamPlan, value: Any) -> Descriptor:
    cls = value.cls if isinstance(value, StructValue) else type(value)
    if parameter.cls is not None and cls is not parameter.cls:
        raise _refusal(t, parameter, value, accepted=parameter.cls.__name__)
    return _structure(t, parameter, value)


def _structure(t: Tracer, parameter: ParamPlan, value: Any) -> Descriptor:
    if isinstance(value, StructValue):
        cls, names, values = value.cls, value.names, value.values
    elif type(value) is tuple:
        cls, names, values = tuple, (), value
    else:
        cls = type(value)
        names = getattr(cls, "_fields", ()) or tuple(getattr(cls, "__dataclass_fields__", ()))
        values = tuple(getattr(value, name) for name in names)
        if not names:
            raise _refusal(t, parameter, value)
    plans = parameter.fields or tuple(ParamPlan(str(i), ParamKind.ANY) for i in range(len(values)))
    if len(plans) != len(values):
        t.fail(
            KernelValueError,
            f"argument '{parameter.name}' of the kernel has {len(plans)} fields",
            found=f"{len(values)}",
        )
    fields = tuple(argument_facts(t, plan, field) for plan, field in zip(plans, values, strict=True))
    if isinstance(value, JitArgumentValue):
        return JitArgumentFacts(cls, value.signature, names, fields)
    return StructFacts(cls, names, fields)


def _any(t: Tracer, parameter: ParamPlan, value: Any) -> Descriptor:
    """Return the descriptor that the value's own kind gives."""
    if isinstance(value, TensorValue):
        return tensor_facts(t, value)
    if isinstance(value, PointerValue):
        return PointerFacts(value.element, value.align_bytes)
    if isinstance(value, DeviceValue):
        return ScalarFacts(value.dtype)
    if isinstance(value, ObjectValue):
        return ObjectFacts(value.cls, value.names, value.values)
    if isinstance(value, StreamValue):
        return StreamFacts()
    if value is None:
        return NoneFacts()
    if isinstance(value, ScalarType):
        return TypeFacts(value)
    if isinstance(value, (bool, int, float)):
        return ScalarFacts(default_type(value))
    if isinstance(value, (StructValue, tuple)):
        return _structure(t, parameter, value)
    raise t.error(
        KernelTypeError,
        f"argument '{parameter.name}' of the kernel cannot be passed",
        found=kind_of(value),
        advice="annotate the kernel's parameter with dt.Constexpr to pass it at compile time",
    )


def check_dims(
    t: Tracer,
    parameter: ParamPlan,
    tensor: TensorValue,
    names: dict[str, tuple[Any, str]],
    raise_if: Callable[..., None],
) -> None:
    """Check one tensor's extents against the kernel's contract."""
    assert parameter.dims is not None
    for axis, dim in enumerate(parameter.dims):
        if dim is None:
            continue
        found = raw_extent(t, tensor, axis)
        place = f"argument '{parameter.name}' of the kernel, axis {axis}"
        if isinstance(dim, str):
            wanted, first = names.setdefault(dim, (found, place))
            if wanted is found:
                continue
            what = f"'{dim}', which is "
        else:
            wanted, first, what = dim, "", ""
        if isinstance(found, int) and isinstance(wanted, int):
            if found != wanted:
                t.fail(KernelValueError, f"{place}: the extent is {found}", accepted=f"{what}{wanted}")
            continue
        _check_at_launch(t, place, found, wanted, f"{what}{{}}" + (f" at {first}" if first else ""), raise_if)


def _check_at_launch(
    t: Tracer, place: str, found: Any, wanted: Any, accepted: str, raise_if: Callable[..., None]
) -> None:
    a = t.const(Int64, found) if isinstance(found, int) else found
    b = t.const(Int64, wanted) if isinstance(wanted, int) else wanted
    differs = Value(Bool)
    t.emit(Compare(differs, CompareOp.NE, a, b))
    before, after = accepted.split("{}")
    raise_if(t, differs, "ArgumentValueError", (f"{place}: the extent is ", f"; accepted: {before}", after), (a, b))
