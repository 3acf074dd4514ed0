"""Loops at compile time: the body traced once per step."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from darter.errors import KernelValueError
from darter.frontend.flow.branches import guarded
from darter.frontend.flow.merging import Dead
from darter.frontend.frame import RETURNED, LoopFlags
from darter.frontend.tracer import Tracer
from darter.frontend.values import DeviceValue

MAX_UNROLLED = 16384


def unrolled(
    t: Tracer,
    node: ast.For | ast.While,
    steps: Iterator[Callable[[], None]],
    run: Callable[[tuple[ast.stmt, ...]], Dead],
) -> Dead:
    """Trace a loop's body once per step; a step binds the target.  Exits known at run time guard what follows."""
    frame = t.frame
    flags = LoopFlags(len(frame.loops))
    body = tuple(node.body)
    count = 0

    def iterate() -> Dead:
        nonlocal count
        for bind in steps:
            count += 1
            if count > MAX_UNROLLED:
                t.at = node
                t.fail(
                    KernelValueError, f"this loop unrolls to more than {MAX_UNROLLED} iterations", advice="use range"
                )
            t.at = node
            bind()
            frame.locals[flags.continued] = False
            frame.loops.append(flags)
            dead = run(body)
            frame.loops.pop()
            frame.locals.pop(flags.continued, None)
            if dead == "return" or frame.locals.get(flags.broken) is True:
                return dead if dead == "return" else None
            left = [name for name in (flags.broken, RETURNED) if isinstance(frame.locals.get(name), DeviceValue)]
            if left:
                t.at = node
                guarded(t, left, iterate, f"a loop that is left early at line {node.lineno}")
                return None
        return None

    frame.locals[flags.broken] = False
    dead = iterate()
    frame.locals.pop(flags.broken, None)
    return dead
