"""Python's builtins as kernel code calls them: on device values where that has a meaning, else at compile time."""

from __future__ import annotations

import builtins
import functools
import operator
import types
from collections.abc import Callable
from typing import Any

from darter.capture.structure import COMPARISON
from darter.dtypes import Bool
from darter.errors import KernelTypeError, UnsupportedSyntaxError
from darter.frontend.calls.intrinsics import absolute, extremum, print_values
from darter.frontend.numbers.casts import convert
from darter.frontend.numbers.comparisons import truth
from darter.frontend.numbers.operators import binary
from darter.frontend.numbers.promotion import plain_integer
from darter.frontend.numbers.static_operators import run_native, settled
from darter.frontend.static_python import call_native, iterate, length
from darter.frontend.tracer import Tracer
from darter.frontend.values import (
    DeviceValue,
    KernelDict,
    KernelList,
    ObjectValue,
    RuntimeRange,
    StructValue,
    TensorValue,
    is_runtime,
    kind_of,
)
from darter.ir.nodes import Value

Handler = Callable[[Tracer, list[Any], dict[str, Any]], Any]


def range_call(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """Return a Python range of static numbers, or a :class:`RuntimeRange`."""
    if keywords or not 1 <= len(arguments) <= 3:
        t.fail(KernelTypeError, "range takes one to three integers", found=f"{len(arguments)} arguments")
    given = [plain_integer(argument) for argument in arguments]
    bounds = (0, given[0], 1) if len(given) == 1 else (*given, 1)[:3]
    if any(isinstance(bound, DeviceValue) for bound in bounds):
        return RuntimeRange(bounds)
    for bound in bounds:
        if isinstance(bound, bool) or not isinstance(bound, int):
            t.fail(KernelTypeError, "range takes integers", found=kind_of(bound))
    return run_native(t, lambda: range(*bounds), "range(...)")


def _len(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    (value,) = _exactly(t, "len", arguments, keywords, 1)
    if isinstance(value, TensorValue):
        t.fail(KernelTypeError, "len of a tensor", advice="write x.shape[0]")
    return length(t, value)


def _exactly(t: Tracer, name: str, arguments: list[Any], keywords: dict[str, Any], count: int) -> list[Any]:
    if keywords or len(arguments) != count:
        t.fail(KernelTypeError, f"{name} takes {count} argument{'s' if count != 1 else ''}", found=f"{len(arguments)}")
    return arguments


def _min(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    return _min_max(t, "min", min, arguments, keywords)


def _max(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    return _min_max(t, "max", max, arguments, keywords)


def _min_max(t: Tracer, name: str, native: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    values = iterate(t, arguments[0]) if len(arguments) == 1 else arguments
    if not any(isinstance(value, DeviceValue) for value in values):
        ordered = tuple(settled(t, value, COMPARISON) for value in values)
        if len(ordered) == 0 or "key" in keywords:
            return call_native(t, native, [ordered], keywords, name)
        return run_native(t, lambda: native(ordered, **keywords), f"{name}(...)")
    if keywords:
        t.fail(KernelTypeError, f"{name} of run-time values takes no keywords")
    return extremum(t, name, values)


def _abs(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    return absolute(t, *_exactly(t, "abs", arguments, keywords, 1))


def _sum(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    if not arguments or len(arguments) > 2:
        t.fail(KernelTypeError, "sum takes a container and a start")
    total = arguments[1] if len(arguments) == 2 else keywords.get("start", 0)
    items = iterate(t, arguments[0])
    # Starting at the first item keeps the type of the items.
    if type(total) is int and total == 0 and items:
        total, items = items[0], items[1:]
    for item in items:
        total = binary(t, "+", operator.add, total, item)
    return total


def _any_all(t: Tracer, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    (container,) = _exactly(t, name, arguments, keywords, 1)
    result: Any = name == "all"
    symbol, native = ("&", operator.and_) if name == "all" else ("|", operator.or_)
    for item in iterate(t, container):
        known = truth(t, item)
        value = DeviceValue(known) if isinstance(known, Value) else known
        result = binary(t, symbol, native, result, value)
    return result


def _any(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    return _any_all(t, "any", arguments, keywords)


def _all(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    return _any_all(t, "all", arguments, keywords)


def _enumerate(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    start = keywords.get("start", arguments[1] if len(arguments) > 1 else 0)
    return tuple(enumerate(iterate(t, arguments[0]), start))


def _zip(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    strict = bool(keywords.pop("strict", False))
    columns = [iterate(t, argument) for argument in arguments]
    return tuple(run_native(t, lambda: list(zip(*columns, strict=strict)), "zip(...)"))


def _reversed(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    return tuple(reversed(iterate(t, *_exactly(t, "reversed", arguments, keywords, 1))))


def _sorted(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    items = iterate(t, arguments[0])
    key = keywords.get("key")
    keys = [settled(t, item if key is None else t.call(key, [item], {}), COMPARISON) for item in items]
    if any(map(is_runtime, keys)):
        t.fail(KernelTypeError, "sorted takes static values", found="run-time values")
    order = run_native(
        t, lambda: sorted(range(len(items)), key=lambda i: keys[i], reverse=bool(keywords.get("reverse"))), "sorted"
    )
    return t.new_list(items[i] for i in order)


def _map(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    function, *containers = arguments
    return tuple(t.call(function, list(items), {}) for items in zip(*(iterate(t, c) for c in containers), strict=False))


def _filter(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    function, container = _exactly(t, "filter", arguments, keywords, 2)
    kept = []
    for item in iterate(t, container):
        known = truth(t, item if function is None else t.call(function, [item], {}))
        if isinstance(known, Value):
            t.fail(KernelTypeError, "filter needs conditions known at compile time", found="a run-time value")
        if known:
            kept.append(item)
    return tuple(kept)


def _divmod(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    a, b = _exactly(t, "divmod", arguments, keywords, 2)
    return binary(t, "//", operator.floordiv, a, b), binary(t, "%", operator.mod, a, b)


def _pow(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    if any(isinstance(argument, DeviceValue) for argument in arguments):
        return binary(t, "**", operator.pow, *_exactly(t, "pow", arguments, keywords, 2))
    return call_native(t, pow, arguments, keywords, "pow")


def _round(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    if arguments and isinstance(arguments[0], DeviceValue):
        t.fail(
            KernelTypeError,
            "round makes a Python number, and this is known at run time only",
            found=kind_of(arguments[0]),
            advice="write dt.rint(v): half to even, as round does",
        )
    return call_native(t, round, arguments, keywords, "round")


def _tuple(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    return tuple(iterate(t, arguments[0])) if arguments else ()


def _list(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    return t.new_list(iterate(t, arguments[0]) if arguments else ())


def _dict(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    result = KernelDict()
    result.serial = t.next_serial()
    if arguments:
        source = arguments[0]
        pairs = iterate(t, source)
        for entry in pairs:
            key, value = (entry, t.recorder.item(source, entry)) if isinstance(source, dict) else iterate(t, entry)
            result[key] = value
    result.update(keywords)
    return result


def _number(cast: type, name: str, t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    if arguments and isinstance(arguments[0], DeviceValue):
        if cast is bool:
            return convert(t, arguments[0], Bool)
        t.fail(
            KernelTypeError,
            f"{name}() makes a Python number, and this is known at run time only",
            found=kind_of(arguments[0]),
            advice=f"cast it: {'dt.Int64' if cast is int else 'dt.Float32'}(v)",
        )
    if cast is bool and len(arguments) == 1:
        return bool(truth(t, arguments[0]))
    return call_native(t, cast, arguments, keywords, name)


def _isinstance(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    value, classes = _exactly(t, "isinstance", arguments, keywords, 2)
    options = _classes(t, classes)
    if isinstance(value, DeviceValue):
        # A scalar type as a class asks for the type of the value.
        return any(value.dtype is cls for cls in options)
    if is_runtime(value) and not isinstance(value, (StructValue, ObjectValue, tuple, KernelList, KernelDict)):
        t.fail(KernelTypeError, "isinstance takes static values, structs, containers and scalars", found=kind_of(value))
    mro = t.recorded(lambda: t.recorder.mro(_class_of(t, value)))
    return any(_is_base(t, cls, mro) for cls in options)


def _classes(t: Tracer, classes: Any) -> list[Any]:
    if isinstance(classes, types.UnionType):
        return list(classes.__args__)
    return [each for item in iterate(t, classes) for each in _classes(t, item)] if type(classes) is tuple else [classes]


def _is_base(t: Tracer, cls: Any, mro: tuple[type, ...]) -> bool:
    if not isinstance(cls, type):
        t.fail(KernelTypeError, "isinstance takes classes", found=kind_of(cls))
    if any(base is cls for base in mro):
        return True
    if type(cls).__instancecheck__ is not type.__instancecheck__:
        t.fail(
            KernelTypeError,
            f"whether class {cls.__name__} counts as a base is decided by code or a registry, which are not followed",
            advice="ask for a class that is derived from, or for an attribute",
        )
    return False


def _class_of(t: Tracer, value: Any) -> type:
    if isinstance(value, (StructValue, ObjectValue)):
        return value.cls
    if isinstance(value, (KernelList, KernelDict)):
        return list if isinstance(value, KernelList) else dict
    cls: type = t.recorded(lambda: t.recorder.class_of(value))
    return cls


def _hasattr(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    value, name = _exactly(t, "hasattr", arguments, keywords, 2)
    try:
        t.read_attribute(value, name)
    except NameError:
        return False
    return True


def _getattr(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    if not 2 <= len(arguments) <= 3 or not isinstance(arguments[1], str):
        t.fail(KernelTypeError, "getattr takes an object, a static name and a default")
    if len(arguments) == 2:
        return t.read_attribute(arguments[0], arguments[1])
    try:
        return t.read_attribute(arguments[0], arguments[1])
    except NameError:
        return arguments[2]


def _type(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    (value,) = _exactly(t, "type", arguments, keywords, 1)
    if isinstance(value, DeviceValue):
        return value.dtype
    if is_runtime(value) and not isinstance(value, (StructValue, ObjectValue, tuple, KernelList, KernelDict)):
        t.fail(KernelTypeError, "type takes static values, structs, containers and scalars", found=kind_of(value))
    return _class_of(t, value)


def _print(t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    if t.host:
        t.fail(UnsupportedSyntaxError, "print is not available in a launcher", advice="use dt.print in the kernel")
    return print_values(t, arguments, keywords)


BUILTINS: dict[Any, Handler] = {
    builtins.range: range_call,
    builtins.len: _len,
    builtins.min: _min,
    builtins.max: _max,
    builtins.abs: _abs,
    builtins.sum: _sum,
    builtins.any: _any,
    builtins.all: _all,
    builtins.enumerate: _enumerate,
    builtins.zip: _zip,
    builtins.reversed: _reversed,
    builtins.sorted: _sorted,
    builtins.map: _map,
    builtins.filter: _filter,
    builtins.divmod: _divmod,
    builtins.pow: _pow,
    builtins.round: _round,
    builtins.tuple: _tuple,
    builtins.list: _list,
    builtins.dict: _dict,
    builtins.int: functools.partial(_number, int, "int"),
    builtins.float: functools.partial(_number, float, "float"),
    builtins.bool: functools.partial(_number, bool, "bool"),
    builtins.isinstance: _isinstance,
    builtins.hasattr: _hasattr,
    builtins.getattr: _getattr,
    builtins.type: _type,
    builtins.print: _print,
}
