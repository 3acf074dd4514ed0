"""Kernel calls in a launcher: arguments are checked against the kernel's own contracts, and the launch is emitted."""

from __future__ import annotations

import types
from dataclasses import dataclass
from typing import Any

from darter.dtypes import Bool, Int64, Kind, ScalarType
from darter.errors import ArgumentTypeError, KernelTypeError, KernelValueError
from darter.frontend.flow.branches import branch
from darter.frontend.launches.describe import argument_facts, check_dims
from darter.frontend.launches.kernels import BuiltKernel, built_kernel
from darter.frontend.launches.overlap import check_overlap
from darter.frontend.numbers.casts import convert
from darter.frontend.numbers.comparisons import compare
from darter.frontend.numbers.operators import binary
from darter.frontend.numbers.promotion import as_value, default_type, is_number, plain_integer, static_value, strong
from darter.frontend.tensors import EXTENT, POINTER, SCALAR, pointer, raw_extent, raw_stride
from darter.frontend.tracer import Tracer
from darter.frontend.values import (
    DeviceValue,
    KernelCall,
    PointerValue,
    StreamValue,
    StructValue,
    TensorValue,
    is_runtime,
    kind_of,
)
from darter.ir.nodes import Cast, Launch, LaunchOptions, Raise, Type, Value
from darter.signature.binder import bind
from darter.signature.descriptor import Descriptor
from darter.signature.plan import ParamKind, ParamPlan, SignaturePlan
from darter.signature.planner import plan_signature

GRID_LIMITS = (2**31 - 1, 65535, 65535)
MAX_THREADS = 1024
_OPTIONS = ("cluster", "cooperative", "programmatic_dependent")
_ACCEPTED = "grid, block, stream, shared, cluster, cooperative, programmatic_dependent"


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a kernel: what code generation may bake in, and the launcher's value."""

    facts: Descriptor
    value: Any


def launch(t: Tracer, call: KernelCall, arguments: list[Any], keywords: dict[str, Any]) -> None:
    """``k(...).launch(grid=, block=, stream=, shared=)``: build the kernel and emit its launch."""
    given = dict(zip(("grid", "block"), arguments, strict=False)) | keywords
    unknown = [name for name in given if name not in _ACCEPTED.split(", ")]
    if unknown or len(arguments) > 2:
        t.fail(
            KernelTypeError,
            "launch is called wrongly",
            found=f"'{unknown[0]}'" if unknown else "too many arguments",
            accepted=_ACCEPTED,
        )
    for name in ("grid", "block"):
        if name not in given:
            t.fail(KernelTypeError, f"launch is missing '{name}'", accepted=f"launch({_ACCEPTED})")
    block = _block(t, given["block"])
    grid = _grid(t, given["grid"])
    shared = _shared(t, given.get("shared", 0))
    _check_stream(t, given.get("stream"))
    options = _launch_options(t, given)
    plan = kernel_plan(t, call)
    bound = bound_arguments(t, plan, call)
    _check_contracts(t, plan, bound)
    named = {parameter.name: argument.value for parameter, argument in zip(plan.parameters, bound, strict=True)}
    check_overlap(t, call.kernel.options.noalias, named, raise_if)
    facts = tuple(argument.facts for argument in bound)
    kernel = built_kernel(t, call, plan, facts, block)
    types = [parameter.type for parameter in t.session.kernels[kernel.index].parameters]
    values = tuple(_slot_value(t, bound, key, type) for key, type in zip(kernel.slots, types, strict=True))
    _mark_written(t, kernel, bound)
    t.emit(Launch(kernel.index, values, grid, shared, options))


def kernel_plan(t: Tracer, call: KernelCall) -> SignaturePlan:
    """Return the kernel's own plan."""
    key = ("plan", id(call.kernel), call.instance is None)
    plans = t.session.kernel_keys
    if key not in plans:
        function: types.FunctionType = t.recorded(lambda: t.recorder.attribute(call.kernel, "__wrapped__"))
        t.recorded(lambda: t.recorder.attribute(call.kernel, "options"))
        t.recorded(lambda: t.recorder.function(function))
        t.recorded(lambda: t.recorder.parameters(function, is_method=call.instance is not None))
        plans[key] = plan_signature(function, call.instance is not None)
    plan: SignaturePlan = plans[key]
    return plan


# -- the launch's own arguments ---------------------------------------------------------------------------------------


