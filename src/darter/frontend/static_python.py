"""Static Python: iteration, containers, and the builtins that run natively on static values."""

from __future__ import annotations

import enum
import functools
import math
import operator
from collections.abc import Callable, Set as AbstractSet
from typing import Any

from darter.capture.contents import is_told_by_identity
from darter.capture.structure import ARITHMETIC, COMPARISON, ITERATION, TEXT, TRUTH
from darter.dtypes import ScalarType
from darter.errors import KernelTypeError, KernelValueError
from darter.frontend.numbers.static_operators import refuse_foreign_type, run_native, settled
from darter.frontend.tracer import Tracer
from darter.frontend.values import (
    DeviceValue,
    KernelDict,
    KernelList,
    RegisterArray,
    StructValue,
    TensorValue,
    is_runtime,
    kind_of,
)


def _natives() -> frozenset[Any]:
    functions = {getattr(module, name) for module in (math, operator) for name in dir(module) if name[0] != "_"}
    refused = {operator.call, operator.methodcaller, operator.attrgetter, operator.itemgetter, operator.setitem}
    pure = (
        divmod,
        round,
        hex,
        bin,
        oct,
        ord,
        chr,
        repr,
        ascii,
        format,
        callable,
        pow,
        str,
        bytes,
        complex,
        frozenset,
        slice,
    )
    return frozenset(f for f in functions if callable(f) and f not in refused) | frozenset(pure)


NATIVE = _natives()
"""Pure functions that run natively when all their arguments are static."""

_PLAIN = (
    int,
    float,
    complex,
    str,
    bytes,
    bool,
    type(None),
    enum.Enum,
    type,
    tuple,
    list,
    dict,
    frozenset,
    range,
    slice,
)
METHODS: dict[type, frozenset[str]] = {
    str: frozenset(n for n in dir(str) if n[0] != "_"),
    bytes: frozenset(n for n in dir(bytes) if n[0] != "_"),
    int: frozenset({"bit_length", "bit_count", "to_bytes", "as_integer_ratio", "conjugate"}),
    float: frozenset({"hex", "is_integer", "as_integer_ratio"}),
    tuple: frozenset({"index", "count"}),
    range: frozenset({"index", "count"}),
    frozenset: frozenset({"union", "intersection", "difference", "issubset", "issuperset", "isdisjoint"}),
}
"""Methods of builtin types that are pure and run natively on static values."""


ALL_SPECIAL = ARITHMETIC | COMPARISON | ITERATION | TEXT | TRUTH
"""Special methods that a native function may run on its arguments."""

_WRITES_TEXT = frozenset({str, repr, ascii, format, bytes})


def is_array(value: Any) -> bool:
    """True for a numpy array: kernel code reads one as a snapshot only (``dt.static``), which the recorder enforces."""
    return type(value).__name__ == "ndarray" and type(value).__module__ == "numpy"


MAX_ITEMS = 1 << 20
"""Items of a range that are gone through at compile time; a loop's body is unrolled for fewer."""


def iterate(t: Tracer, value: Any) -> list[Any]:
    """Return the items of a static container, in order.

    Raises an error at the line for what has no static items.
    """
    if isinstance(value, RegisterArray):
        return list(value.items)
    if isinstance(value, (KernelList, KernelDict)):
        return list(value)
    if isinstance(value, StructValue) and issubclass(value.cls, tuple):
        return list(value.values)
    if isinstance(value, range) and value[MAX_ITEMS:]:
        t.fail(
            KernelValueError,
            f"this range has more than {MAX_ITEMS} items to go through at compile time",
            found=str(value),
            advice="loop at run time, with range in a kernel",
        )
    if isinstance(value, (range, str, bytes)):
        return list(value)
    if isinstance(value, (tuple, list, dict, frozenset)):
        if type(value) not in (tuple, list, dict, frozenset):
            _check_special(t, value, ITERATION)
        return list(t.recorded(lambda: t.recorder.items(value)))
    if is_array(value):
        return list(value)
    if isinstance(value, type) and issubclass(value, enum.Enum):
        names = t.recorded(lambda: t.recorder.structure(value))[2]
        return [
            t.recorded(functools.partial(t.recorder.attribute, value, name)) for name, member in names if name == member
        ]
    raise t.error(
        KernelTypeError,
        "this has no items that are known at compile time",
        found=kind_of(value),
        accepted="tuples, lists, dicts, strings, range(...) of static numbers, register arrays",
        advice="for i in range(x.shape[0]): v = x[i]" if isinstance(value, TensorValue) else "",
    )


def length(t: Tracer, value: Any) -> int:
    """Return ``len(value)``."""
    if isinstance(value, RegisterArray):
        return len(value.items)
    if isinstance(value, StructValue) and issubclass(value.cls, tuple):
        return len(value.values)
    if isinstance(value, (KernelList, KernelDict, range, str, bytes)) or (is_array(value) and value.ndim):
        return len(value)
    if isinstance(value, (tuple, list, dict, frozenset)):
        if isinstance(value, tuple) and type(value) is not tuple:
            _check_special(t, value, TRUTH)
        return int(t.recorded(lambda: t.recorder.length(value)))
    raise t.error(
        KernelTypeError, "this has no length", found=kind_of(value), accepted="tuples, lists, dicts, strings, arrays"
    )


