"""Attributes: of tensors and other run-time values, of arguments' objects, and of Python objects by the recorder."""

from __future__ import annotations

import operator
import types
from typing import Any

from darter.capture.attributes import Getter
from darter.errors import KernelNameError, KernelTypeError
from darter.frontend.diagnostics import nearest
from darter.frontend.names import constant, index_value
from darter.frontend.numbers.operators import binary
from darter.frontend.static_python import METHODS
from darter.frontend.tensors import extents, strides
from darter.frontend.tracer import Tracer
from darter.frontend.values import (
    BoundMethod,
    DeviceValue,
    JitArgumentValue,
    KernelCall,
    KernelDict,
    KernelList,
    ObjectValue,
    PointerValue,
    RegisterArray,
    SharedArray,
    StreamValue,
    StructValue,
    TensorValue,
    ValueMethod,
    kind_of,
)
from darter.ir.nodes import Index
from darter.lang.intrinsic import IndexVector, KernelConstant
from darter.lang.kernel_function import KernelFunction

_AXES = {"x": 0, "y": 1, "z": 2}
_ELSEWHERE = {
    "syncthreads": "dt.barrier()",
    "sync_threads": "dt.barrier()",
    "threadIdx": "dt.thread_idx",
    "blockIdx": "dt.block_idx",
    "blockDim": "dt.block_dim",
    "gridDim": "dt.grid_dim",
    "program_id": "dt.block_idx.x, .y or .z",
    "num_programs": "dt.grid_dim.x, .y or .z",
    "grid": "dt.block_idx.x * dt.block_dim.x + dt.thread_idx.x",
    "local_array": "dt.array(dtype, n, init)",
    "shared_memory": "dt.shared(dtype, shape)",
}
"""What other kernel languages call what darter has."""

_METHODS: dict[type, frozenset[str]] = {
    TensorValue: frozenset({"load", "store", "data_ptr"}),
    PointerValue: frozenset({"load", "store", "cast"}),
    SharedArray: frozenset({"load", "store", "data_ptr"}),
    RegisterArray: frozenset({"copy"}),
    KernelList: frozenset({"append", "extend", "insert", "pop", "copy", "index", "count", "reverse", "clear"}),
    KernelDict: frozenset({"get", "keys", "values", "items", "copy", "pop", "setdefault", "update"}),
    KernelCall: frozenset({"launch"}),
    dict: frozenset({"get", "keys", "values", "items", "copy", "pop", "setdefault", "update", "clear", "popitem"}),
    list: frozenset(
        {"append", "extend", "insert", "pop", "copy", "index", "count", "reverse", "clear", "sort", "remove"}
    ),
}


def read(t: Tracer, value: Any, name: str) -> Any:
    """Return ``value.name``."""
    if type(value) is IndexVector:
        return _index(t, value, name)
    methods = _METHODS.get(type(value))
    if methods is not None and name in methods:
        return ValueMethod(name, value)
    reader = _READERS.get(type(value))
    if reader is not None:
        return reader(t, value, name)
    if isinstance(value, (DeviceValue, StreamValue, KernelCall)):
        return _refuse(t, value, name, ("dtype",) if isinstance(value, DeviceValue) else ())
    for builtin, names in METHODS.items():
        if type(value) is builtin or (type(value) is bool and builtin is int):
            if name in names:
                return ValueMethod(name, value)
            _refuse(t, value, name, names)
    return _static(t, value, name)


def _index(t: Tracer, vector: IndexVector, name: str) -> Any:
    axis = _AXES.get(name)
    if axis is None:
        t.fail(KernelNameError, f"dt.{vector.name} has no '{name}'", accepted=".x, .y, .z")
    if t.host:
        t.fail(KernelTypeError, f"dt.{vector.name} has no meaning in a launcher", advice="use it in the kernel")
    if vector.name == "block_dim":
        return t.block[axis]
    return index_value(t, Index(vector.name), axis)


def _refuse(t: Tracer, value: Any, name: str, known: Any) -> Any:
    t.fail(
        KernelNameError,
        f"{kind_of(value)} has no attribute '{name}'",
        accepted=", ".join(sorted(known)) if len(known) < 12 else "",
        advice=nearest(name, known),
    )


