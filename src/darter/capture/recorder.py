"""The recorder: every read of a Python value that the front end makes goes through it, and is recorded.

Reads follow Python's own rules (closure, globals, builtins; the MRO; instance before class), including the places
where a name was *not* found.  A value that cannot be guarded is refused, never passed on unrecorded.
"""

from __future__ import annotations

import os
import types
from collections.abc import Callable, Iterable, Mapping, Set as AbstractSet
from typing import Any, Final

from darter.capture import attributes
from darter.capture.attributes import Getter
from darter.capture.contents import content
from darter.capture.fingerprint import ABSENT, encode, is_by_value, kind_fingerprint
from darter.capture.path import (
    ENVIRON_ROOT,
    FUNCTION_ROOT,
    OWNER_ROOT,
    Path,
    Step,
    argument_root,
    describe,
    identity_step,
    import_root,
    key_step,
)
from darter.capture.record import CaptureRecord, read_aliases
from darter.capture.static import Static
from darter.capture.steps import environment_path, read, read_root, roots, step_fingerprint
from darter.errors import CaptureRaceError, CaptureRefusedError

__all__ = ["Getter", "Recorder"]

MAX_ELEMENTS: Final = 1024
"""Largest captured list, and largest captured dict that is iterated; a dict read by key has no bound."""

MAX_FIELDS: Final = 64
"""Attributes that may be read of one captured instance."""

_MADE_ANEW: Final = (types.MethodType, tuple, Static)
"""What a read may make anew each time although nothing has changed; what it contains has places of its own."""

_IMPORTABLE: Final = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)
"""What is recorded by its import path where it is read from; see ``_adopted``."""

_ATOMS: Final = frozenset(
    {type(None), bool, int, float, complex, str, bytes, range, slice, type(...), type(NotImplemented)}
)


