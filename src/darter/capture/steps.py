"""The steps of a resolution path at work: what each reads, and what has to be watched so that a read stays true.

One table serves the recorder and the resolver, so a value is read in the same way when it is recorded, when a manifest
is compared with the live program, and when its guard is armed.
"""

from __future__ import annotations

import enum
import functools
import importlib
import os
import sys
import types
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from darter.capture.fingerprint import ABSENT, code_fingerprint, encode, fingerprint, is_descriptor
from darter.capture.path import ENVIRON_ROOT, Path, Step, key_step
from darter.capture.static import Static
from darter.errors import SignatureError
from darter.later import later

if TYPE_CHECKING:
    from darter.capture import structure
    from darter.source.digests import SourceDigests
else:
    structure = later("darter.capture.structure")  # of classes, which few kernels read

Watch = tuple[Any, ...]
"""One thing for the native guards to compare: ``(kind, container, ...)``, see native/guards/guards.hpp."""

_IMMUTABLE_TYPE: Final = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE

Roots = Mapping[Step, object]
"""What the root steps stand for; ``import``, ``environ`` and ``libdevice`` resolve by themselves."""


def roots(
    function: types.FunctionType, owner_class: type | None = None, arguments: Mapping[str, object] | None = None
) -> Roots:
    """Return the roots of a launcher: its function, its owner class, the arguments' classes and functions."""
    found: dict[Step, object] = {("function",): function}
    if owner_class is not None:
        found["owner",] = owner_class
    found.update({("argument", name): cls for name, cls in (arguments or {}).items()})
    return found


def read_root(step: Step, known: Roots) -> object:
    """Return what a root step stands for, or ``ABSENT``."""
    if step in known:
        return known[step]
    if step[0] == "environ":
        environ: object = os.environ
        # A plain dict that a program has bound to the name is its own data, with texts as they are.
        return environ if type(environ) is dict else getattr(environ, "_data", ABSENT)
    if step[0] == "libdevice":
        # Here and not above: few launchers need a part of the library.
        from darter.artifacts import cuda_toolkit

        path = cuda_toolkit.libdevice()
        return ABSENT if path is None else cuda_toolkit.digest(path)
    if step[0] == "import":
        return _imported(str(step[1]), str(step[2]))
    return ABSENT


def environment_path(name: str) -> Path:
    """Return the path of an environment variable."""
    key: object = getattr(os.environ, "encodekey", str)(name)
    return (*ENVIRON_ROOT, key_step(key))


def environment_value(text: str) -> object:
    """Return a variable's text as ``os.environ`` holds it (bytes on POSIX)."""
    held: object = getattr(os.environ, "encodevalue", str)(text)
    return held


def _imported(module: str, qualname: str) -> object:
    value: object = sys.modules.get(module, ABSENT)
    if value is ABSENT and module.partition(".")[0] == "darter":
        value = importlib.import_module(module)
    for name in qualname.split(".") if qualname else ():
        if value is ABSENT:
            break
        value = vars(value).get(name, ABSENT) if isinstance(value, (type, types.ModuleType)) else ABSENT
    return _read_func(value) if isinstance(value, staticmethod) else value


def read(value: Any, step: Step) -> object:
    """Return what one step reads from ``value``; ``ABSENT`` where it is not there or is no such read."""
    reader = _READERS.get(str(step[0]))
    if reader is None:
        return ABSENT
    try:
        return reader(value, *step[1:])
    except (AttributeError, KeyError, IndexError, TypeError, ValueError):
        # `value` is no longer of the kind that the path was recorded for: the step before it has drifted.
        return ABSENT


def watch(value: Any, step: Step, result: object) -> tuple[Watch, ...]:
    """Return what the native guards compare so that ``read(value, step)`` is known to be ``result`` still."""
    watcher = _WATCHERS.get(str(step[0]))
    return () if watcher is None else watcher(value, step, result)


class Codes:
    """Fingerprints of the code that a record has met; ``digests`` are those of sources that are known."""

    __slots__ = ("_digests", "_met")

    def __init__(self, digests: SourceDigests | None = None) -> None:
        self._digests = digests
        # By identity and name; the object is held, so its id stays.
        self._met: dict[tuple[int, str, str], tuple[types.CodeType, bytes]] = {}

    def fingerprint(self, function: types.FunctionType) -> bytes:
        """Return the fingerprint of a function's code, whose source is looked for once."""
        key = (id(function.__code__), function.__module__ or "", function.__qualname__)
        met = self._met.get(key)
        if met is None:
            met = self._met[key] = (function.__code__, code_fingerprint(function, self._digests))
        return met[1]


