"""Drift told in words: which name, where it is read, what it was and what it is now."""

from __future__ import annotations

import dis
import os
import struct
import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from darter.capture.fingerprint import ABSENT
from darter.capture.path import ENVIRON_ROOT, Path, describe
from darter.capture.resolve import Mismatch

_SHOWN_CHARACTERS: Final = 80
_SCOPE_STEPS: Final = frozenset({"cell", "name"})


@dataclass(frozen=True, slots=True)
class Drift:
    """One captured value that changed.

    ``name`` tells which (``global 'cfg.BLOCK'``), ``where`` the place that reads it (``model.py:12``, empty if there
    is none), ``old`` and ``new`` the values as text.  ``is_environment`` tells environment variables apart: those that
    steer code generation are a part of the key, and their change is no drift to complain about.
    """

    name: str
    where: str
    old: str
    new: str
    is_environment: bool = False

    def __str__(self) -> str:
        place = f" in {self.where}" if self.where else ""
        return f"{self.name}{place}: {self.old} -> {self.new}"


def drift(mismatch: Mismatch, values: Mapping[Path, object], before: Mapping[Path, object]) -> Drift:
    """Return a mismatch in words; from what paths lead to now and led to ``before``."""
    path = mismatch.path
    old_value = before.get(path, mismatch.recorded)
    if path[-1][0] == "code":
        old, new = _code_pair(before.get(path), mismatch.value)
    else:
        old = show_fingerprint(old_value) if isinstance(old_value, bytes) and path not in before else show(old_value)
        new = show(mismatch.value)
    if path[0] == ENVIRON_ROOT[0]:
        old, new = old.removeprefix("b"), new.removeprefix("b")
    if old == new:
        old, new = f"{old} (before)", f"{new} (another one)"
    return Drift(describe(path), _where(path, values), old, new, is_environment=path[0] == ENVIRON_ROOT[0])


def show(value: object) -> str:
    """Return a captured value as short text, without an address."""
    if value is ABSENT:
        return "not there"
    if isinstance(value, types.FunctionType):
        return f"function {value.__qualname__} ({_place(value, value.__code__.co_firstlineno)})"
    if isinstance(value, (types.ModuleType, type)):
        return f"{'module' if isinstance(value, types.ModuleType) else 'class'} {value.__name__}"
    if isinstance(value, (dict, list, set, bytearray)):
        return f"a {type(value).__name__} of {len(value)}"
    if type(value).__repr__ is object.__repr__:
        return f"a {type(value).__qualname__}"
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"


def show_fingerprint(found: bytes) -> str:
    """Return what a fingerprint tells of its value: a number or a string itself, else the kind."""
    tag, _, rest = found.partition(b":")
    if found == b"absent":
        return "not there"
    if found == b"none":
        return "None"
    if tag == b"int":
        return rest.decode()
    if tag == b"bool":
        return str(rest == b"1")
    if tag == b"str":
        return repr(rest.decode("utf-8", "replace"))
    if tag == b"float" and len(rest) == 8:
        return repr(struct.unpack("<d", rest)[0])
    kind = found.partition(b"(")[0]
    return f"a recorded {kind.decode('ascii', 'replace')}" if kind.isalpha() else "another recorded value"


def _code_pair(old: object, new: object) -> tuple[str, str]:
    if not isinstance(new, types.FunctionType):
        return "as compiled", show(new)
    return "as compiled", f"changed ({_place(new, new.__code__.co_firstlineno)})"


def _where(path: Path, values: Mapping[Path, object]) -> str:
    """Return file and line of the first read of the name in the innermost function on the path."""
    for length in range(len(path) - 1, 0, -1):
        reader = values.get(path[:length])
        if isinstance(reader, types.FunctionType):
            step = path[length]
            name = str(step[-1]) if step[0] in _SCOPE_STEPS else None
            return _place(reader, _line_of(reader.__code__, name))
    return ""


def _line_of(code: types.CodeType, name: str | None) -> int:
    if name is not None:
        for instruction in dis.get_instructions(code):
            if instruction.argval == name and instruction.opname.startswith("LOAD_") and instruction.positions:
                return instruction.positions.lineno or code.co_firstlineno
    return code.co_firstlineno


def _place(function: types.FunctionType, line: int) -> str:
    return f"{os.path.basename(function.__code__.co_filename)}:{line}"