def _triple(t: Tracer, value: Any, name: str) -> list[Any]:
    parts = [plain_integer(part) for part in (value if isinstance(value, (tuple, list)) else [value])]
    if not 1 <= len(parts) <= 3:
        t.fail(KernelValueError, f"{name} has {len(parts)} parts", accepted="an integer, or a tuple of one to three")
    for part in parts:
        integer = part.dtype.is_integer if isinstance(part, DeviceValue) else type(part) is int
        if not integer:
            t.fail(
                KernelTypeError,
                f"{name} takes integers",
                found=kind_of(part),
                accepted="an integer, or a tuple of one to three",
                advice="dt.cdiv(n, BLOCK) rounds a quotient up" if name == "grid" else "",
            )
    return parts + [1] * (3 - len(parts))


def _block(t: Tracer, value: Any) -> tuple[int, int, int]:
    parts = _triple(t, value, "block")
    for part in parts:
        if isinstance(part, DeviceValue):
            t.fail(
                KernelTypeError,
                "block must be known at compile time",
                found=kind_of(part),
                advice="make the block size a dt.Constexpr parameter, or choose among launches with if",
            )
        if part < 1:
            t.fail(KernelValueError, f"block {tuple(parts)} has a part below 1", accepted="1 … 1024 threads")
    x, y, z = parts
    if x * y * z > MAX_THREADS:
        shown = tuple(parts) if y * z > 1 else x
        t.fail(KernelValueError, f"block {shown} has {x * y * z} threads", accepted=f"1 … {MAX_THREADS} threads")
    return x, y, z


def _grid(t: Tracer, value: Any) -> tuple[Value, Value, Value]:
    values = []
    for part, limit, axis in zip(_triple(t, value, "grid"), GRID_LIMITS, "xyz", strict=True):
        if isinstance(part, int) and not 0 <= part <= limit:
            t.fail(KernelValueError, f"grid.{axis} is {part}", accepted=f"0 … {limit}")
        values.append(as_value(t, part, Int64))
    return values[0], values[1], values[2]


def _shared(t: Tracer, value: Any) -> Value:
    value = plain_integer(value)
    if not (isinstance(value, DeviceValue) and value.dtype.is_integer) and type(value) is not int:
        t.fail(KernelTypeError, "shared takes a number of bytes", found=kind_of(value))
    if isinstance(value, int) and value < 0:
        t.fail(KernelValueError, f"shared is {value}", accepted="0 or more bytes")
    return as_value(t, value, Int64)


def _check_stream(t: Tracer, value: Any) -> None:
    if value is None or isinstance(value, StreamValue) or type(value) is int:
        return
    t.fail(
        KernelTypeError, "this is no stream", found=kind_of(value), accepted="the launcher's stream parameter, or None"
    )


def _launch_options(t: Tracer, given: dict[str, Any]) -> LaunchOptions:
    chosen = {name: given[name] for name in _OPTIONS if name in given}
    for name, value in chosen.items():
        if is_runtime(value):
            t.fail(KernelTypeError, f"{name} must be known at compile time", found=kind_of(value))
    if "cluster" in chosen:
        parts = _triple(t, chosen["cluster"], "cluster")
        chosen["cluster"] = (parts[0], parts[1], parts[2])
    return LaunchOptions(**chosen)


# -- the kernel's arguments -------------------------------------------------------------------------------------------


def bound_arguments(t: Tracer, plan: SignaturePlan, call: KernelCall) -> list[Argument]:
    """Return one argument per parameter of the kernel, converted as its annotation says."""
    arguments = list(call.arguments)
    if call.instance is not None:
        arguments.insert(0, call.instance)
    try:
        values = bind(plan, arguments, call.keywords)
    except ArgumentTypeError as error:
        raise t.error(KernelTypeError, f"kernel {error}", node=call.node) from error
    return [bound_argument(t, parameter, value) for parameter, value in zip(plan.parameters, values, strict=True)]


def bound_argument(t: Tracer, parameter: ParamPlan, value: Any) -> Argument:
    """Return one argument as its parameter takes it."""
    if parameter.kind is not ParamKind.CONSTEXPR:
        value = strong(t, value)
    if parameter.dtype is not None and is_number(value) and parameter.kind is ParamKind.SCALAR:
        value = _scalar(t, parameter, value)
    return Argument(argument_facts(t, parameter, value), value)