def _tensor(t: Tracer, value: TensorValue, name: str) -> Any:
    match name:
        case "shape":
            return extents(t, value)
        case "strides":
            return strides(t, value)
        case "ndim":
            return value.facts.rank
        case "dtype":
            return value.facts.dtype
        case "numel" | "size":
            total: Any = 1
            for extent in extents(t, value):
                total = binary(t, "*", operator.mul, total, extent)
            return total
    return _refuse(t, value, name, ("shape", "strides", "ndim", "dtype", "size", "load", "store", "data_ptr"))


def _pointer(t: Tracer, value: PointerValue, name: str) -> Any:
    return value.element if name == "dtype" else _refuse(t, value, name, ("dtype", "load", "store", "cast"))


def _shared(t: Tracer, value: SharedArray, name: str) -> Any:
    match name:
        case "dtype":
            return value.element
        case "shape" if value.shape is not None:
            return value.shape
        case "ndim":
            return 1 if value.shape is None else len(value.shape)
    return _refuse(t, value, name, ("dtype", "shape", "ndim", "load", "store", "data_ptr"))


def _array(t: Tracer, value: RegisterArray, name: str) -> Any:
    match name:
        case "dtype":
            return value.dtype
        case "shape":
            return (len(value.items),)
    return _refuse(t, value, name, ("dtype", "shape", "copy"))


def _scalar(t: Tracer, value: DeviceValue, name: str) -> Any:
    return value.dtype if name == "dtype" else _refuse(t, value, name, ("dtype",))


def _struct(t: Tracer, value: StructValue, name: str) -> Any:
    if name in value.names:
        return value.values[value.names.index(name)]
    if name == "__cache_signature__" and isinstance(value, JitArgumentValue):
        return ValueMethod(name, value)
    if name in ("_replace", "index", "count"):
        _refuse(t, value, name, value.names)
    return _class_attribute(t, value, name)


def _object(t: Tracer, value: ObjectValue, name: str) -> Any:
    if name in value.names:
        return value.values[value.names.index(name)]
    try:
        return _class_attribute(t, value, name)
    except KernelNameError as error:
        raise t.error(
            KernelNameError,
            f"'{name}' of a {value.cls.__name__} argument cannot be read",
            accepted=f"fields declared dt.Constexpr in its class ({', '.join(value.names) or 'none'}), "
            "its methods, class attributes",
            advice=f"declare it in the class: {name}: dt.Constexpr[...]",
        ) from error


def _class_attribute(t: Tracer, value: StructValue | ObjectValue, name: str) -> Any:
    """Return a method, bound, or an attribute of the value's class."""
    raw = next((vars(base)[name] for base in value.cls.__mro__ if name in vars(base)), None)
    if isinstance(raw, property):
        getter = t.recorded(lambda: t.recorder.getter(value.cls, name))
        return t.call(BoundMethod(getter, value), [], {})
    found = static_attribute(t, value.cls, name)
    if isinstance(found, (types.FunctionType, KernelFunction)) and not isinstance(raw, staticmethod):
        return BoundMethod(found, value)
    return found


def _static(t: Tracer, value: Any, name: str) -> Any:
    found = static_attribute(t, value, name)
    if type(found) is KernelConstant:
        return constant(t, found)
    if isinstance(found, Getter):
        return t.call(BoundMethod(found.function, value), [], {})
    return found


def static_attribute(t: Tracer, value: Any, name: str) -> Any:
    """Return an attribute of a Python object, recorded."""
    is_module = isinstance(value, types.ModuleType)
    key = (id(value), name)
    if is_module and key in t.session.names:
        return t.session.names[key]
    try:
        found = t.recorded(lambda: t.recorder.attribute(value, name))
    except AttributeError as error:
        known = [n for n in dir(value) if n[0] != "_"] if is_module else ()
        what = f"module '{value.__name__}'" if is_module else kind_of(value)
        elsewhere = _ELSEWHERE.get(name) if what.startswith("module 'darter") else None
        advice = f"here it is {elsewhere}" if elsewhere else nearest(name, known)
        raise t.error(KernelNameError, f"{what} has no attribute '{name}'", advice=advice) from error
    if is_module:
        t.session.names[key] = found
    return found


_READERS: dict[type, Any] = {
    TensorValue: _tensor,
    PointerValue: _pointer,
    SharedArray: _shared,
    RegisterArray: _array,
    DeviceValue: _scalar,
    StructValue: _struct,
    JitArgumentValue: _struct,
    ObjectValue: _object,
}
