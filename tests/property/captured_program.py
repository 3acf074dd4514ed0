"""A program whose state is captured, a toy compile that reads it through the recorder, and an oracle that reads it
plainly.

``PROBES`` pairs the two: each probe reads one thing in both ways, and what it reads is compared type-tagged, so that
1, True and 1.0 are three values.
"""

from __future__ import annotations

import functools
import importlib.util
import linecache
import os
import struct
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from darter._native import Guards
from darter.capture.baseline import install
from darter.capture.record import CaptureRecord
from darter.capture.recorder import Getter, Recorder
from darter.errors import DarterError

SOURCE = """
import dataclasses, enum, functools, typing

class Color(enum.IntEnum):
    RED = 1
    BLUE = 2

class Point(typing.NamedTuple):
    x: int
    tags: list

@dataclasses.dataclass(frozen=True)
class Frozen:
    width: int = 4

class Base:
    scale = 3
    def area(self, factor=2): return self.width * factor
    @property
    def doubled(self): return self.width * 2
    @staticmethod
    def fixed(): return 7

class Derived(Base):
    def __init__(self): self.width = 5

class Other(Base):
    def __init__(self): self.width = 5

class Slotted:
    __slots__ = ("value",)

NUMBER = 3
CONFIG = {"block": 128, 5: "five", Color.RED: 1, "nested": {"deep": [1, 2, (3, 4)]}}
ORDERED = {"a": 1, "b": 2}
ITEMS = [1, 2.0, [3]]
MIXED = (1, [2])
POINT = Point(1, [2])
FROZEN = Frozen()
THING = Derived()
SLOTTED = Slotted(); SLOTTED.value = 1

def helper(a, b=2, *, c=3): return a + b + c + NUMBER
def other_helper(a, b=2, *, c=3): return a - b
HELPERS = [helper, other_helper]
PARTIAL = functools.partial(helper, 1, c=5)
BOUND = THING.area

def make(captured, late):
    def kernel(): return captured, late, NUMBER, min, CONFIG
    return kernel

kernel = make(1, None)
"""

ENVIRONMENT_NAME = "DARTER_TEST_CAPTURED"
MISSING = ("missing",)


@dataclass
class Program:
    """One loaded copy of the program; ``module`` is in ``sys.modules`` under its own name."""

    module: types.ModuleType
    path: str

    @property
    def kernel(self) -> types.FunctionType:
        return self.module.kernel

    def reload(self) -> None:
        """Run the module's source again in its namespace, but keep the kernel whose state is captured."""
        kernel = self.module.kernel
        exec(compile(SOURCE, self.path, "exec"), vars(self.module))
        self.module.kernel = kernel

    def unload(self) -> None:
        sys.modules.pop(self.module.__name__, None)
        linecache.cache.pop(self.path, None)
        os.environ.pop(ENVIRONMENT_NAME, None)


def load(name: str) -> Program:
    """Return a fresh copy of the program as module ``name``; its source is in linecache only."""
    path = f"<{name}>"
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader=None))
    sys.modules[name] = module
    linecache.cache[path] = (len(SOURCE), None, SOURCE.splitlines(keepends=True), path)
    exec(compile(SOURCE, path, "exec"), vars(module))
    return Program(module, path)


def tagged(value: Any) -> Any:
    """Return a value as nested tuples that are equal only for equal types and values."""
    if isinstance(value, float) and type(value) is float:
        return ("float", struct.pack("<d", value))
    if type(value) in (tuple, list):
        return (type(value).__name__, *(tagged(item) for item in value))
    if isinstance(value, np.generic):
        return ("numpy", value.dtype.name, value.tobytes())
    if isinstance(value, types.FunctionType):
        return ("function", value.__module__, value.__qualname__)
    if isinstance(value, types.CodeType):
        return ("code", value.co_code, tagged(value.co_consts), value.co_names)
    if isinstance(value, type):
        return ("class", value.__module__, value.__qualname__)
    if type(value) in (bool, int, str, bytes, type(None)):
        return (type(value).__name__, value)
    text = repr(value) if type(value).__repr__ is not object.__repr__ else ""
    return (type(value).__qualname__, text)


# -- the probes: how the toy compile reads, how plain Python reads -----------------------------------------------------

