"""Names: what a captured name means, and binding values to targets."""

from __future__ import annotations

import ast
from typing import Any

from darter.dtypes import Int32, Int64
from darter.errors import (
    KernelNameError,
    KernelTypeError,
    KernelValueError,
    UnsupportedSyntaxError,
)
from darter.frontend.frame import Frame
from darter.frontend.static_python import iterate
from darter.frontend.tracer import Tracer
from darter.frontend.values import DeviceValue
from darter.ir.nodes import Index, ReadIndex, Value
from darter.lang.intrinsic import KernelConstant


def resolve(t: Tracer, frame: Frame, name: str) -> Any:
    """Return what a name that is not local means, recorded."""
    key = (id(frame.function), name)
    names = t.session.names
    if key not in names:
        names[key] = t.recorded(lambda: _lookup(t, frame, name))
    value = names[key]
    return constant(t, value) if type(value) is KernelConstant else value


def _lookup(t: Tracer, frame: Frame, name: str) -> Any:
    try:
        return t.recorder.name(frame.function, name)
    except LookupError as error:
        raise t.error(
            KernelNameError,
            f"name '{name}' is not defined",
            advice="it is looked up in the function's closure, then its module's globals, then the builtins",
        ) from error


def constant(t: Tracer, value: KernelConstant) -> Any:
    """Return ``dt.warp_size``, ``dt.backend``, ``dt.lane_id`` or ``dt.warp_id`` as it is in the code being traced."""
    if value.name == "backend":
        return t.session.target.backend
    if value.name == "warp_size":
        return t.session.target.warp_size
    if t.host:
        t.fail(KernelTypeError, f"dt.{value.name} has no meaning in a launcher", advice="use it in the kernel")
    return index_value(t, Index(value.name), 0)


def index_value(t: Tracer, index: Index, axis: int) -> DeviceValue:
    """Return a position of the thread; each is read once, at the start of the kernel."""
    if index is Index.THREAD_IDX and t.block[axis] == 1:
        return DeviceValue(t.const(Int32, 0), multiple=0)
    key = (index, axis)
    result = t.cached.get(key)
    if result is None:
        dtype = Int64 if index in (Index.BLOCK_IDX, Index.GRID_DIM) else Int32
        result = t.cached[key] = Value(dtype, index.value)
        t.prologue.append(ReadIndex(result, index, axis))
    return DeviceValue(result)


def bind(t: Tracer, target: ast.expr, value: Any) -> None:
    """Assign ``value`` to a name, or to a tuple of names."""
    if isinstance(target, ast.Name):
        if isinstance(value, DeviceValue) and not value.value.hint:
            value.value.hint = target.id
        t.frame.locals[target.id] = value
    elif isinstance(target, (ast.Tuple, ast.List)):
        t.at = target
        for part, item in unpacked(t, target, iterate(t, value)):
            bind(t, part, item)
    else:
        t.at = target
        t.fail(UnsupportedSyntaxError, "this cannot be assigned to here", accepted="a name, or a tuple of names")


def unpacked(t: Tracer, target: ast.Tuple | ast.List, items: list[Any]) -> list[tuple[ast.expr, Any]]:
    """Pair the parts of a tuple target with items; a starred part takes the rest as a list."""
    parts = target.elts
    starred = [index for index, part in enumerate(parts) if isinstance(part, ast.Starred)]
    if starred and len(items) >= len(parts) - 1:
        first, after = starred[0], len(parts) - starred[0] - 1
        rest = t.new_list(items[first : len(items) - after])
        items = [*items[:first], rest, *items[len(items) - after :]]
        parts = [part.value if isinstance(part, ast.Starred) else part for part in parts]
    if len(items) != len(parts):
        t.at = target
        t.fail(KernelValueError, f"{len(items)} values do not unpack into {len(parts)} names")
    return list(zip(parts, items, strict=True))
