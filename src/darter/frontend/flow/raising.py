"""``raise`` and ``assert``: run when a launcher is called; in a kernel, for compile time only."""

from __future__ import annotations

import ast
import builtins
from typing import Any

from darter import errors
from darter.errors import KernelTypeError, KernelValueError, StaticEvaluationError, UnsupportedSyntaxError
from darter.frontend.flow.branches import branch
from darter.frontend.flow.merging import Dead
from darter.frontend.numbers.comparisons import truth
from darter.frontend.tracer import Tracer
from darter.frontend.values import FormattedText, is_runtime, kind_of
from darter.ir.nodes import Raise, Value


def raise_statement(t: Tracer, node: ast.Raise) -> Dead:
    """Emit a launcher's ``raise``; in a kernel, end the compile with it."""
    if node.exc is None:
        t.fail(UnsupportedSyntaxError, "a bare raise has nothing to raise again")
    call = node.exc
    cls = t.evaluate(call.func if isinstance(call, ast.Call) else call)
    arguments = [t.evaluate(argument) for argument in call.args] if isinstance(call, ast.Call) else []
    t.at = node
    name = _exception_name(t, cls)
    message = _message(t, arguments)
    _raise(t, name, message)
    return "return"


def _raise(t: Tracer, name: str, message: FormattedText) -> None:
    if t.host:
        t.emit(Raise(name, message.pieces, tuple(operand.value for operand in message.operands)))
        return
    if len(t.regions) > 1 or message.operands:
        t.fail(
            UnsupportedSyntaxError,
            "a kernel cannot raise under a run-time condition",
            advice="use dt.assert_(condition, message)",
        )
    t.fail(StaticEvaluationError, f"{name}: {message.pieces[0]}")


def _exception_name(t: Tracer, cls: Any) -> str:
    if not isinstance(cls, type) or not issubclass(cls, Exception):
        t.fail(
            KernelTypeError, "raise takes an exception", found=kind_of(cls), accepted="ValueError(...), TypeError(...)"
        )
    name = str(cls.__name__)
    if getattr(builtins, name, None) is cls or getattr(errors, name, None) is cls:
        return name
    raise t.error(
        KernelTypeError,
        f"{name} cannot be raised by compiled code",
        accepted="Python's own exceptions and those of darter.errors",
    )


def _message(t: Tracer, arguments: list[Any]) -> FormattedText:
    if not arguments:
        return FormattedText(("",), ())
    if len(arguments) > 1:
        t.fail(KernelTypeError, "an exception takes one message here", found=f"{len(arguments)} arguments")
    (text,) = arguments
    if isinstance(text, FormattedText):
        return text
    if is_runtime(text):
        t.fail(KernelTypeError, "the message is a text", found=kind_of(text), advice='write f"... {value}"')
    return FormattedText((str(text),), ())


def assert_statement(t: Tracer, node: ast.Assert) -> Dead:
    """Check a static condition now; a launcher's run-time condition when it is called."""
    known = truth(t, t.evaluate(node.test))
    t.at = node
    if known is True:
        return None
    if isinstance(known, Value) and not t.host:
        t.fail(UnsupportedSyntaxError, "assert of a run-time value", advice="use dt.assert_(condition, message)")
    message = FormattedText(("",), ()) if node.msg is None else _message(t, [t.evaluate(node.msg)])
    t.at = node
    if not isinstance(known, Value):
        if not t.host:
            t.fail(KernelValueError, f"assertion failed at compile time: {message.pieces[0]}")
        _raise(t, "AssertionError", message)
        return "return"

    def failing() -> tuple[None, Dead]:
        _raise(t, "AssertionError", message)
        return None, "return"

    branch(t, known, lambda: (None, None), failing)
    return None