Reads = Callable[[Recorder, types.FunctionType], Any]
Plainly = Callable[[types.ModuleType], Any]


def _function_facts(r: Recorder, function: types.FunctionType) -> Any:
    r.function(function)
    return _plain_function_facts(function)


def _plain_function_facts(function: types.FunctionType) -> Any:
    keywords = function.__kwdefaults__ or {}
    names = function.__code__.co_varnames[function.__code__.co_argcount :][: function.__code__.co_kwonlyargcount]
    kept = tuple((name, keywords[name]) if name in keywords else name for name in names)
    return (function, function.__code__, function.__defaults__ or (), kept)


def _method(r: Recorder, k: types.FunctionType) -> Any:
    found = r.attribute(r.name(k, "THING"), "area")
    return _function_facts(r, found.__func__) if isinstance(found, types.MethodType) else found


def _plain_method(m: types.ModuleType) -> Any:
    found = m.THING.area
    return _plain_function_facts(found.__func__) if isinstance(found, types.MethodType) else found


def _getter(r: Recorder, k: types.FunctionType) -> Any:
    found = r.attribute(r.name(k, "THING"), "doubled")
    return _function_facts(r, found.function) if isinstance(found, Getter) else found


def _plain_getter(m: types.ModuleType) -> Any:
    found = type(m.THING).__dict__.get("doubled", m.Base.__dict__.get("doubled"))
    return _plain_function_facts(found.fget) if isinstance(found, property) else m.THING.doubled


def _partial(r: Recorder, k: types.FunctionType) -> Any:
    partial = r.name(k, "PARTIAL")
    if not isinstance(partial, functools.partial):
        return partial
    keywords = r.attribute(partial, "keywords")
    facts = _function_facts(r, r.attribute(partial, "func"))
    return (facts, r.items(r.attribute(partial, "args")), r.entries(keywords))


def _plain_partial(m: types.ModuleType) -> Any:
    if not isinstance(m.PARTIAL, functools.partial):
        return m.PARTIAL
    return (_plain_function_facts(m.PARTIAL.func), m.PARTIAL.args, tuple(m.PARTIAL.keywords.items()))


def _deep(r: Recorder, k: types.FunctionType) -> Any:
    nested = r.item(r.name(k, "CONFIG"), "nested")
    found = r.item(nested, "deep") if isinstance(nested, dict) else nested
    return type(found)(r.items(found)) if isinstance(found, (list, tuple)) else found


def _plain_deep(m: types.ModuleType) -> Any:
    nested = m.CONFIG["nested"]
    return nested["deep"] if isinstance(nested, dict) else nested


def _plain_builtin(m: types.ModuleType) -> Any:
    return vars(m).get("min", min)


def _closure(position: int) -> Plainly:
    return lambda m: m.kernel.__closure__[position].cell_contents


