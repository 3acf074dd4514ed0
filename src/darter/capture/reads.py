"""Recorded reads, a step at a time: where each value stands, and what each step from there gave.

The rules of attributes, containers and operators are written over it; what the front end asks is
:class:`~darter.capture.recorder.Recorder`.  A value that cannot be guarded is refused, never passed on unrecorded.
"""

from __future__ import annotations

import os
import types
from collections.abc import Callable, Mapping
from typing import Any, Final

from darter.capture.fingerprint import ABSENT, encode, is_by_value, kind_fingerprint
from darter.capture.path import (
    ENVIRON_ROOT,
    FUNCTION_ROOT,
    LIBDEVICE_ROOT,
    OWNER_ROOT,
    Path,
    Step,
    argument_root,
    describe,
    identity_step,
    import_root,
)
from darter.capture.record import CaptureRecord, read_aliases
from darter.capture.static import Static
from darter.capture.steps import Codes, environment_path, read, read_root, roots, step_fingerprint
from darter.errors import CaptureRaceError, CaptureRefusedError

MAX_FIELDS: Final = 64
"""Attributes that may be read of one captured instance."""

_MADE_ANEW: Final = (types.MethodType, tuple, Static)
"""What a read may make anew each time although nothing has changed; what it contains has places of its own."""

_ATOMS: Final = frozenset(
    {type(None), bool, int, float, complex, str, bytes, range, slice, type(...), type(NotImplemented)}
)


class Reads:
    """The reads of one compile, from the places that ``function``, ``owner_class`` and ``arguments`` stand for.

    A container that no recorded read has given (a list that static code has made, a value that stands in the key) has
    no place.  A function, class or module that none has given is looked up by its import path, and refused if it is
    not there.
    """

    def __init__(
        self,
        function: types.FunctionType,
        owner_class: type | None = None,
        arguments: Mapping[str, object] | None = None,
    ) -> None:
        self.roots: Final = roots(function, owner_class, arguments)
        self._entries: dict[Path, bytes] = {}
        self._codes = Codes()
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

    # -- a step --------------------------------------------------------------------------------------------------------

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
                "are read: each is compared on every call; read fewer, or capture `dt.static(obj)`"
            )

    def _recorded(self, path: Path, value: object) -> Any:
        try:
            found = step_fingerprint(path[-1], value, self._codes)
        except CaptureRefusedError as error:
            if not self._lenient:
                raise CaptureRefusedError(f"{describe(path)}: {error}") from error
            found = kind_fingerprint(value)
        if self._entries.setdefault(path, found) != found:
            raise _race(path)
        return self.given(value, path)

    def given(self, value: Any, path: Path) -> Any:
        """Note where a value stands that needs no record of its own (an element of a recorded tuple); returns it."""
        if isinstance(value, Static):
            return self.freed(value.value)
        if isinstance(value, types.MethodType):  # bound anew on each read; what it binds stays
            self.given(value.__func__, (*path, ("func",)))
            self.given(value.__self__, (*path, ("self",)))
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

    # -- identity, classes ---------------------------------------------------------------------------------------------

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

    # -- the environment -----------------------------------------------------------------------------------------------

    def environment(self, name: str) -> str | None:
        """Return an environment variable as it stands in ``os.environ``, or None; either answer is recorded."""
        data = read_root(("environ",), self.roots)
        self._place(data, ENVIRON_ROOT)
        found = self.step(data, environment_path(name)[-1])
        return None if found is ABSENT else str(os.environ.decodevalue(found))

    def libdevice(self) -> None:
        """Record which device library of CUDA this machine has, or that it has none: the code will hold parts of it."""
        self._recorded(LIBDEVICE_ROOT, read_root(LIBDEVICE_ROOT[0], self.roots))

    # -- snapshots -----------------------------------------------------------------------------------------------------

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

    def freed(self, value: Any) -> Any:
        """Note that ``value`` is a part of a snapshot: what is read of it needs no guard.  Returns it."""
        if type(value) not in _ATOMS:
            self._snapshots[id(value)] = value
        return value

    def is_free(self, value: object) -> bool:
        """Return whether ``value`` is a part of a snapshot."""
        return self._snapshots.get(id(value), self) is value

    # -- the end -------------------------------------------------------------------------------------------------------

    def finish(self) -> CaptureRecord:
        """Return what has been recorded so far."""
        return CaptureRecord(tuple(self._entries.items()), read_aliases(self._entries, self._aliases))


def _race(path: Path) -> CaptureRaceError:
    return CaptureRaceError(f"{describe(path)} changed while the code that reads it was being compiled; call again")