class Recorder:
    """Records the reads of one compile.

    ``function`` is the launcher's Python function, ``owner_class`` the class it is bound through, ``arguments`` the
    classes of struct, self and other object arguments by parameter name (what is read from them beyond their key words
    is captured).

    A container that the recorder has not handed out itself (a list that static code has made, a value that stands in
    the key) is read without a record: it cannot drift.  A function, class or module that it has not handed out is
    looked up by its import path, and refused if it is not there.
    """

    def __init__(
        self,
        function: types.FunctionType,
        owner_class: type | None = None,
        arguments: Mapping[str, object] | None = None,
    ) -> None:
        self.roots: Final = roots(function, owner_class, arguments)
        self._entries: dict[Path, bytes] = {}
        self._places: dict[int, tuple[object, Path]] = {}
        self._standing: dict[Path, object] = {}
        self._aliases: dict[Path, Path] = {}
        self._lenient = False
        self._fields: dict[Path, set[str]] = {}
        self._snapshots: dict[int, object] = {}
        self._place(function, FUNCTION_ROOT)
        if owner_class is not None:
            self._place(owner_class, OWNER_ROOT)
        for name, cls in (arguments or {}).items():
            self._place(cls, argument_root(name))

    # -- names and functions ------------------------------------------------------------------------------------------

    def name(self, function: types.FunctionType, name: str) -> Any:
        """Return what ``name`` stands for in ``function``: closure, then globals, then builtins; None is a value.

        Raises ``LookupError`` where it is unbound (the absences are recorded then too).
        """
        if name in function.__code__.co_freevars:
            found = self.step(function, ("cell", name))
            if found is ABSENT:
                raise LookupError(f"the closure variable '{name}' is not bound yet")
            return found
        found = self.step(function, ("name", name))
        if found is ABSENT:
            raise LookupError(f"name '{name}' is not defined")
        return found

    def function(self, function: types.FunctionType) -> types.FunctionType:
        """Record a function's code, defaults and keyword defaults, before it is interpreted; returns the function."""
        if not isinstance(function, types.FunctionType):
            raise CaptureRefusedError(f"a {type(function).__name__} has no Python code that kernel code could call")
        self.step(function, ("code",))
        for position in range(self.step(function, ("defaults",))):
            self.step(function, ("default", position))
        code = function.__code__
        for name in code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]:
            self.step(function, ("kwdefault", name))
        return function

    def parameters(self, function: types.FunctionType, *, is_method: bool) -> None:
        """Record what the annotations of a launcher or kernel demand, beside :meth:`function`."""
        self.step(function, ("parameters", int(is_method)))

    def method(self, cls: type, name: str) -> types.FunctionType:
        """Return the function that ``name`` is in the MRO of ``cls``; not yet recorded as called, see :meth:`function`.

        Raises ``AttributeError`` where no class has it, ``CaptureRefusedError`` where it is no function.
        """
        found = attributes.class_attribute(self, cls, name)
        if isinstance(found, types.MethodType):
            found = found.__func__
        if not isinstance(found, types.FunctionType):
            raise CaptureRefusedError(
                f"attribute '{name}' of class '{cls.__qualname__}' is a {type(found).__name__}, not a function"
            )
        return found

    def getter(self, cls: type, name: str) -> types.FunctionType:
        """Return the getter of the property that ``name`` is in the MRO of ``cls``, recorded.

        Raises ``CaptureRefusedError`` where it is no property with a getter written in Python.
        """
        found = self.step(cls, ("descriptor", name))
        if not isinstance(found, property) or not isinstance(found.fget, types.FunctionType):
            raise CaptureRefusedError(f"attribute '{name}' of class '{cls.__qualname__}' is no property in Python")
        getter: types.FunctionType = self.step(found, ("getter",))
        return getter

    # -- identity -----------------------------------------------------------------------------------------------------

    def same(self, a: object, b: object) -> bool:
        """Return ``a is b``; recorded where their fingerprints would not tell (functions, classes, instances)."""
        first, other = self.path_of(a), self.path_of(b)
        if first is None or other is None or is_by_value(a) or is_by_value(b):
            return a is b
        if first != other:
            if encode(a) == encode(b):
                self._recorded((*other, identity_step(first)), a is b)
            return a is b
        for path in [path for path, standing in self._aliases.items() if standing == first]:
            self._recorded((*path, identity_step(first)), True)
        return a is b

    # -- classes ------------------------------------------------------------------------------------------------------

    def class_of(self, value: Any) -> type:
        """Return ``type(value)``; recorded for a captured value, whose class can be assigned."""
        found: type = type(value) if self.path_of(value) is None else self.step(value, ("type",))
        return found

    def mro(self, cls: type) -> tuple[type, ...]:
        """Return the MRO of a class, recorded: what ``isinstance`` asks."""
        found: tuple[type, ...] = cls.__mro__ if cls.__module__ == "builtins" else self.step(cls, ("mro",))
        return found

    def structure(self, cls: type) -> tuple[Any, ...]:
        """Return what a class is made of (``structure.structure_of``), recorded as one value."""
        found: tuple[Any, ...] = self.step(cls, ("structure",))
        return found

    def content(self, value: Any, special: AbstractSet[str]) -> Any:
        """Return a value for an operation that reads all of it; see ``contents.content``."""
        return content(self, value, special)

    # -- attributes ---------------------------------------------------------------------------------------------------

    def attribute(self, obj: Any, name: str) -> Any:
        """Return ``obj.name`` for a module, class, instance, enum member, NamedTuple, partial or bound method.

        A method comes back as ``types.MethodType`` over its Python function, a property as :class:`Getter` over its
        getter: both for the front end to interpret.  Raises ``AttributeError`` where the attribute is not there
        (recorded), and ``CaptureRefusedError`` for descriptors, ``__getattr__`` and more than 64 attributes of one
        instance.
        """
        return attributes.attribute(self, obj, name)

    def has_attribute(self, obj: Any, name: str) -> bool:
        """Return whether ``obj.name`` is there; either answer is recorded."""
        try:
            self.attribute(obj, name)
        except AttributeError:
            return False
        return True

    # -- containers ---------------------------------------------------------------------------------------------------

    def item(self, container: Any, key: Any) -> Any:
        """Return ``container[key]``; raises ``KeyError``, ``IndexError`` or ``TypeError`` as Python does (recorded)."""
        path = self.path_of(container)
        if path is None:
            return self._unwrapped(container, container[key])
        if type(container) is dict:
            self._check_key(container, key)
            found = self.step(container, key_step(key))
            if found is ABSENT:
                raise KeyError(key)
            return found
        if isinstance(container, tuple) and not isinstance(key, slice):
            position = range(len(container))[key]
            return self._given(container[position], (*path, ("element", position)))
        if type(container) is list and isinstance(key, slice):
            return list(self.items(container)[key])
        if type(container) is list:
            return self._list_item(container, key)
        return self._unwrapped(container, container[key])

    def _list_item(self, container: list[Any], key: Any) -> Any:
        self._check_bound(container)
        found = self.step(container, ("element", key.__index__()))
        if found is ABSENT:
            raise IndexError("list index out of range")
        return found

    def contains(self, container: Any, key: Any) -> bool:
        """Return ``key in container`` for a dict (by key, no bound) or an immutable container; recorded."""
        if type(container) is dict and self.path_of(container) is not None:
            self._check_key(container, key)
            return bool(self.step(container, ("has", *key_step(key)[1:])))
        if type(container) is list:
            return key in self.items(container)
        return key in container

    def items(self, container: Any) -> tuple[Any, ...]:
        """Return what iteration gives: elements in order, a dict's keys, a frozenset's in an order that no hash seed
        changes.

        Raises ``CaptureRefusedError`` for a captured list or dict of more than 1024 entries.
        """
        path = self.path_of(container)
        if isinstance(container, frozenset):
            return tuple(sorted(self._told_by_value(container, container), key=encode))
        if path is None:
            return tuple(self._unwrapped(container, item) for item in container)
        if isinstance(container, tuple):
            return tuple(self._given(item, (*path, ("element", position))) for position, item in enumerate(container))
        if type(container) is list:
            self._check_bound(container)
            return tuple(self.step(container, ("element", position)) for position in range(self.length(container)))
        if type(container) is dict:
            self._check_bound(container)
            keys = self.step(container, ("keys",))
            return tuple(self._told_by_value(container, keys))
        return tuple(container)

    def entries(self, container: dict[Any, Any]) -> tuple[tuple[Any, Any], ...]:
        """Return a dict's ``(key, value)`` pairs in order; the same bound as :meth:`items`."""
        return tuple((key, self.item(container, key)) for key in self.items(container))

    def length(self, container: Any) -> int:
        """Return ``len(container)``; recorded for a captured list or dict."""
        if type(container) in (list, dict) and self.path_of(container) is not None:
            return int(self.step(container, ("length",)))
        return len(container)

    # -- the environment ----------------------------------------------------------------------------------------------

    def environment(self, name: str) -> str | None:
        """Return an environment variable as it stands in ``os.environ``, or None; either answer is recorded."""
        data = read_root(("environ",), self.roots)
        self._place(data, ENVIRON_ROOT)
        found = self.step(data, environment_path(name)[-1])
        return None if found is ABSENT else str(os.environ.decodevalue(found))

    # -- snapshots ----------------------------------------------------------------------------------------------------

    def static(self, read_value: Callable[[], Any]) -> Any:
        """Return a snapshot of what ``read_value`` reads: ``dt.static(...)`` in kernel or launcher code.

        Inside, a value that cannot be guarded is read without refusal; its content is a part of the record, so that
        another process with another content compiles anew, and is not guarded in this one.
        """
        outer, self._lenient = self._lenient, True
        try:
            value = read_value()
        finally:
            self._lenient = outer
        if self.path_of(value) is None:
            return value
        snapshot = Static(value)
        self._recorded((*self._places[id(value)][1], ("static",)), snapshot)
        return self.freed(snapshot.value)

    # -- the end ------------------------------------------------------------------------------------------------------

    def finish(self) -> CaptureRecord:
        """Return what has been recorded so far."""
        return CaptureRecord(tuple(self._entries.items()), read_aliases(self._entries, self._aliases))

    # -- for darter.capture itself -------------------------------------------------------------------------------------

    def step(self, container: Any, step: Step) -> Any:
        """Read one step from a container with a known place, record it, and return the value (or ``ABSENT``)."""
        path = self.path_of(container)
        if path is None:
            path = self._adopted(container)
        found = read(container, step)
        return self._recorded((*path, step), found)

    def path_of(self, value: object) -> Path | None:
        """Return where a container that the recorder has handed out was found first, or None."""
        placed = self._places.get(id(value))
        return placed[1] if placed is not None and placed[0] is value else None

    def count_field(self, path: Path, owner: object, name: str) -> None:
        """Hold the bound of attributes read of one instance."""
        names = self._fields.setdefault(path, set())
        names.add(name)
        if len(names) > MAX_FIELDS:
            raise CaptureRefusedError(
                f"more than {MAX_FIELDS} attributes of the captured {type(owner).__qualname__} at {describe(path)} "
                f"are read: each "
                "is compared on every call; read fewer, or capture `dt.static(obj)`"
            )

    def _recorded(self, path: Path, value: object) -> Any:
        try:
            found = step_fingerprint(path[-1], value)
        except CaptureRefusedError as error:
            if not self._lenient:
                raise CaptureRefusedError(f"{describe(path)}: {error}") from error
            found = kind_fingerprint(value)
        if self._entries.setdefault(path, found) != found:
            raise _race(path)
        return self._given(value, path)

    def _given(self, value: Any, path: Path) -> Any:
        if isinstance(value, Static):
            return self.freed(value.value)
        if isinstance(value, types.MethodType):  # bound anew on each read; what it binds stays
            self._given(value.__func__, (*path, ("func",)))
            self._given(value.__self__, (*path, ("self",)))
        if type(value) not in _ATOMS and value is not ABSENT:
            self._place(value, path)
        return value

    def _place(self, value: object, path: Path) -> None:
        """Note where a value stands; reads of a value that stands in several places are recorded at the first one."""
        if self._standing.setdefault(path, value) is not value and not isinstance(value, _MADE_ANEW):
            raise _race(path)
        first = self._places.setdefault(id(value), (value, path))[1]
        if first != path:
            self._aliases.setdefault(path, first)

    def _adopted(self, value: Any) -> Path:
        """Return the import path of a module, class or function that came from no recorded read."""
        root: Path | None = None
        if isinstance(value, types.ModuleType):
            root = import_root(value.__name__)
        elif isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)):
            root = import_root(value.__module__ or "", value.__qualname__)
        if root is None or read_root(root[0], self.roots) is not value:
            raise CaptureRefusedError(
                f"a {type(value).__name__} was reached in a way that cannot be followed again; read it by a name, an "
                "attribute or a key"
            )
        self._place(value, root)
        self._recorded(root, value)
        return root

    def _check_bound(self, container: list[Any] | dict[Any, Any]) -> None:
        if len(container) > MAX_ELEMENTS:
            path = self.path_of(container)
            raise CaptureRefusedError(
                f"the captured {type(container).__name__} at {describe(path or FUNCTION_ROOT)} has {len(container)} "
                f"entries; up to "
                f"{MAX_ELEMENTS} are guarded; capture a tuple, read a dict by key, or capture `dt.static(obj)`"
            )

    # -- what is told by value, and what is not guarded ---------------------------------------------------------------

    def freed(self, value: Any) -> Any:
        """Note that ``value`` is a part of a snapshot: what is read of it needs no guard.  Returns it."""
        if type(value) not in _ATOMS:
            self._snapshots[id(value)] = value
        return value

    def is_free(self, value: object) -> bool:
        """Return whether ``value`` is a part of a snapshot."""
        return self._snapshots.get(id(value), self) is value

    def _unwrapped(self, container: object, value: Any) -> Any:
        if isinstance(value, Static):
            return self.freed(value.value)
        return self.freed(value) if self.is_free(container) else value

    def _told_by_value(self, container: object, items: Iterable[Any]) -> list[Any]:
        """Return the items of a frozenset, or keys of a dict: none has a place of its own to be guarded at."""
        found = list(items)
        for item in found:
            if not (is_by_value(item) or isinstance(item, _IMPORTABLE) or self.is_free(container)):
                raise CaptureRefusedError(
                    f"an item of a captured {type(container).__name__} is a {type(item).__qualname__}, whose content "
                    "cannot be guarded there; iterate over a tuple or list"
                )
        return found

    def _check_key(self, container: dict[Any, Any], key: Any) -> None:
        """Refuse a key that is not told from others by its encoding."""
        if is_by_value(key):
            return
        encoded = encode(key)
        alike = [other for other in container if type(other) is not str and encode(other) == encoded]
        if not isinstance(key, _IMPORTABLE) or len(alike) > 1 or any(other is not key for other in alike):
            raise CaptureRefusedError(
                f"a dict is read by a key of type {type(key).__qualname__} that is not told by its value; use a "
                "number, a string, an enum member, or a tuple of them"
            )


def _race(path: Path) -> CaptureRaceError:
    return CaptureRaceError(f"{describe(path)} changed while the code that reads it was being compiled; call again")
