"""Modules made from text, for launchers whose source varies with what is measured."""

from __future__ import annotations

import linecache
import sys
import types


def generated_module(name: str, text: str) -> types.ModuleType:
    """Return the module ``name`` with this text; the source of its functions is found as if it stood in a file."""
    file = f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile(text, file, "exec"), vars(module))  # noqa: S102 - the benchmark's own text
    return module


def forget(module: types.ModuleType) -> None:
    """Let go of a generated module and its text."""
    del sys.modules[module.__name__], linecache.cache[f"<{module.__name__}>"]
