"""Calls: helpers are inlined, builtins run at compile time, intrinsics emit, kernels wait for ``.launch``."""

from __future__ import annotations

import ast
import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

from darter import lang
from darter.dtypes import ScalarType
from darter.errors import CompileError, DarterError, KernelTypeError, SourceUnavailableError, UnsupportedSyntaxError
from darter.frontend.calls.builtins import BUILTINS
from darter.frontend.calls.intrinsics import INTRINSICS, SPECIAL, cast_call
from darter.frontend.calls.methods import call_method
from darter.frontend.frame import RESULT, UNSET, Frame, local_names
from darter.frontend.static_python import NATIVE, call_native
from darter.frontend.structs import construct, is_struct_class
from darter.frontend.tracer import Tracer
from darter.frontend.values import (
    BoundMethod,
    DeviceValue,
    KernelCall,
    KernelDict,
    LocalFunction,
    ValueMethod,
    is_runtime,
    kind_of,
)
from darter.ir.options import KernelOptions
from darter.lang.intrinsic import Intrinsic
from darter.lang.kernel_function import KernelFunction
from darter.source.function_source import source_of

MAX_DEPTH = 64
_GENERATORS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def call(t: Tracer, function: Any, arguments: list[Any], keywords: dict[str, Any], node: ast.AST | None = None) -> Any:
    """Return what ``function(*arguments, **keywords)`` gives."""
    caller = _CALLERS.get(type(function))
    if caller is not None:
        return caller(t, function, arguments, keywords)
    if isinstance(function, ScalarType):
        return cast_call(t, function, arguments, keywords)
    if isinstance(function, (type, types.BuiltinFunctionType)):
        return _call_builtin(t, function, arguments, keywords)
    wrapped = getattr(function, "__wrapped__", None)
    if type(function).__module__.startswith("darter") and isinstance(wrapped, types.FunctionType):
        if not t.host:
            t.fail(
                KernelTypeError,
                "a launcher cannot be called in a kernel",
                advice="make the common part a plain function",
            )
        plain = t.recorded(lambda: t.recorder.attribute(function, "__wrapped__"))
        _check_options(t, t.recorded(lambda: t.recorder.attribute(function, "options")), plain.__name__)
        return call_function(t, plain, arguments, keywords)
    if isinstance(function, functools.partial):
        return _call_partial(t, function, arguments, keywords)
    if not is_runtime(function):
        method = _call_operator(t, function)
        if method is not None:
            return call_function(t, method, [function, *arguments], keywords)
    if callable(function) and hasattr(function, "__name__") and not is_runtime(function):
        raise _foreign(t, function, function.__name__)
    raise t.error(KernelTypeError, f"{kind_of(function)} cannot be called")


def _foreign(t: Tracer, function: Any, name: str) -> CompileError:
    """Return the refusal of a function that is native code; a function of ``dt`` with its name is pointed out."""
    module = getattr(function, "__module__", None) or type(function).__module__
    advice = f"dt.{name} is the function of this name in kernels" if name in lang.__all__ else ""
    if not advice and t.host:
        advice = "a launcher computes with shapes and scalars; make arrays before the call and pass them"
    return t.error(
        KernelTypeError,
        f"'{name}' cannot be called in {t.where}",
        found=f"{module}.{name}",
        accepted="dt functions, pure builtins, math, operator, and functions written in Python",
        advice=advice,
    )


def _check_options(t: Tracer, options: KernelOptions, name: str) -> None:
    if options not in (KernelOptions(), t.session.options):
        t.fail(
            KernelTypeError,
            f"launcher '{name}' has options of its own, and a launcher that is called by another one is compiled with "
            "those of the caller",
            found=str(options),
            advice="give the options to the kernels, or to the launcher that is called first",
        )


def _call_operator(t: Tracer, value: Any) -> Any:
    found = next((vars(base)["__call__"] for base in type(value).__mro__ if "__call__" in vars(base)), None)
    return t.recorder.method(type(value), "__call__") if isinstance(found, types.FunctionType) else None


