"""Methods of run-time values and of containers."""

from __future__ import annotations

from typing import Any

from darter.capture.structure import COMPARISON
from darter.errors import KernelTypeError
from darter.frontend import access
from darter.frontend.numbers.static_operators import run_native, settled
from darter.frontend.static_python import call_native, check_mutable, item, iterate, key_of
from darter.frontend.tracer import Tracer
from darter.frontend.values import (
    JitArgumentValue,
    KernelCall,
    KernelDict,
    KernelList,
    PointerValue,
    RegisterArray,
    SharedArray,
    TensorValue,
    kind_of,
)

_MUTATING = frozenset(
    {"append", "extend", "insert", "pop", "popitem", "remove", "reverse", "sort", "clear", "setdefault", "update"}
)


def call_method(t: Tracer, instance: Any, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """Return ``instance.name(*arguments, **keywords)``."""
    if isinstance(instance, (TensorValue, PointerValue, SharedArray)):
        return _memory(t, instance, name, arguments, keywords)
    if isinstance(instance, RegisterArray):
        return RegisterArray(instance.dtype, list(instance.items), t.next_serial())
    if isinstance(instance, JitArgumentValue):
        return instance.signature
    if isinstance(instance, KernelCall):
        return t.launch(instance, arguments, keywords)
    if isinstance(instance, (list, dict)) and name in _MUTATING:
        check_mutable(t, instance)
    if isinstance(instance, KernelList) and name in ("index", "count"):
        return _search(t, list(instance), name, arguments)
    if isinstance(instance, (KernelList, KernelDict)):
        result = run_native(
            t, lambda: getattr(instance, name)(*arguments, **keywords), f"{name} of {kind_of(instance)}"
        )
        if isinstance(result, (type({}.keys()), type({}.values()), type({}.items()))):
            return tuple(result)
        return t.new_list(result) if type(result) is list else result
    if isinstance(instance, dict):
        return _captured_dict(t, instance, name, arguments)
    if isinstance(instance, list):
        values = iterate(t, instance)
        return t.new_list(values) if name == "copy" else _search(t, values, name, arguments)
    if isinstance(instance, tuple):
        return _search(t, iterate(t, instance), name, arguments)
    return call_native(t, getattr(instance, name), arguments, keywords, f"{type(instance).__name__}.{name}")


def _search(t: Tracer, values: list[Any], name: str, arguments: list[Any]) -> Any:
    """Return ``index`` or ``count`` of a list or tuple, which compare it with each of ``values``."""
    held = [settled(t, value, COMPARISON) for value in values]
    return call_native(t, getattr(held, name), arguments, {}, name)


def _memory(t: Tracer, target: Any, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    match name:
        case "load":
            return access.load_method(t, target, arguments, keywords)
        case "store":
            return access.store_method(t, target, arguments, keywords)
        case "cast":
            return access.cast_method(t, target, arguments, keywords)
    return access.data_pointer(t, target)


def _captured_dict(t: Tracer, instance: dict[Any, Any], name: str, arguments: list[Any]) -> Any:
    if name == "get":
        if not 1 <= len(arguments) <= 2:
            t.fail(KernelTypeError, "get takes a key and a default", found=f"{len(arguments)} arguments")
        key = key_of(t, arguments[0])
        if run_native(t, lambda: t.recorder.contains(instance, key), "get"):
            return item(t, instance, key)
        return arguments[1] if len(arguments) == 2 else None
    keys = iterate(t, instance)
    if name == "keys":
        return tuple(keys)
    values = tuple(item(t, instance, key) for key in keys)
    return values if name == "values" else tuple(zip(keys, values, strict=True))
