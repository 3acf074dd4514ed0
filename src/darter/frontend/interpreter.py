"""Statements: the body of a launcher, a kernel or a helper, in order, with exits known at run time guarded."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator
from typing import Any

from darter.errors import KernelTypeError, UnsupportedSyntaxError
from darter.frontend import access
from darter.frontend.calls import functions as calls
from darter.frontend.expressions import apply_binary, evaluate
from darter.frontend.flow.branches import branch, guarded, pending_flags
from darter.frontend.flow.loops import range_loop, while_loop
from darter.frontend.flow.merging import Dead
from darter.frontend.flow.raising import assert_statement, raise_statement
from darter.frontend.flow.unrolling import unrolled
from darter.frontend.frame import RESULT, RETURNED
from darter.frontend.names import bind, unpacked
from darter.frontend.numbers.comparisons import truth
from darter.frontend.numbers.operators import BINARY
from darter.frontend.static_python import iterate
from darter.frontend.tracer import Tracer
from darter.frontend.values import KernelCall, RuntimeRange, kind_of
from darter.ir.nodes import Value

Statements = tuple[ast.stmt, ...]


def execute(t: Tracer, body: Statements) -> Dead:
    """Interpret statements in order; return how they ended (see :data:`~darter.frontend.flow.branches.Dead`)."""
    for position, statement in enumerate(body):
        t.at = statement
        executor = _EXECUTORS.get(type(statement))
        if executor is None:
            _refuse(t, statement)
        dead = executor(t, statement)  # type: ignore[misc]
        if dead:
            return dead
        if position + 1 < len(body) and isinstance(statement, _MAY_EXIT):
            flags = pending_flags(t)
            if flags:
                t.at = statement
                rest = body[position + 1 :]
                return guarded(t, flags, functools.partial(execute, t, rest), _exit_of(statement))
    return None


_MAY_EXIT = (ast.If, ast.For, ast.While)


def _exit_of(statement: ast.stmt) -> str:
    """Return which early exit in ``statement`` makes what follows conditional."""
    for node in ast.walk(statement):
        if isinstance(node, (ast.Return, ast.Break, ast.Continue)):
            return f"{type(node).__name__.lower()} at line {node.lineno}"
    return f"exit at line {statement.lineno}"


def _refuse(t: Tracer, statement: ast.stmt) -> None:
    word, advice = _REFUSED.get(type(statement), (type(statement).__name__, ""))
    t.fail(UnsupportedSyntaxError, f"{word} is not in the language", advice=advice)


_REFUSED = {
    ast.With: ("with", ""),
    ast.AsyncWith: ("async with", ""),
    ast.AsyncFor: ("async for", ""),
    ast.AsyncFunctionDef: ("async def", ""),
    ast.Try: ("try", "nothing raises on a device; check with if"),
    ast.ClassDef: ("class", "define it outside of the kernel"),
    ast.Global: ("global", "pass the value in, return the new one"),
    ast.Nonlocal: ("nonlocal", "return the new value"),
    ast.Import: ("import", "import at the top of the module"),
    ast.ImportFrom: ("import", "import at the top of the module"),
    ast.Delete: ("del", ""),
    ast.Match: ("match", "use if and elif"),
}


def _expression(t: Tracer, node: ast.Expr) -> Dead:
    value = evaluate(t, node.value)
    if isinstance(value, KernelCall):
        t.at = node
        t.fail(
            KernelTypeError,
            f"kernel '{value.kernel.__wrapped__.__name__}' is called and not launched",
            advice="add .launch(grid=..., block=...)",
        )
    return None


def _assign(t: Tracer, node: ast.Assign) -> Dead:
    value = evaluate(t, node.value)
    for target in node.targets:
        assign(t, target, value)
    return None


def assign(t: Tracer, target: ast.expr, value: Any) -> None:
    """Assign to a name, an item, or a tuple of them."""
    if isinstance(target, ast.Name):
        bind(t, target, value)
    elif isinstance(target, ast.Subscript):
        container = evaluate(t, target.value)
        index = evaluate(t, target.slice)
        t.at = target
        access.write_item(t, container, index, value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        t.at = target
        for part, item in unpacked(t, target, iterate(t, value)):
            assign(t, part, item)
    else:
        t.at = target
        t.fail(
            UnsupportedSyntaxError,
            "attributes cannot be assigned",
            advice="make a new struct, or keep the value in a variable",
        )


def _annotated_assign(t: Tracer, node: ast.AnnAssign) -> Dead:
    if node.value is not None:
        assign(t, node.target, evaluate(t, node.value))
    return None


def _augmented_assign(t: Tracer, node: ast.AugAssign) -> Dead:
    symbol, native = BINARY[type(node.op)]
    target = node.target
    if isinstance(target, ast.Name):
        old = evaluate(t, target)
        value = evaluate(t, node.value)
        t.at = node
        bind(t, target, apply_binary(t, symbol, native, old, value))
    elif isinstance(target, ast.Subscript):
        container, index = evaluate(t, target.value), evaluate(t, target.slice)
        t.at = target
        old = access.read_item(t, container, index)
        value = evaluate(t, node.value)
        t.at = node
        access.write_item(t, container, index, apply_binary(t, symbol, native, old, value))
    else:
        assign(t, target, None)
    return None


def _if(t: Tracer, node: ast.If) -> Dead:
    known = truth(t, evaluate(t, node.test))
    if not isinstance(known, Value):
        return execute(t, tuple(node.body if known else node.orelse))
    t.at = node
    _, dead = branch(
        t,
        known,
        lambda: (None, execute(t, tuple(node.body))),
        lambda: (None, execute(t, tuple(node.orelse))),
    )
    return dead


def _return(t: Tracer, node: ast.Return) -> Dead:
    value = None if node.value is None else evaluate(t, node.value)
    t.at = node
    if t.depth == 0 and value is not None:
        t.fail(
            KernelTypeError,
            f"{t.where} returns nothing",
            found=kind_of(value),
            accepted="return, without a value",
            advice="write results into a tensor that the caller passes",
        )
    locals_ = t.frame.locals
    locals_[RETURNED] = True
    locals_[RESULT] = value
    return "return"


def _break(t: Tracer, node: ast.Break) -> Dead:
    t.frame.locals[t.frame.loops[-1].broken] = True
    return "loop"


def _continue(t: Tracer, node: ast.Continue) -> Dead:
    t.frame.locals[t.frame.loops[-1].continued] = True
    return "loop"


def _pass(t: Tracer, node: ast.Pass) -> Dead:
    return None


def _function(t: Tracer, node: ast.FunctionDef) -> Dead:
    if node.decorator_list:
        t.at = node.decorator_list[0]
        t.fail(UnsupportedSyntaxError, "a function made in kernel code takes no decorators")
    t.frame.locals[node.name] = calls.local_function(t, node, node.name)
    return None


def _for(t: Tracer, node: ast.For) -> Dead:
    if node.orelse:
        t.at = node.orelse[0]
        t.fail(UnsupportedSyntaxError, "for … else is not in the language", advice="set a flag before break")
    iterable = evaluate(t, node.iter)
    t.at = node
    run = lambda body: execute(t, body)  # noqa: E731
    bounds = _range_bounds(t, node, iterable)
    if bounds is not None and not t.host:
        range_loop(t, node, bounds, run)
        return None
    if isinstance(iterable, RuntimeRange):
        t.fail(
            UnsupportedSyntaxError,
            "a launcher has no run-time loops",
            accepted="loops over compile-time ranges and tuples, which unroll",
            advice="loop in the kernel",
        )
    t.at = node.iter
    items = iterate(t, iterable)
    return unrolled(t, node, (_binder(t, node, item) for item in items), run)


def _range_bounds(t: Tracer, node: ast.For, iterable: Any) -> tuple[Any, Any, Any] | None:
    """Return the bounds of a run-time loop: what iterates over ``range(...)`` itself, not over a static_range."""
    if isinstance(iterable, RuntimeRange):
        return iterable.bounds
    if type(iterable) is not range or not isinstance(node.iter, ast.Call):
        return None
    function = node.iter.func
    if evaluate(t, function) is not range:
        return None
    t.at = node
    return iterable.start, iterable.stop, iterable.step


def _binder(t: Tracer, node: ast.For, item: Any) -> Callable[[], None]:
    return lambda: assign(t, node.target, item)


def _while(t: Tracer, node: ast.While) -> Dead:
    if node.orelse:
        t.at = node.orelse[0]
        t.fail(UnsupportedSyntaxError, "while … else is not in the language", advice="set a flag before break")
    run = lambda body: execute(t, body)  # noqa: E731
    test = lambda: evaluate(t, node.test)  # noqa: E731
    if any(isinstance(inner, ast.NamedExpr) for inner in ast.walk(node.test)):
        t.fail(UnsupportedSyntaxError, "':=' in the condition of a loop is not in the language")
    if isinstance(node.test, ast.Constant) and node.test.value and not t.host:
        while_loop(t, node, test, run)
        return None

    def steps() -> Iterator[Callable[[], None]]:
        # While the condition is static the loop unrolls; once it is known at run time only, it is a run-time loop.
        while True:
            known = truth(t, evaluate(t, node.test))
            t.at = node
            if isinstance(known, Value):
                while_loop(t, node, test, run)
                return
            if not known:
                return
            yield lambda: None

    return unrolled(t, node, steps(), run)


_EXECUTORS: dict[type, Callable[[Tracer, Any], Dead]] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated_assign,
    ast.AugAssign: _augmented_assign,
    ast.If: _if,
    ast.For: _for,
    ast.While: _while,
    ast.Return: _return,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Pass: _pass,
    ast.FunctionDef: _function,
    ast.Raise: raise_statement,
    ast.Assert: assert_statement,
}