def _call_partial(t: Tracer, function: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    inner = t.recorder.attribute(function, "func")
    given = t.recorder.items(t.recorder.attribute(function, "args"))
    named = t.recorder.attribute(function, "keywords")
    preset = {name: t.recorder.item(named, name) for name in t.recorder.items(named)}
    return call(t, inner, [*given, *arguments], {**preset, **keywords})


def _call_plain(t: Tracer, function: types.FunctionType, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    special = SPECIAL.get(function)
    if special is not None:
        return special(t, arguments, keywords)
    return call_function(t, function, arguments, keywords)


def _call_builtin(t: Tracer, function: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    handler = BUILTINS.get(function)
    name = getattr(function, "__name__", str(function))
    if handler is not None:
        try:
            return handler(t, arguments, keywords)
        except DarterError:
            raise
        except (IndexError, TypeError, ValueError) as error:
            raise t.error(KernelTypeError, f"{name}(...) is called wrongly: {error}") from error
    math_name = name if getattr(function, "__module__", "") == "math" else ""
    if math_name in INTRINSICS and any(isinstance(a, DeviceValue) for a in arguments):
        return INTRINSICS[math_name](t, arguments, keywords)
    if function in NATIVE:
        return call_native(t, function, arguments, keywords, name)
    if is_struct_class(function):
        return construct(t, function, arguments, keywords)
    if isinstance(function, type) and issubclass(function, BaseException):
        t.fail(UnsupportedSyntaxError, "an exception is made in a raise statement only", found=name)
    raise _foreign(t, function, name)


def _call_intrinsic(t: Tracer, function: Intrinsic, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    return INTRINSICS[function.name](t, arguments, keywords)


def _call_bound(t: Tracer, function: BoundMethod, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    if isinstance(function.function, KernelFunction):
        return _kernel_call(t, function.function, function.instance, arguments, keywords)
    return call(t, function.function, [function.instance, *arguments], keywords)


def _call_method_object(t: Tracer, function: types.MethodType, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    plain: Any = function.__func__
    return call_function(t, plain, [function.__self__, *arguments], keywords)


def _call_kernel(t: Tracer, function: KernelFunction, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    return _kernel_call(t, function, None, arguments, keywords)


def _kernel_call(
    t: Tracer, kernel: KernelFunction, instance: Any, arguments: list[Any], keywords: dict[str, Any]
) -> Any:
    if not t.host:
        t.fail(
            KernelTypeError,
            f"kernel '{kernel.__wrapped__.__name__}' cannot be called in a kernel",
            advice="make the common part a plain function; kernels are launched by launchers",
        )
    return KernelCall(kernel, instance, tuple(arguments), keywords, t.at)


def _call_value_method(t: Tracer, function: ValueMethod, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    return call_method(t, function.instance, function.name, arguments, keywords)


# -- inlining ---------------------------------------------------------------------------------------------------------


def call_function(t: Tracer, function: types.FunctionType, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """Interpret a plain Python function in place."""
    t.recorded(lambda: t.recorder.function(function))
    if function.__code__.co_flags & _GENERATORS:
        t.fail(UnsupportedSyntaxError, f"'{function.__name__}' is a generator or coroutine", advice="return a tuple")
    try:
        source = source_of(function)
    except SourceUnavailableError as error:
        raise t.error(SourceUnavailableError, str(error)) from error
    node: Any = source.node
    frame = Frame(function, source, node, t.session.index_of(function), local_names(node), None, (t.frame, t.at))
    positional = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
    defaults = dict(zip(reversed(positional), reversed(function.__defaults__ or ()), strict=False))
    defaults.update(function.__kwdefaults__ or {})
    bind_arguments(t, frame, node.args, function.__name__, defaults, arguments, keywords)
    return run_frame(t, frame, node)


def _call_local(t: Tracer, function: LocalFunction, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    outer, node = function.frame, function.node
    frame = Frame(outer.function, outer.source, node, outer.index, local_names(node), outer, (t.frame, t.at))
    bind_arguments(t, frame, node.args, function.name, function.defaults, arguments, keywords)
    return run_frame(t, frame, node)


def local_function(t: Tracer, node: ast.FunctionDef | ast.Lambda, name: str) -> LocalFunction:
    """Return the value of a lambda or nested ``def``; its defaults are evaluated now."""
    positional = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
    values = [t.evaluate(default) for default in node.args.defaults]
    defaults = dict(zip(reversed(positional), reversed(values), strict=False))
    for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        if default is not None:
            defaults[argument.arg] = t.evaluate(default)
    return LocalFunction(name, node, t.frame, defaults)


def run_frame(t: Tracer, frame: Frame, node: Any) -> Any:
    """Interpret a function's body in ``frame`` and return its result."""
    outer, at = t.frame, t.at
    if t.depth >= MAX_DEPTH:
        t.fail(
            UnsupportedSyntaxError,
            f"calls are nested more than {MAX_DEPTH} deep",
            advice="recursion must end at compile time; use a loop",
        )
    t.frame = frame
    frame.serial = t.next_serial()
    t.depth += 1
    try:
        if isinstance(node, ast.Lambda):
            return t.evaluate(node.body)
        dead = t.execute(tuple(node.body))
        return _result(t, frame, node, ends=dead is None)
    finally:
        t.frame, t.at = outer, at
        t.depth -= 1


def _result(t: Tracer, frame: Frame, node: Any, *, ends: bool) -> Any:
    """Return what the function returned; ``ends`` says that some path reaches the end of its body."""
    result = frame.locals[RESULT]
    if result is UNSET:
        return None
    if ends and result is not None:
        t.at = node.body[-1]
        t.fail(
            KernelTypeError,
            f"'{node.name}' returns a value on some paths and reaches its end on others",
            found=kind_of(result),
            advice="return a value at the end, too",
        )
    return result


def bind_arguments(
    t: Tracer,
    frame: Frame,
    parameters: ast.arguments,
    name: str,
    defaults: dict[str, Any],
    arguments: list[Any],
    keywords: dict[str, Any],
) -> None:
    """Bind the arguments of a call as Python does."""
    positional = [a.arg for a in (*parameters.posonlyargs, *parameters.args)]
    bound: dict[str, Any] = dict(zip(positional, arguments, strict=False))
    extra = arguments[len(positional) :]
    if parameters.vararg is not None:
        bound[parameters.vararg.arg] = tuple(extra)
    elif extra:
        t.fail(KernelTypeError, f"{name}() takes {len(positional)} positional arguments", found=f"{len(arguments)}")
    by_keyword = {a.arg for a in (*parameters.args, *parameters.kwonlyargs)}
    rest = KernelDict()
    rest.serial = t.next_serial()
    for key, value in keywords.items():
        if key in by_keyword:
            if key in bound:
                t.fail(KernelTypeError, f"{name}() got multiple values for argument '{key}'")
            bound[key] = value
        elif parameters.kwarg is not None:
            rest[key] = value
        else:
            t.fail(
                KernelTypeError, f"{name}() got an unexpected keyword argument '{key}'", accepted=", ".join(by_keyword)
            )
    if parameters.kwarg is not None:
        bound[parameters.kwarg.arg] = rest
    for parameter in (*positional, *(a.arg for a in parameters.kwonlyargs)):
        if parameter not in bound:
            if parameter not in defaults:
                t.fail(KernelTypeError, f"{name}() is missing argument '{parameter}'")
            bound[parameter] = defaults[parameter]
    frame.locals.update(bound)


_CALLERS: dict[type, Callable[..., Any]] = {
    Intrinsic: _call_intrinsic,
    types.FunctionType: _call_plain,
    types.MethodType: _call_method_object,
    BoundMethod: _call_bound,
    ValueMethod: _call_value_method,
    LocalFunction: _call_local,
    KernelFunction: _call_kernel,
}