PROBES: dict[str, tuple[Reads, Plainly]] = {
    "global": (lambda r, k: r.name(k, "NUMBER"), lambda m: m.NUMBER),
    "builtin": (lambda r, k: r.name(k, "min"), _plain_builtin),
    "closure": (lambda r, k: r.name(k, "captured"), _closure(0)),
    "closure None": (lambda r, k: r.name(k, "late"), _closure(1)),
    "dict key": (lambda r, k: r.item(r.name(k, "CONFIG"), "block"), lambda m: m.CONFIG["block"]),
    "dict int key": (lambda r, k: r.item(r.name(k, "CONFIG"), 5), lambda m: m.CONFIG[5]),
    "dict absent key": (lambda r, k: r.contains(r.name(k, "CONFIG"), "extra"), lambda m: "extra" in m.CONFIG),
    "dict in dict": (_deep, _plain_deep),
    "dict keys": (lambda r, k: r.entries(r.name(k, "ORDERED")), lambda m: tuple(m.ORDERED.items())),
    "dict length": (lambda r, k: r.length(r.name(k, "ORDERED")), lambda m: len(m.ORDERED)),
    "list item": (lambda r, k: r.item(r.name(k, "ITEMS"), 0), lambda m: m.ITEMS[0]),
    "list last": (lambda r, k: r.length(r.item(r.name(k, "ITEMS"), -1)), lambda m: len(m.ITEMS[-1])),
    "tuple of list": (lambda r, k: r.item(r.item(r.name(k, "MIXED"), 1), 0), lambda m: m.MIXED[1][0]),
    "named tuple": (lambda r, k: r.items(r.attribute(r.name(k, "POINT"), "tags")), lambda m: tuple(m.POINT.tags)),
    "frozen": (lambda r, k: r.attribute(r.name(k, "FROZEN"), "width"), lambda m: m.FROZEN.width),
    "instance": (
        lambda r, k: (r.name(k, "THING"), r.attribute(r.name(k, "THING"), "width")),
        lambda m: (m.THING, m.THING.width),
    ),
    "class of instance": (lambda r, k: r.attribute(r.name(k, "THING"), "scale"), lambda m: m.THING.scale),
    "slot": (lambda r, k: r.attribute(r.name(k, "SLOTTED"), "value"), lambda m: m.SLOTTED.value),
    "class": (lambda r, k: r.attribute(r.name(k, "Derived"), "scale"), lambda m: m.Derived.scale),
    "enum": (lambda r, k: r.attribute(r.name(k, "Color"), "RED"), lambda m: m.Color.RED),
    "method": (_method, _plain_method),
    "property": (_getter, _plain_getter),
    "static method": (lambda r, k: r.method(r.name(k, "Derived"), "fixed"), lambda m: m.Derived.fixed),
    "helper": (lambda r, k: _function_facts(r, r.name(k, "helper")), lambda m: _plain_function_facts(m.helper)),
    "function list": (
        lambda r, k: tuple(_function_facts(r, f) for f in r.items(r.name(k, "HELPERS"))),
        lambda m: tuple(_plain_function_facts(f) for f in m.HELPERS),
    ),
    "partial": (_partial, _plain_partial),
    "bound method": (
        lambda r, k: _function_facts(r, r.attribute(r.name(k, "BOUND"), "__func__")),
        lambda m: _plain_function_facts(m.BOUND.__func__),
    ),
    "environment": (lambda r, k: r.environment(ENVIRONMENT_NAME), lambda _m: os.environ.get(ENVIRONMENT_NAME)),
}


def kind(value: Any) -> Any:
    """Return what a name itself says: the kind of what is read through, else the value."""
    if type(value) in (list, dict, functools.partial):
        return type(value).__name__
    return tuple(kind(item) for item in value) if isinstance(value, tuple) else value


def _name_probe(name: str) -> tuple[Reads, Plainly]:
    return (lambda r, k: kind(r.name(k, name)), lambda m: kind(vars(m)[name]))


PROBES |= {
    f"name {name}": _name_probe(name)
    for name in ("CONFIG", "ORDERED", "ITEMS", "MIXED", "POINT", "FROZEN", "THING", "SLOTTED", "HELPERS", "PARTIAL")
}
PROBES["nested kind"] = (lambda r, k: kind(r.item(r.name(k, "CONFIG"), "nested")), lambda m: kind(m.CONFIG["nested"]))
PROBES["list last kind"] = (lambda r, k: kind(r.item(r.name(k, "ITEMS"), -1)), lambda m: kind(m.ITEMS[-1]))

_ABSENCES = (LookupError, AttributeError, TypeError, ValueError)
"""What a probe raises where a name is gone, or where what stands there is of a kind that cannot be read so."""


def observe(program: Program) -> dict[str, Any]:
    """Return what plain Python reads now, by probe."""
    return {name: _guarded(plainly, program.module) for name, (_, plainly) in PROBES.items()}


def _guarded(read: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return tagged(read(*arguments))
    except DarterError:
        raise
    except _ABSENCES:
        return MISSING


@dataclass
class Compiled:
    """What a toy compile gives: the values that it used, its record, its guards."""

    values: dict[str, Any]
    record: CaptureRecord
    guards: Guards


def toy_compile(program: Program, during: Callable[[int], None] = lambda _step: None) -> Compiled:
    """Return a compile of the program's kernel; ``during`` is called before each probe.

    Raises ``CaptureRaceError`` if what was read changed before the guards stood.
    """
    recorder = Recorder(program.kernel)
    recorder.function(program.kernel)
    values = {}
    for step, (name, (reads, _)) in enumerate(PROBES.items()):
        during(step)
        values[name] = _guarded(reads, recorder, program.kernel)
    during(len(PROBES))
    record = recorder.finish()
    return Compiled(values, record, install(record, program.kernel))
