"""Describes the arguments of a call: argument and parameter plan to descriptor, with every check on the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from darter.dtypes import ScalarType
from darter.errors import ArgumentTypeError
from darter.frozen import Frozen
from darter.signature.annotations import Stream, is_scalar_type
from darter.signature.argument import TensorArgument
from darter.signature.constexprs import MAX_DEPTH, check_exact_type, check_keyable
from darter.signature.contracts import BoundTensor, check_contracts, check_dtype, common_device
from darter.signature.descriptor import (
    ConstexprFacts,
    Descriptor,
    JitArgumentFacts,
    NoneFacts,
    ObjectFacts,
    PointerFacts,
    ScalarFacts,
    StreamFacts,
    StructFacts,
    TensorFacts,
    TypeFacts,
)
from darter.signature.facts import static_layout, tensor_facts
from darter.signature.plan import ParamKind, ParamPlan, SignaturePlan
from darter.signature.planner import plan_class
from darter.signature.reader import is_tensor_like, not_a_tensor, read_tensor
from darter.signature.scalars import is_number, scalar_type
from darter.signature.structures import constexpr_annotations, is_jit_argument, is_struct
from darter.signature.view import wrong_kind, wrong_value
from darter.target import Device

MAX_ALIGN_BYTES = 16


class Description(Frozen):
    """The arguments of one call, described.

    ``descriptors`` holds one entry per parameter in signature order; ``tensors`` every tensor of the call, those in
    structs included, and those that stand for pointers; ``device`` is where the call runs.
    """

    descriptors: dict[str, Descriptor]
    tensors: tuple[BoundTensor, ...]
    device: Device


def describe(plan: SignaturePlan, arguments: Sequence[Any]) -> Description:
    """Return the description of bound ``arguments``, one per parameter in signature order.

    Raises ``ArgumentTypeError``, ``ArgumentValueError`` or ``UnkeyableError``, each naming the argument; nothing is
    described in part.
    """
    describer = _Describer()
    descriptors = {
        parameter.name: describer.argument(parameter.name, parameter, value)
        for parameter, value in zip(plan.parameters, arguments, strict=True)
    }
    check_contracts(tensor for tensor in describer.tensors if tensor.plan.kind is not ParamKind.POINTER)
    return Description(descriptors, tuple(describer.tensors), common_device(describer.tensors))


class _Describer:
    """Describes one argument after the other, and collects the tensors that it meets."""

    def __init__(self) -> None:
        self.tensors: list[BoundTensor] = []
        self._depth = 0

    def argument(self, name: str, plan: ParamPlan, value: Any) -> Descriptor:
        """Describe the argument at ``name`` (a path, inside structs)."""
        if self._depth > MAX_DEPTH:
            found = f"a value nested deeper than {MAX_DEPTH} levels, or containing itself"
            raise wrong_value(name, found, "flatten it.")
        self._depth += 1
        described = self._described(name, plan, value)
        self._depth -= 1
        return described

    def _described(self, name: str, plan: ParamPlan, value: Any) -> Descriptor:
        if value is None and plan.optional and plan.kind is not ParamKind.CONSTEXPR:
            return StreamFacts() if plan.kind is ParamKind.STREAM else NoneFacts()
        match plan.kind:
            case ParamKind.ANY:
                return self._any(name, plan, value)
            case ParamKind.TENSOR:
                return self._tensor(name, plan, value)
            case ParamKind.POINTER:
                return self._pointer(name, plan, value)
            case ParamKind.SCALAR:
                return ScalarFacts(scalar_type(name, value, plan.dtype))
            case ParamKind.CONSTEXPR:
                return _constexpr(name, plan, value)
            case ParamKind.TYPE:
                return _type(name, plan, value)
            case ParamKind.STREAM:
                return _stream(name, value)
            case ParamKind.STRUCT:
                return self._struct(name, plan, value)
            case ParamKind.SELF:
                return _object(name, plan, value)
            case ParamKind.JIT_ARGUMENT:
                return self._jit_argument(name, plan, value)

    def _any(self, name: str, plan: ParamPlan, value: Any) -> Descriptor:
        """Describe an argument without annotation by what it is."""
        cls = type(value)
        if value is None:
            return NoneFacts()
        if is_number(value):
            return ScalarFacts(scalar_type(name, value, None))
        if is_scalar_type(value):
            return TypeFacts(value)
        if cls is TensorArgument:
            return self._tensor(name, plan, value)
        if is_jit_argument(cls):
            return self._jit_argument(name, plan, value)
        if cls is tuple or is_struct(cls):
            return self._struct(name, plan, value)
        if is_tensor_like(value):
            return self._tensor(name, plan, value)
        if not isinstance(value, type) and constexpr_annotations(cls):
            return _object(name, plan, value)
        raise _unknown(name, value)

    def _tensor(self, name: str, plan: ParamPlan, value: Any) -> TensorFacts:
        explicit = value if type(value) is TensorArgument else None
        view = read_tensor(name, value if explicit is None else explicit.source)
        self.tensors.append(BoundTensor(name, plan, view))
        return tensor_facts(view, None if explicit is None else static_layout(name, explicit, view))

    def _pointer(self, name: str, plan: ParamPlan, value: Any) -> PointerFacts:
        assert plan.dtype is not None
        if type(value) is int:
            if not 0 <= value < 1 << 64:
                raise wrong_value(name, f"the address {value}", "accepted: 0 to 2**64 - 1.")
            return PointerFacts(plan.dtype, _alignment(value))
        source = value.source if type(value) is TensorArgument else value
        if not is_tensor_like(source):
            way_out = f"accepted for dt.Pointer[dt.{plan.dtype.name}]: a tensor of that dtype, or an address as an int."
            raise wrong_kind(name, f"a {type(value).__name__}", way_out)
        tensor = BoundTensor(name, plan, read_tensor(name, source))
        check_dtype(tensor)
        self.tensors.append(tensor)
        return PointerFacts(plan.dtype, _alignment(tensor.view.address), tensor.view.device_type)

    def _struct(self, name: str, plan: ParamPlan, value: Any) -> StructFacts:
        cls = type(value)
        if plan.cls is not None and cls is not plan.cls:
            raise _wrong_class(name, plan.cls, value)
        if cls is tuple:
            names = tuple(str(index) for index in range(len(value)))
            plans = plan.fields if plan.cls is tuple else tuple(ParamPlan(field, ParamKind.ANY) for field in names)
            if len(plans) != len(value):
                raise wrong_value(name, f"a tuple of {len(value)} items", f"accepted: {len(plans)} items.")
            paths = [f"{name}[{index}]" for index in names]
            values = list(value)
        else:
            plans = plan.fields if plan.cls is cls else plan_class(cls)
            names = tuple(field.name for field in plans)
            paths = [f"{name}.{field}" for field in names]
            values = list(tuple.__iter__(value)) if isinstance(value, tuple) else _attributes(name, value, names)
        return StructFacts(cls, names, tuple(map(self.argument, paths, plans, values)))

    def _jit_argument(self, name: str, plan: ParamPlan, value: Any) -> JitArgumentFacts:
        cls = type(value)
        if plan.cls is not None and cls is not plan.cls:
            raise _wrong_class(name, plan.cls, value)
        plans = plan.fields if plan.cls is cls else plan_class(cls)
        names = tuple(field.name for field in plans)
        signature = value.__cache_signature__()
        check_keyable(signature, name)
        values = _attributes(name, value, names)
        paths = [f"{name}.{field}" for field in names]
        return JitArgumentFacts(cls, signature, names, tuple(map(self.argument, paths, plans, values)))


def _alignment(address: int) -> int:
    return MAX_ALIGN_BYTES if address == 0 else min(address & -address, MAX_ALIGN_BYTES)


def _constexpr(name: str, plan: ParamPlan, value: Any) -> ConstexprFacts:
    check_exact_type(value, plan.constexpr_type, plan.optional, name)
    check_keyable(value, name)
    return ConstexprFacts(value)


def _type(name: str, plan: ParamPlan, value: Any) -> TypeFacts:
    bound = plan.cls
    if is_scalar_type(value) and (bound is None or issubclass(value, bound)):
        return TypeFacts(value)
    accepted = (
        f"dt.{bound.__name__}" if isinstance(bound, ScalarType) and is_scalar_type(bound) else "dt.f32, dt.i64, ..."
    )
    raise wrong_kind(name, f"{value!r}", f"accepted: one of darter's scalar types ({accepted}).")


def _stream(name: str, value: Any) -> StreamFacts:
    is_handle = type(value) is int and 0 <= value < 1 << 64
    if value is None or is_handle or hasattr(value, "cuda_stream") or hasattr(value, "__cuda_stream__"):
        return StreamFacts()
    if type(value) is int:
        raise wrong_value(name, f"the stream handle {value}", "accepted: 0 to 2**64 - 1.")
    raise wrong_kind(name, f"a {type(value).__module__}.{type(value).__qualname__}", f"accepted: {Stream.accepted}.")


def _object(name: str, plan: ParamPlan, value: Any) -> ObjectFacts | ConstexprFacts:
    if isinstance(value, type):
        if plan.cls is not None:
            raise _wrong_class(name, plan.cls, value)
        return ConstexprFacts(value)
    cls = type(value)
    if plan.cls is not None and not isinstance(value, plan.cls):
        raise _wrong_class(name, plan.cls, value)
    declared = constexpr_annotations(cls)
    values = tuple(_attributes(name, value, tuple(declared)))
    for field, exact, held in zip(declared, declared.values(), values, strict=True):
        check_exact_type(held, exact, optional=False, name=f"{name}.{field}")
        check_keyable(held, f"{name}.{field}")
    return ObjectFacts(cls, tuple(declared), values)


def _attributes(name: str, value: Any, names: Sequence[str]) -> list[Any]:
    values = []
    for field in names:
        try:
            values.append(getattr(value, field))
        except AttributeError as error:
            raise wrong_value(
                f"{name}.{field}",
                f"no such attribute on this {type(value).__qualname__} ({error})",
                "set it before the call.",
            ) from error
    return values


def _wrong_class(name: str, expected: type, value: Any) -> ArgumentTypeError:
    found = f"the class {value.__qualname__}" if isinstance(value, type) else f"a {type(value).__qualname__}"
    return wrong_kind(name, found, f"accepted: exactly {expected.__qualname__}, as annotated.")


def _unknown(name: str, value: Any) -> TypeError:
    cls = type(value)
    if isinstance(value, (str, bytes)) or callable(value):
        return wrong_kind(
            name,
            f"a {cls.__qualname__} for a parameter without annotation",
            "annotate it dt.Constexpr to pass it as a compile-time value.",
        )
    return not_a_tensor(name, value)
