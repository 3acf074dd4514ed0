"""Expressions: each syntax node's value, static where its operands are."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from darter.capture.static import static
from darter.capture.structure import TEXT
from darter.dtypes import Bool
from darter.errors import KernelNameError, KernelTypeError, UnsupportedSyntaxError
from darter.frontend import access, attributes, comprehensions
from darter.frontend.calls import functions as calls
from darter.frontend.diagnostics import nearest
from darter.frontend.flow.branches import branch
from darter.frontend.frame import Frame
from darter.frontend.names import resolve
from darter.frontend.numbers.comparisons import COMPARE, compare, negate, truth
from darter.frontend.numbers.operators import BINARY, binary, unary
from darter.frontend.numbers.promotion import is_number, strong
from darter.frontend.numbers.static_operators import refuse_foreign_type, run_native, settled
from darter.frontend.static_python import contains, iterate, key_of
from darter.frontend.tracer import Tracer
from darter.frontend.values import (
    DeviceValue,
    FormattedText,
    KernelDict,
    Unbound,
    is_runtime,
    kind_of,
)
from darter.ir.nodes import Value

Evaluator = Callable[[Tracer, Any], Any]


def evaluate(t: Tracer, node: ast.expr) -> Any:
    """Return the value of an expression."""
    evaluator = _EVALUATORS.get(type(node))
    t.at = node
    if evaluator is None:
        t.fail(UnsupportedSyntaxError, f"{_name_of(node)} is not in the language", advice=_ADVICE.get(type(node), ""))
    return evaluator(t, node)


def _name_of(node: ast.AST) -> str:
    return _WORDS.get(type(node), type(node).__name__)


_WORDS = {
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield from",
    ast.SetComp: "a set comprehension",
    ast.Set: "a set",
}
_ADVICE = {ast.Set: "use a tuple", ast.SetComp: "use a tuple"}


def _constant(t: Tracer, node: ast.Constant) -> Any:
    return node.value


def _name(t: Tracer, node: ast.Name) -> Any:
    name = node.id
    frame: Frame | None = t.frame
    while frame is not None:
        if name in frame.local_names:
            value = frame.locals.get(name, frame)
            if value is frame:
                t.fail(KernelNameError, f"'{name}' is used before it is assigned", advice=nearest(name, frame.locals))
            if isinstance(value, Unbound):
                if value.error is not None:
                    raise value.error
                line = f" (line {value.node.lineno})" if value.node is not None else ""  # type: ignore[attr-defined]
                t.fail(
                    KernelNameError,
                    f"'{name}' cannot be used here: it {value.reason}{line}",
                    advice="assign it before the condition or loop, with the type that it has there",
                )
            return value
        if frame.outer is None:
            return resolve(t, frame, name)
        frame = frame.outer
    raise AssertionError


def _binary(t: Tracer, node: ast.BinOp) -> Any:
    a = evaluate(t, node.left)
    b = evaluate(t, node.right)
    t.at = node
    symbol, native = BINARY[type(node.op)]
    return apply_binary(t, symbol, native, a, b)


def apply_binary(t: Tracer, symbol: str, native: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """Return ``a symbol b``; lists made in kernel code stay such lists."""
    result = binary(t, symbol, native, a, b)
    return t.new_list(result) if type(result) is list else result


def _unary(t: Tracer, node: ast.UnaryOp) -> Any:
    value = evaluate(t, node.operand)
    t.at = node
    if isinstance(node.op, ast.Not):
        known = truth(t, value)
        return DeviceValue(negate(t, known)) if isinstance(known, Value) else not known
    symbol = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}[type(node.op)]
    return unary(t, symbol, value)


def _bool_op(t: Tracer, node: ast.BoolOp) -> Any:
    return _lazily(t, node, isinstance(node.op, ast.And), 0)


def _lazily(t: Tracer, node: ast.BoolOp, is_and: bool, index: int) -> Any:
    """Return operand ``index`` and those after it; memory accesses of operands that do not count are masked."""
    value = evaluate(t, node.values[index])
    t.at = node
    if index == len(node.values) - 1:
        return value
    known = truth(t, value)
    if not isinstance(known, Value):
        return _lazily(t, node, is_and, index + 1) if known == is_and else value
    # A Bool that decides is a constant on its side.
    decided: Any = (not is_and) if isinstance(value, DeviceValue) and value.dtype is Bool else value
    rest = lambda: (_as_truth(t, _lazily(t, node, is_and, index + 1), value), None)  # noqa: E731
    here = lambda: (decided, None)  # noqa: E731
    outcome, _ = branch(t, known, rest if is_and else here, here if is_and else rest)
    return outcome


def _as_truth(t: Tracer, value: Any, first: Any) -> Any:
    """Return an operand as Bool where the first one is Bool, so that ``flag and n`` has one type."""
    if isinstance(first, DeviceValue) and first.dtype is Bool and is_number(value):
        known = truth(t, value)
        return DeviceValue(known) if isinstance(known, Value) else known
    return value


def _if_expression(t: Tracer, node: ast.IfExp) -> Any:
    known = truth(t, evaluate(t, node.test))
    if not isinstance(known, Value):
        return evaluate(t, node.body if known else node.orelse)
    t.at = node
    outcome, _ = branch(t, known, lambda: (evaluate(t, node.body), None), lambda: (evaluate(t, node.orelse), None))
    return outcome


def _compare(t: Tracer, node: ast.Compare) -> Any:
    return _chain(t, node, evaluate(t, node.left), 0)


def _chain(t: Tracer, node: ast.Compare, left: Any, index: int) -> Any:
    right = evaluate(t, node.comparators[index])
    t.at = node
    result = _one_comparison(t, node.ops[index], left, right)
    if index == len(node.ops) - 1:
        return result
    known = truth(t, result)
    if not isinstance(known, Value):
        return _chain(t, node, right, index + 1) if known else result
    outcome, _ = branch(t, known, lambda: (_chain(t, node, right, index + 1), None), lambda: (False, None))
    return outcome


def _one_comparison(t: Tracer, op: ast.cmpop, a: Any, b: Any) -> Any:
    row = COMPARE.get(type(op))
    if row is not None:
        return compare(t, row[0], row[1], a, b)
    if isinstance(op, (ast.Is, ast.IsNot)):
        if isinstance(a, DeviceValue) and isinstance(b, (DeviceValue, bool, int, float)):
            t.fail(KernelTypeError, "'is' does not compare run-time values", advice="use ==")
        refuse_foreign_type(t, a, b)
        return bool(t.recorded(lambda: t.recorder.same(a, b))) == isinstance(op, ast.Is)
    found = contains(t, b, a) if not is_runtime(a) and not is_runtime(b) else _equals_one(t, a, b)
    if isinstance(found, Value):
        return DeviceValue(found if isinstance(op, ast.In) else negate(t, found))
    return found == isinstance(op, ast.In)


def _equals_one(t: Tracer, value: Any, container: Any) -> bool | Value:
    """Return whether a number equals an item of a container, one of them known at run time only."""
    if not is_number(value) or not isinstance(container, (tuple, list, range)):
        t.fail(
            KernelTypeError,
            "'in' compares a run-time number with the items of a tuple, list or range",
            found=f"{kind_of(value)} in {kind_of(container)}",
        )
    found: Any = False
    for item in iterate(t, container):
        found = binary(t, "|", operator.or_, found, compare(t, "==", operator.eq, value, item))
    return truth(t, found)


def _attribute(t: Tracer, node: ast.Attribute) -> Any:
    value = evaluate(t, node.value)
    t.at = node
    return attributes.read(t, value, node.attr)


def _subscript(t: Tracer, node: ast.Subscript) -> Any:
    value = evaluate(t, node.value)
    index = evaluate(t, node.slice)
    t.at = node
    return access.read_item(t, value, index)


def _slice(t: Tracer, node: ast.Slice) -> Any:
    parts = [None if part is None else evaluate(t, part) for part in (node.lower, node.upper, node.step)]
    t.at = node
    if any(map(is_runtime, parts)):
        t.fail(KernelTypeError, "slices take static numbers", found="a run-time value")
    return slice(*parts)


def _items(t: Tracer, nodes: list[ast.expr]) -> list[Any]:
    items: list[Any] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            value = evaluate(t, node.value)
            t.at = node
            items.extend(iterate(t, value))
        else:
            items.append(evaluate(t, node))
    return items


def _tuple(t: Tracer, node: ast.Tuple) -> Any:
    return tuple(_items(t, node.elts))


def _list(t: Tracer, node: ast.List) -> Any:
    return t.new_list(_items(t, node.elts))


def _dict(t: Tracer, node: ast.Dict) -> Any:
    result = KernelDict()
    result.serial = t.next_serial()
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            inner = evaluate(t, value)
            t.at = node
            for name in iterate(t, inner):
                result[name] = access.read_item(t, inner, name)
        else:
            result[key_of(t, evaluate(t, key))] = evaluate(t, value)
    return result


def _call(t: Tracer, node: ast.Call) -> Any:
    function = evaluate(t, node.func)
    if function is static:
        return _snapshot(t, node)
    arguments = _items(t, node.args)
    keywords: dict[str, Any] = {}
    for keyword in node.keywords:
        value = evaluate(t, keyword.value)
        if keyword.arg is not None:
            keywords[keyword.arg] = value
            continue
        t.at = node
        for name in iterate(t, value):
            keywords[name] = access.read_item(t, value, name)
    t.at = node
    return calls.call(t, function, arguments, keywords, node)


def _snapshot(t: Tracer, node: ast.Call) -> Any:
    """``dt.static(obj)``: what is read inside is a snapshot, not guarded."""
    if len(node.args) != 1 or node.keywords:
        t.at = node
        t.fail(KernelTypeError, "dt.static takes one value")
    value = run_native(t, lambda: t.recorder.static(lambda: evaluate(t, node.args[0])), "dt.static(...)")
    t.at = node
    if is_runtime(value):
        t.fail(KernelTypeError, "dt.static takes a value known at compile time", found=kind_of(value))
    return value


def _lambda(t: Tracer, node: ast.Lambda) -> Any:
    return calls.local_function(t, node, "<lambda>")


def _formatted(t: Tracer, node: ast.JoinedStr) -> Any:
    pieces, operands = [""], []
    for part in node.values:
        if isinstance(part, ast.Constant):
            pieces[-1] += str(part.value)
            continue
        assert isinstance(part, ast.FormattedValue)
        value = strong(t, evaluate(t, part.value))
        t.at = node
        specification = evaluate(t, part.format_spec) if part.format_spec is not None else ""
        t.at = node
        if isinstance(value, DeviceValue):
            if specification or part.conversion != -1:
                t.fail(KernelTypeError, "a run-time value in an f-string takes no format", advice="write {value} alone")
            operands.append(value)
            pieces.append("")
        elif isinstance(value, FormattedText):
            pieces[-1] += value.pieces[0]
            pieces.extend(value.pieces[1:])
            operands.extend(value.operands)
        else:
            pieces[-1] += _format_static(t, value, part.conversion, specification)
    return FormattedText(tuple(pieces), tuple(operands)) if operands else pieces[0]


_CONVERSIONS: dict[int, Callable[[Any], str]] = {ord("r"): repr, ord("s"): str, ord("a"): ascii}


def _format_static(t: Tracer, value: Any, conversion: int, specification: str) -> str:
    if is_runtime(value) or not isinstance(value, (int, float, str, bytes, tuple, list, type, type(None))):
        t.fail(KernelTypeError, "this cannot be formatted", found=kind_of(value), accepted="numbers and strings")
    value = settled(t, value, TEXT)
    shown = _CONVERSIONS[conversion](value) if conversion in _CONVERSIONS else value
    return str(run_native(t, lambda: format(shown, specification), "the f-string"))


def _named(t: Tracer, node: ast.NamedExpr) -> Any:
    value = evaluate(t, node.value)
    t.at = node
    if isinstance(t.frame.node, tuple(_COMPREHENSIONS)):
        t.fail(UnsupportedSyntaxError, "':=' inside a comprehension is not in the language")
    t.frame.locals[node.target.id] = value
    return value


def _starred(t: Tracer, node: ast.Starred) -> Any:
    t.fail(UnsupportedSyntaxError, "a starred expression cannot stand here")


_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.DictComp)

_EVALUATORS: dict[type, Evaluator] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _bool_op,
    ast.IfExp: _if_expression,
    ast.Compare: _compare,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.Tuple: _tuple,
    ast.List: _list,
    ast.Dict: _dict,
    ast.Call: _call,
    ast.Lambda: _lambda,
    ast.JoinedStr: _formatted,
    ast.NamedExpr: _named,
    ast.ListComp: comprehensions.sequence,
    ast.GeneratorExp: comprehensions.sequence,
    ast.DictComp: comprehensions.dictionary,
    ast.Starred: _starred,
}