def step_fingerprint(step: Step, result: object, codes: Codes | None = None) -> bytes:
    """Return the fingerprint of what a step read; of a ``code`` step it is the code's, of any other the value's.

    ``codes`` remembers those of code, whose source has to be found and parsed.

    Raises ``CaptureRefusedError`` for a value that cannot be guarded.
    """
    if step[0] != "code" or not isinstance(result, types.FunctionType):
        return fingerprint(result)
    return code_fingerprint(result) if codes is None else codes.fingerprint(result)


def cell_of(function: types.FunctionType, name: str) -> types.CellType | None:
    """Return the closure cell of a free variable, or None if the function has no such free variable."""
    names = function.__code__.co_freevars
    if name not in names or function.__closure__ is None:
        return None
    return function.__closure__[names.index(name)]


# -- reading ----------------------------------------------------------------------------------------------------------


def _read_cell(function: types.FunctionType, name: str) -> object:
    cell = cell_of(function, name)
    if cell is None:
        return ABSENT
    try:
        return cell.cell_contents
    except ValueError:
        return ABSENT


def _read_key(container: Mapping[Any, Any], form: str, text: str) -> object:
    if form == "str":
        return container.get(text, ABSENT)
    if form == "int":
        return container.get(int(text, 16), ABSENT)
    key = key_object(container, text)
    return ABSENT if key is ABSENT else container[key]


def key_object(container: Mapping[Any, Any], text: str) -> object:
    """Return the key of ``container`` whose encoding is ``text`` in hex, or ``ABSENT``."""
    encoded = bytes.fromhex(text)
    if encoded.startswith(b"bytes:"):
        return encoded.removeprefix(b"bytes:") if encoded.removeprefix(b"bytes:") in container else ABSENT
    return next((key for key in container if type(key) is not str and encode(key) == encoded), ABSENT)


def _read_default(function: types.FunctionType, position: int) -> object:
    return (function.__defaults__ or ())[position]


def _read_kwdefault(function: types.FunctionType, name: str) -> object:
    return (function.__kwdefaults__ or {}).get(name, ABSENT)


def _read_defaults(function: types.FunctionType) -> object:
    return len(function.__defaults__ or ())


def _read_parameters(function: types.FunctionType, is_method: int) -> object:
    from darter.capture.parameters import parameters_value

    try:
        return parameters_value(function, is_method)
    except SignatureError:
        return ABSENT


def _watch_parameters(function: types.FunctionType, _step: Step, _result: object) -> tuple[Watch, ...]:
    from darter.capture.parameters import annotation_reads

    return tuple(("dict", *read) for read in annotation_reads(function))


def _read_code(function: object) -> object:
    return function if isinstance(function, types.FunctionType) else ABSENT


def _read_mro(cls: type) -> object:
    return cls.__mro__


def _read_lookup(cls: type, name: str) -> object:
    return next((base.__dict__[name] for base in cls.__mro__ if name in base.__dict__), ABSENT)


def _read_descriptor(cls: type, name: str) -> object:
    found = _read_lookup(cls, name)
    return found if is_descriptor(found) else ABSENT


def _read_element(container: Any, position: int) -> object:
    return container[position] if isinstance(container, (list, tuple)) else ABSENT


def _read_keys(container: Mapping[Any, Any]) -> object:
    return tuple(container)


def _read_field(instance: object, name: str) -> object:
    if isinstance(instance, functools.partial):
        return getattr(instance, name)
    return object.__getattribute__(instance, name)


def _read_func(method: Any) -> object:
    found: object = method.__func__
    return found


def _read_structure(cls: type) -> object:
    return structure.structure_of(cls)


def _read_member(cls: type[enum.Enum], name: str) -> object:
    return cls._member_map_.get(name, ABSENT)


_READERS: Final[dict[str, Callable[..., object]]] = {
    "cell": _read_cell,
    "name": lambda function, name: function.__globals__.get(name, function.__builtins__.get(name, ABSENT)),
    "code": _read_code,
    "defaults": _read_defaults,
    "default": _read_default,
    "kwdefault": _read_kwdefault,
    "parameters": _read_parameters,
    "attr": lambda module, name: module.__dict__.get(name, ABSENT),
    "mro": _read_mro,
    "lookup": _read_lookup,
    "descriptor": _read_descriptor,
    "member": _read_member,
    "structure": _read_structure,
    "type": type,
    "field": _read_field,
    "key": _read_key,
    "has": lambda container, form, text: _read_key(container, form, text) is not ABSENT,
    "keys": _read_keys,
    "length": len,
    "element": _read_element,
    "func": _read_func,
    "self": lambda method: method.__self__,
    "getter": lambda found: found.fget,
    "static": Static,
}


# -- watching ---------------------------------------------------------------------------------------------------------


def _watch_cell(function: types.FunctionType, step: Step, result: object) -> tuple[Watch, ...]:
    cell = cell_of(function, str(step[1]))
    return () if cell is None else (("cell", cell, result),)