def _check_special(t: Tracer, value: Any, special: AbstractSet[str]) -> None:
    """Refuse a NamedTuple whose special methods its user wrote."""
    cls = type(value)
    if isinstance(value, tuple) and not special.isdisjoint(t.recorded(lambda: t.recorder.structure(cls))[1]):
        t.fail(KernelTypeError, f"this would run special methods of class {cls.__name__}, which are not followed")


def key_of(t: Tracer, key: Any) -> Any:
    """Return a static key of a dict or list; a run-time value is refused."""
    if is_runtime(key):
        t.fail(
            KernelTypeError, "a key must be static", found=kind_of(key), advice="index tensors, not Python containers"
        )
    return settled(t, key, COMPARISON)


def item(t: Tracer, container: Any, key: Any) -> Any:
    """Return an item of a static container."""
    if isinstance(key, DeviceValue):
        t.fail(
            KernelTypeError,
            "a Python container is indexed by static values only",
            found=f"{kind_of(container)} indexed by {kind_of(key)}",
            advice="use dt.where over the items, shared memory, or a tensor",
        )
    if isinstance(container, (KernelList, KernelDict, str, bytes, range)) or is_array(container):
        found = run_native(t, lambda: container[key], f"indexing {kind_of(container)}")
        return t.new_list(found) if type(found) is list else found
    if isinstance(container, StructValue) and issubclass(container.cls, tuple):
        return run_native(t, lambda: container.values[key], f"indexing a {container.cls.__name__}")
    if isinstance(container, (tuple, list, dict)):
        if isinstance(container, tuple) and type(container) is not tuple:
            _check_special(t, container, ITERATION)
        if isinstance(container, dict):
            key = key_of(t, key)
        return run_native(t, lambda: t.recorder.item(container, key), f"indexing {kind_of(container)}")
    raise t.error(KernelTypeError, "this cannot be indexed", found=kind_of(container))


def contains(t: Tracer, container: Any, value: Any) -> bool:
    """Return ``value in container`` for static values."""
    if isinstance(container, (str, bytes, range, tuple, list, dict, frozenset)):
        if isinstance(container, (KernelList, tuple)) and is_runtime(container):
            t.fail(KernelTypeError, "'in' takes a container of static values", found="run-time items")
        sought = settled(t, value, COMPARISON)
        if type(container) is dict:
            return bool(run_native(t, lambda: t.recorder.contains(container, sought), "in"))
        if isinstance(sought, ScalarType) and isinstance(container, (tuple, list)):
            for item in iterate(t, container):
                refuse_foreign_type(t, sought, item)
        if is_told_by_identity(sought) and not isinstance(container, KernelDict):
            return any(t.recorded(functools.partial(t.recorder.same, i, sought)) for i in iterate(t, container))
        held = container if isinstance(container, KernelDict) else settled(t, container, COMPARISON)
        return bool(run_native(t, lambda: sought in held, "in"))
    raise t.error(KernelTypeError, "'in' takes a static container", found=kind_of(container))


def call_native(
    t: Tracer, function: Callable[..., Any], arguments: list[Any], keywords: dict[str, Any], name: str
) -> Any:
    """Run a pure function on static values."""
    owner = getattr(function, "__self__", None)
    for argument in (*arguments, *keywords.values()):
        if (
            is_runtime(argument)
            or not isinstance(argument, _PLAIN)
            or (type(argument) is type and argument is not type)
        ):
            if not is_runtime(argument) and isinstance(argument, _PLAIN):
                continue
            t.fail(
                KernelTypeError,
                f"{name} runs at compile time and takes static values",
                found=kind_of(argument),
                accepted="numbers, strings, tuples",
            )
    special = ALL_SPECIAL if function in _WRITES_TEXT or isinstance(owner, (str, bytes)) else ALL_SPECIAL - TEXT
    given = [settled(t, argument, special) for argument in arguments]
    named = {key: settled(t, value, special) for key, value in keywords.items()}
    result = run_native(t, lambda: function(*given, **named), f"{name}(...)")
    return t.new_list(result) if type(result) is list else result


def check_mutable(t: Tracer, container: Any) -> None:
    """Refuse to change a container that lives outside the code being traced, or outside a region that may not run."""
    if not isinstance(container, (KernelList, KernelDict)):
        t.fail(
            KernelValueError,
            "kernel code does not change Python objects from outside",
            found=kind_of(container),
            advice="make a new list in the kernel, or store to a tensor",
        )
    if container.serial < t.regions[-1].floor:
        t.fail(
            KernelValueError,
            "a Python container from outside cannot change under a run-time condition or in a run-time loop",
            found=kind_of(container),
            accepted="containers made in the same branch or iteration; dt.array elements anywhere",
            advice="use dt.array, or dt.static_range to unroll the loop",
        )
