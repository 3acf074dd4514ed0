"""Reads a function's signature and annotations into its ``SignaturePlan``; done once, at the first use."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Annotated, Any, Union, get_args, get_origin

from darter.dtypes import Bool, Float32, Int64, ScalarType
from darter.errors import SignatureError
from darter.frozen import replaced
from darter.signature.annotations import (
    Constexpr,
    ConstexprAnnotation,
    OptionalAnnotation,
    Pointer,
    PointerAnnotation,
    Stream,
    Tensor,
    TensorAnnotation,
    is_scalar_type,
    tensor_annotation,
)
from darter.signature.argument import JitArgument
from darter.signature.plan import MISSING, ParamKind, ParamPlan, SignaturePlan
from darter.signature.reader import is_tensor_like
from darter.signature.scopes import Scope, class_scope, evaluate, function_scope
from darter.signature.structures import (
    class_annotations,
    constexpr_annotations,
    field_names,
    is_jit_argument,
    is_struct,
    jit_field_names,
)

# CO_VARARGS, CO_VARKEYWORDS, and CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR of inspect, which is slow to import.
_VARARGS, _VARKEYWORDS, _SUSPENDS = 0x04, 0x08, 0x2A0

_ACCEPTED = (
    "dt.Tensor, dt.Tensor[...], dt.Pointer[dtype], a scalar type (dt.Int64, int, float, bool), dt.Constexpr, "
    "dt.Constexpr[T], type[dt.Scalar], dt.Stream, a NamedTuple or frozen dataclass, a tuple[...] of these, a class "
    "with __cache_signature__ or with dt.Constexpr fields, each of them | None, or no annotation"
)


class _Unsupported(Exception):
    """An annotation has no meaning here; carries what to say about it, and becomes a ``SignatureError``."""


def plan_signature(function: Callable[..., Any], owner: bool) -> SignaturePlan:
    """Return the plan of a plain Python function.

    ``owner`` says that the first parameter is ``self`` of a method (or the class, of a class method), whatever its
    annotation.  Strings are evaluated in the function's own scope.  A default of None makes a parameter optional.
    Raises ``SignatureError`` for ``*args``, ``**kwargs`` and annotations that mean nothing here.
    """
    if not isinstance(function, types.FunctionType):
        raise SignatureError(
            f"found {function!r}, a {type(function).__qualname__}; accepted: a function made by def. Wrap it in one, "
            "and put darter's decorator directly above the def."
        )
    code = function.__code__
    where = f"{function.__qualname__}()"
    if code.co_flags & _SUSPENDS:
        raise SignatureError(f"{where}: generators and coroutines are not accepted as kernels and launchers.")
    if code.co_flags & (_VARARGS | _VARKEYWORDS):
        raise SignatureError(
            f"{where}: *args and **kwargs are not accepted in kernels and launchers. Name every parameter; pass "
            "several arguments as one tuple, NamedTuple or frozen dataclass."
        )
    positional = code.co_argcount
    names = code.co_varnames[: positional + code.co_kwonlyargcount]
    if owner and not positional:
        raise SignatureError(f"{where}: a method takes self first; found no positional parameter.")
    defaults = dict(zip(reversed(names[:positional]), reversed(function.__defaults__ or ()), strict=False))
    defaults.update(function.__kwdefaults__ or {})
    scope = function_scope(function)
    parameters = []
    for index, name in enumerate(names):
        if owner and index == 0:
            plan = ParamPlan(name, ParamKind.SELF)
        else:
            annotation = function.__annotations__.get(name, Any)
            plan = _plan_at(f"{where}: parameter '{name}'", name, annotation, scope)
        default = defaults.get(name, MISSING)
        if is_tensor_like(default):
            raise SignatureError(
                f"{where}: parameter '{name}': found a {type(default).__module__}.{type(default).__qualname__} as its "
                "default; accepted: values that cannot change unnoticed, which a tensor can. Let it default to None "
                "(dt.Tensor | None = None), and pass the tensor at each call."
            )
        parameters.append(
            replaced(
                plan,
                default=default,
                positional_only=index < code.co_posonlyargcount,
                keyword_only=index >= positional,
                optional=plan.optional or (default is None and not _takes_none(plan)),
            )
        )
    return SignaturePlan(function.__qualname__, tuple(parameters))


def plan_class(cls: type) -> tuple[ParamPlan, ...]:
    """Return the plans of the fields of a NamedTuple, frozen dataclass or ``JitArgument`` class, or of the Constexpr
    fields of any other class.

    The fields' annotations are read in the scope of the class that makes them.  Raises ``SignatureError``.
    """
    return _plan_class(cls, ())


def _takes_none(plan: ParamPlan) -> bool:
    """True where None is a value like any other."""
    is_any_constexpr = plan.kind is ParamKind.CONSTEXPR and plan.constexpr_type is None
    return is_any_constexpr or plan.kind in (ParamKind.ANY, ParamKind.STREAM)


def _plan_at(where: str, name: str, annotation: Any, scope: Scope, outer: tuple[type, ...] = ()) -> ParamPlan:
    """Plan one annotation; every failure becomes a ``SignatureError`` that begins with ``where``."""
    try:
        return _plan_annotation(name, evaluate(annotation, scope), scope, outer)
    except _Unsupported as error:
        raise SignatureError(f"{where}: {error} Accepted: {_ACCEPTED}.") from None
    except SignatureError as error:
        raise SignatureError(f"{where}: {error}") from error
    except NameError as error:
        raise SignatureError(
            f"{where}: the annotation {annotation!r} does not resolve: {error}. Names in an annotation must be bound "
            "at run time, in the function's globals or closure; a name local to an enclosing function is seen only "
            "where annotations are no strings (no `from __future__` import). Names of dimensions are quoted: "
            'dt.Tensor["n"].'
        ) from error
    except Exception as error:
        raise SignatureError(
            f"{where}: the annotation {annotation!r} does not resolve: {type(error).__name__}: {error}."
        ) from error


def _plan_annotation(name: str, annotation: Any, scope: Scope, outer: tuple[type, ...]) -> ParamPlan:
    annotation = evaluate(annotation, scope)
    match annotation:
        case TensorAnnotation(dtype=dtype, dims=dims):
            return ParamPlan(name, ParamKind.TENSOR, dtype=dtype, dims=dims)
        case PointerAnnotation(dtype=dtype):
            return ParamPlan(name, ParamKind.POINTER, dtype=dtype)
        case ConstexprAnnotation(type=exact):
            return ParamPlan(name, ParamKind.CONSTEXPR, constexpr_type=exact)
        case OptionalAnnotation(inner=inner):
            return replaced(_plan_annotation(name, inner, scope, outer), optional=True)
    origin = get_origin(annotation)
    if origin is not None:
        return _plan_generic(name, annotation, origin, scope, outer)
    if annotation is Any or annotation is JitArgument:
        return ParamPlan(name, ParamKind.ANY)
    if isinstance(annotation, type):
        return _plan_type(name, annotation, outer)
    raise _Unsupported(f"the annotation {annotation!r} means nothing here.")


def _plan_generic(name: str, annotation: Any, origin: Any, scope: Scope, outer: tuple[type, ...]) -> ParamPlan:
    arguments = get_args(annotation)
    if origin in (Union, types.UnionType):
        others = [entry for entry in arguments if entry is not type(None)]
        if len(others) == 1 and len(arguments) == 2:
            return replaced(_plan_annotation(name, others[0], scope, outer), optional=True)
        raise _Unsupported(f"{annotation!r} is a union of several kinds; only T | None is one.")
    if origin is Annotated:
        return _plan_annotated(name, arguments, scope, outer)
    if origin is type:
        return _plan_type_parameter(name, evaluate(arguments[0], scope))
    if origin is tuple:
        return _plan_tuple(name, arguments, scope, outer)
    raise _Unsupported(f"the annotation {annotation!r} means nothing here.")


def _plan_annotated(name: str, arguments: tuple[Any, ...], scope: Scope, outer: tuple[type, ...]) -> ParamPlan:
    base, metadata = evaluate(arguments[0], scope), arguments[1:]
    if base is Tensor:
        contract = tensor_annotation(metadata)
        return ParamPlan(name, ParamKind.TENSOR, dtype=contract.dtype, dims=contract.dims)
    if base is Pointer and len(metadata) == 1 and is_scalar_type(metadata[0]):
        return ParamPlan(name, ParamKind.POINTER, dtype=metadata[0])
    return _plan_annotation(name, base, scope, outer)


def _plan_type_parameter(name: str, bound: Any) -> ParamPlan:
    if bound is Any or bound is type:
        return ParamPlan(name, ParamKind.TYPE)
    if isinstance(bound, ScalarType):
        return ParamPlan(name, ParamKind.TYPE, cls=bound)
    raise _Unsupported(f"type[...] takes a scalar type, such as type[dt.Scalar]; found {bound!r}.")


def _plan_tuple(name: str, arguments: tuple[Any, ...], scope: Scope, outer: tuple[type, ...]) -> ParamPlan:
    if Ellipsis in arguments:
        raise _Unsupported("a tuple[T, ...] has no fixed length; list its items, or leave the parameter unannotated.")
    fields = tuple(_plan_annotation(str(index), item, scope, outer) for index, item in enumerate(arguments))
    return ParamPlan(name, ParamKind.STRUCT, cls=tuple, fields=fields)


_BUILTIN_SCALARS = ((int, Int64), (float, Float32), (bool, Bool))


def _plan_type(name: str, annotation: type, outer: tuple[type, ...]) -> ParamPlan:
    if annotation is Tensor:
        return ParamPlan(name, ParamKind.TENSOR)
    if annotation is Constexpr:
        return ParamPlan(name, ParamKind.CONSTEXPR)
    if annotation is Stream:
        return ParamPlan(name, ParamKind.STREAM)
    if annotation is type:
        return ParamPlan(name, ParamKind.TYPE)
    if annotation is Pointer:
        raise _Unsupported("dt.Pointer needs its element type: dt.Pointer[dt.f32].")
    if is_scalar_type(annotation):
        return ParamPlan(name, ParamKind.SCALAR, dtype=annotation)  # type: ignore[arg-type]
    for builtin, scalar in _BUILTIN_SCALARS:
        if annotation is builtin:
            return ParamPlan(name, ParamKind.SCALAR, dtype=scalar)
    return _plan_user_class(name, annotation, outer)


def _plan_user_class(name: str, cls: type, outer: tuple[type, ...]) -> ParamPlan:
    if is_jit_argument(cls):
        return ParamPlan(name, ParamKind.JIT_ARGUMENT, cls=cls, fields=_plan_class(cls, outer))
    if is_struct(cls):
        return ParamPlan(name, ParamKind.STRUCT, cls=cls, fields=_plan_class(cls, outer))
    if constexpr_annotations(cls):
        return ParamPlan(name, ParamKind.SELF, cls=cls)
    shown = f"{cls.__module__}.{cls.__qualname__}"
    if cls.__module__.split(".")[0] in ("numpy", "torch", "cupy", "jax", "jaxlib"):
        raise _Unsupported(
            f"{shown} is another library's; write dt.Tensor for arrays and dt's scalar types for numbers."
        )
    raise _Unsupported(f"the class {shown} is no argument type.")


def _plan_class(cls: type, outer: tuple[type, ...]) -> tuple[ParamPlan, ...]:
    if cls in outer:
        raise SignatureError(f"{cls.__qualname__} contains itself; an argument has a finite number of fields.")
    if is_jit_argument(cls):
        names = jit_field_names(cls)
    elif is_struct(cls):
        names = field_names(cls)
    else:
        return tuple(
            ParamPlan(name, ParamKind.CONSTEXPR, constexpr_type=exact)
            for name, exact in constexpr_annotations(cls).items()
        )
    annotations = class_annotations(cls)
    plans = []
    for name in names:
        annotation, owner = annotations.get(name, (Any, cls))
        where = f"field '{name}' of {cls.__qualname__}"
        plans.append(_plan_at(where, name, annotation, class_scope(owner), (*outer, cls)))
    return tuple(plans)