def _watch_key(container: dict[Any, Any], step: Step, _result: object) -> tuple[Watch, ...]:
    """Watch what stands under a key, for reads of the value and of its presence alike."""
    if not isinstance(container, dict):
        return ()
    form, text = str(step[1]), str(step[2])
    if form == "str":
        return (("dict", container, text, container.get(text, ABSENT)),)
    key: object = int(text, 16) if form == "int" else key_object(container, text)
    if key is not ABSENT:
        return (("dict", container, key, container.get(key, ABSENT)),)
    encoded = bytes.fromhex(text)
    if encoded.startswith(b"bytes:"):
        return (("dict", container, encoded.removeprefix(b"bytes:"), ABSENT),)
    return (("keys", container, tuple(container)),)


def _watch_kwdefault(function: types.FunctionType, step: Step, result: object) -> tuple[Watch, ...]:
    pointer = ("kwdefaults", function, function.__kwdefaults__)
    if function.__kwdefaults__ is None:
        return (pointer,)
    return (pointer, ("dict", function.__kwdefaults__, step[1], result))


def _watch_mro(cls: type, step: Step, _result: object) -> tuple[Watch, ...]:
    """Watch the dicts of a class's MRO down to the one that has the name; those of immutable types cannot change."""
    found: list[Watch] = [] if cls.__flags__ & _IMMUTABLE_TYPE else [("mro", cls, cls.__mro__)]
    for base in cls.__mro__:
        held = base.__dict__.get(str(step[1]), ABSENT)
        if not base.__flags__ & _IMMUTABLE_TYPE:
            found.append(("own", base, step[1], held))
        if held is not ABSENT:
            break
    return tuple(found)


def _watch_structure(cls: type, _step: Step, _result: object) -> tuple[Watch, ...]:
    """Watch the special methods of a class and of its bases; members and fields stand in dicts of their own."""
    found: list[Watch] = [("mro", cls, cls.__mro__)]
    for base in cls.__mro__:
        if structure.is_library_class(base) or base.__flags__ & _IMMUTABLE_TYPE:
            continue
        names = (*structure.SPECIAL, "_fields", "_field_defaults", "__dataclass_fields__", "__dataclass_params__")
        found += [("own", base, name, base.__dict__.get(name, ABSENT)) for name in names]
    if issubclass(cls, enum.Enum):
        found.append(("keys", cls._member_map_, tuple(cls._member_map_)))
    return tuple(found)


def _watch_name(function: Any, step: Step, _result: object) -> tuple[Watch, ...]:
    """Watch a name in globals, and in builtins if globals do not have it."""
    held = function.__globals__.get(str(step[1]), ABSENT)
    watched: Watch = ("dict", function.__globals__, step[1], held)
    if held is not ABSENT:
        return (watched,)
    builtin = function.__builtins__.get(str(step[1]), ABSENT)
    return (watched, ("dict", function.__builtins__, step[1], builtin))


def _watch_length(container: Any, _step: Step, result: object) -> tuple[Watch, ...]:
    return (("length", container, result),) if type(container) in (list, dict) else ()


def _watch_element(container: Any, step: Step, result: object) -> tuple[Watch, ...]:
    if type(container) is not list:
        return ()
    length: Watch = ("length", container, len(container))
    if result is ABSENT:
        return (length,)
    position = int(step[1])
    if position >= 0:
        return (("element", container, position, result),)
    return (length, ("element", container, len(container) + position, result))


_WATCHERS: Final[dict[str, Callable[[Any, Step, object], tuple[Watch, ...]]]] = {
    "cell": _watch_cell,
    "name": _watch_name,
    "code": lambda function, _step, _result: (("code", function, function.__code__),),
    "defaults": lambda function, _step, _result: (("defaults", function, function.__defaults__),),
    "default": lambda function, _step, _result: (("defaults", function, function.__defaults__),),
    "kwdefault": _watch_kwdefault,
    "parameters": _watch_parameters,
    "attr": lambda module, step, result: (("dict", module.__dict__, step[1], result),),
    "mro": lambda cls, _step, result: () if cls.__flags__ & _IMMUTABLE_TYPE else (("mro", cls, result),),
    "lookup": _watch_mro,
    "descriptor": _watch_mro,
    "structure": _watch_structure,
    "member": lambda cls, step, result: (("dict", cls._member_map_, step[1], result),),
    "type": lambda instance, _step, result: (("type", instance, result),),
    "field": lambda instance, step, result: (("field", instance, step[1], result),),
    "key": _watch_key,
    "has": _watch_key,
    "keys": lambda container, _step, result: (("keys", container, result),) if type(container) is dict else (),
    "length": _watch_length,
    "element": _watch_element,
}
