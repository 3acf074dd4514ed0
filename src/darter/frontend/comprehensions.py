"""Comprehensions: loops at compile time, in a scope of their own."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from darter.errors import KernelTypeError
from darter.frontend.frame import Frame
from darter.frontend.names import bind
from darter.frontend.numbers.comparisons import truth
from darter.frontend.static_python import iterate, key_of
from darter.frontend.tracer import Tracer
from darter.frontend.values import KernelDict
from darter.ir.nodes import Value


def sequence(t: Tracer, node: ast.ListComp | ast.GeneratorExp) -> Any:
    """Return the list of a list comprehension or generator expression."""
    items: list[Any] = []
    _generate(t, node, lambda: items.append(t.evaluate(node.elt)))
    return t.new_list(items)


def dictionary(t: Tracer, node: ast.DictComp) -> Any:
    """Return the dict of a dict comprehension."""
    result = KernelDict()
    result.serial = t.next_serial()

    def add() -> None:
        result[key_of(t, t.evaluate(node.key))] = t.evaluate(node.value)

    _generate(t, node, add)
    return result


def _generate(t: Tracer, node: Any, add: Callable[[], None]) -> None:
    """Run a comprehension's loops in a scope of its own."""
    outer = t.frame
    names = frozenset(name.id for g in node.generators for name in ast.walk(g.target) if isinstance(name, ast.Name))
    frame = Frame(outer.function, outer.source, node, outer.index, names, outer, outer.caller)
    first = t.evaluate(node.generators[0].iter)
    t.frame = frame
    try:
        _generators(t, node, 0, first, add)
    finally:
        t.frame = outer


def _generators(t: Tracer, node: Any, depth: int, iterable: Any, add: Callable[[], None]) -> None:
    generator = node.generators[depth]
    t.at = generator.iter
    for item in iterate(t, iterable):
        bind(t, generator.target, item)
        if not all(_static_condition(t, condition) for condition in generator.ifs):
            continue
        if depth + 1 < len(node.generators):
            _generators(t, node, depth + 1, t.evaluate(node.generators[depth + 1].iter), add)
        else:
            add()


def _static_condition(t: Tracer, node: ast.expr) -> bool:
    known = truth(t, t.evaluate(node))
    if isinstance(known, Value):
        t.at = node
        t.fail(KernelTypeError, "a condition in a comprehension must be static", found="a run-time value")
    return known
