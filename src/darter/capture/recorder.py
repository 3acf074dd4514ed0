"""The recorder: every read of a Python value that the front end makes goes through it, and is recorded.

Reads follow Python's own rules (closure, globals, builtins; the MRO; instance before class), including the places
where a name was *not* found.  A value that cannot be guarded is refused, never passed on unrecorded.
"""

from __future__ import annotations

import types
from collections.abc import Set as AbstractSet
from typing import Any

from darter.capture import attributes, containers, contents
from darter.capture.attributes import Getter
from darter.capture.fingerprint import ABSENT
from darter.capture.reads import Reads
from darter.errors import CaptureRefusedError

__all__ = ["Getter", "Recorder"]


class Recorder(Reads):
    """Records the reads of one compile.

    ``function`` is the launcher's Python function, ``owner_class`` the class it is bound through, ``arguments`` the
    classes of struct, self and other object arguments by parameter name (what is read from them beyond their key words
    is captured).

    A container that the recorder has not handed out itself (a list that static code has made, a value that stands in
    the key) is read without a record: it cannot drift.
    """

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

    # -- what objects hold ---------------------------------------------------------------------------------------------

    def attribute(self, obj: Any, name: str) -> Any:
        """Return ``obj.name`` for a module, class, instance, enum member, NamedTuple, partial or bound method.

        A method comes back as ``types.MethodType`` over its Python function, a property as :class:`Getter` over its
        getter: both for the front end to interpret.  Raises ``AttributeError`` where the attribute is not there
        (recorded), and ``CaptureRefusedError`` for descriptors, ``__getattr__`` and more than 64 attributes of one
        instance.
        """
        return attributes.attribute(self, obj, name)

    def item(self, container: Any, key: Any) -> Any:
        """Return ``container[key]``; raises ``KeyError``, ``IndexError`` or ``TypeError`` as Python does (recorded)."""
        return containers.item(self, container, key)

    def contains(self, container: Any, key: Any) -> bool:
        """Return ``key in container`` for a dict (by key, no bound) or an immutable container; recorded."""
        return containers.contains(self, container, key)

    def items(self, container: Any) -> tuple[Any, ...]:
        """Return what iteration gives, in an order that no hash seed changes; up to 1024 elements are guarded."""
        return containers.items(self, container)

    def entries(self, container: dict[Any, Any]) -> tuple[tuple[Any, Any], ...]:
        """Return a dict's ``(key, value)`` pairs in order; the same bound as :meth:`items`."""
        return containers.entries(self, container)

    def length(self, container: Any) -> int:
        """Return ``len(container)``; recorded for a captured list or dict."""
        return containers.length(self, container)

    def content(self, value: Any, special: AbstractSet[str]) -> Any:
        """Return a value for an operation that reads all of it; see ``contents.content``."""
        return contents.content(self, value, special)
