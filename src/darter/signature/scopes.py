"""Evaluates annotations written as strings, in the scope of the function or class that they stand in."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Mapping
from typing import Any, ForwardRef

Scope = Mapping[str, Any]


def function_scope(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the names that annotations of ``function`` may use: builtins, then globals, then closure cells."""
    scope = dict(vars(builtins))
    scope.update(getattr(function, "__globals__", {}))
    code = getattr(function, "__code__", None)
    cells = getattr(function, "__closure__", None) or ()
    for name, cell in zip(code.co_freevars if code is not None else (), cells, strict=True):
        try:
            scope[name] = cell.cell_contents
        except ValueError:  # the cell is still empty
            continue
    return scope


def class_scope(cls: type) -> dict[str, Any]:
    """Return the names that annotations of ``cls`` may use: builtins, then its module's globals, then its own names."""
    scope = dict(vars(builtins))
    module = sys.modules.get(cls.__module__)
    if module is not None:
        scope.update(vars(module))
    scope.update(vars(cls))
    scope.setdefault(cls.__name__, cls)
    return scope


def evaluate(annotation: Any, scope: Scope) -> Any:
    """Return the value of ``annotation``, evaluated in ``scope`` where it is a string or a ``ForwardRef``.

    Raises whatever the evaluation raises; callers turn that into a ``SignatureError`` that names the parameter.
    """
    while isinstance(annotation, (str, ForwardRef)):
        text = annotation if isinstance(annotation, str) else annotation.__forward_arg__
        annotation = eval(text, dict(scope))
    return annotation