def _scalar(t: Tracer, parameter: ParamPlan, value: Any) -> DeviceValue:
    """Return a number as the type that a parameter is annotated with; one out of range is an error at the launch."""
    dtype = parameter.dtype
    assert dtype is not None
    if not isinstance(value, DeviceValue):
        if isinstance(value, float) and not dtype.is_float:
            _refuse_scalar(t, parameter, value)
        if isinstance(value, bool) != (dtype is Bool):
            _refuse_scalar(t, parameter, value)
        return DeviceValue(static_value(t, value, dtype))
    found = value.dtype
    if found is dtype:
        return value
    if (found is Bool) != (dtype is Bool) or (found.kind is Kind.FLOAT and not dtype.is_float):
        _refuse_scalar(t, parameter, value)
    if dtype.is_integer and not (found.min >= dtype.min and found.max <= dtype.max):
        _check_range(t, parameter, value, dtype)
    return convert(t, value, dtype)


def _refuse_scalar(t: Tracer, parameter: ParamPlan, value: Any) -> None:
    assert parameter.dtype is not None
    t.fail(
        KernelTypeError,
        f"argument '{parameter.name}' of the kernel takes {parameter.dtype.name}",
        found=kind_of(value),
        advice=f"cast it: dt.{parameter.dtype.__name__}(v)",
    )


def _check_range(t: Tracer, parameter: ParamPlan, value: DeviceValue, dtype: ScalarType) -> None:
    low, high = max(dtype.min, value.dtype.min), min(dtype.max, value.dtype.max)
    below = compare(t, "<", None, value, low)  # type: ignore[arg-type]
    above = compare(t, ">", None, value, high)  # type: ignore[arg-type]
    outside = binary(t, "|", None, below, above)  # type: ignore[arg-type]
    pieces = (f"argument '{parameter.name}' of the kernel is ", f", which does not fit {dtype.name}")
    raise_if(t, outside.value, "ArgumentValueError", pieces, (value.value,))


def raise_if(t: Tracer, condition: Value, exception: str, pieces: tuple[str, ...], operands: tuple[Value, ...]) -> None:
    """Emit a check of the launcher: an exception when ``condition`` holds."""

    def failing() -> tuple[None, str]:
        t.emit(Raise(exception, pieces, operands))
        return None, "return"

    branch(t, condition, failing, lambda: (None, None))


def _check_contracts(t: Tracer, plan: SignaturePlan, bound: list[Argument]) -> None:
    """Check the extents that the kernel's annotations demand: now where they are static, else when it is launched."""
    names: dict[str, tuple[Any, str]] = {}
    for parameter, argument in zip(plan.parameters, bound, strict=True):
        if isinstance(argument.value, TensorValue) and parameter.dims is not None:
            check_dims(t, parameter, argument.value, names, raise_if)


def _slot_value(t: Tracer, bound: list[Argument], key: tuple[Any, ...], type: Type) -> Value:
    """Return the launcher's value for one parameter of the built kernel."""
    path, component, axis = key
    value = bound[path[0]].value
    for index in path[1:]:
        value = value.values[index] if isinstance(value, StructValue) else value[index]
    if component == SCALAR:
        return _scalar_slot(t, value)
    if component == POINTER:
        return pointer(t, value) if isinstance(value, TensorValue) else value.value
    found = raw_extent(t, value, axis) if component == EXTENT else raw_stride(t, value, axis)
    return t.const(Int64, found) if isinstance(found, int) else _narrowed(t, found, type)


def _narrowed(t: Tracer, value: Value, type: Type) -> Value:
    """Return an extent or stride as the kernel takes it.

    The cast has no position: it is the compiler's own, and costs a launch program nothing.
    """
    if value.type is type:
        return value
    key = (value, type)
    if key not in t.cached:
        t.cached[key] = Value(type, value.hint)
        t.prologue.append(Cast(t.cached[key], value))
    return t.cached[key]


def _scalar_slot(t: Tracer, value: Any) -> Value:
    if isinstance(value, DeviceValue):
        return value.value
    return static_value(t, value, default_type(value))


def _mark_written(t: Tracer, kernel: BuiltKernel, bound: list[Argument]) -> None:
    for index in kernel.written:
        t.written.update(_parameters(bound[index].value))


def _parameters(value: Any) -> set[int]:
    """Return the launcher's parameters that the tensors and pointers in ``value`` came from."""
    if isinstance(value, (TensorValue, PointerValue)):
        return {value.parameter} - {-1}
    if isinstance(value, StructValue):
        value = value.values
    if isinstance(value, tuple):
        return {parameter for item in value for parameter in _parameters(item)}
    return set()
