"""Loops at run time, with the values that they carry from one iteration to the next.

What a run-time loop carries is found by tracing its body until the types that enter it are the types that leave it.
The body is first traced under the assumption that numbers keep the type they enter with; a Python number enters weak.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

from darter.dtypes import Bool, ScalarType
from darter.errors import KernelTypeError, UnsupportedSyntaxError
from darter.frontend.flow.branches import branch
from darter.frontend.flow.carried import (
    NotCarried,
    Plan,
    Round,
    carried_by,
    end_leaves,
    end_values,
    entry_values,
    joined,
)
from darter.frontend.flow.merging import Dead
from darter.frontend.flow.ranges import in_range, index_type
from darter.frontend.frame import RESULT, RETURNED, UNSET, LoopFlags, assigned_names, exits, mutated_names
from darter.frontend.numbers.comparisons import negate, truth
from darter.frontend.numbers.promotion import as_value, divisor_of
from darter.frontend.structure import make_leaf, rebuild
from darter.frontend.tracer import Tracer
from darter.frontend.values import DeviceValue, RegisterArray, Unbound
from darter.ir.nodes import Binary, BinaryOp, Block, For, Node, Value, While

_MAX_ROUNDS = 40


def range_loop(
    t: Tracer, node: ast.For, bounds: tuple[Any, Any, Any], run: Callable[[tuple[ast.stmt, ...]], Dead]
) -> None:
    """Trace ``for target in range(lower, upper, step)`` as a run-time loop."""
    lower, _, step = bounds
    dtype = index_type(t, bounds)
    values = tuple(as_value(t, bound, dtype) for bound in bounds)
    target = node.target
    if not isinstance(target, ast.Name):
        t.fail(
            UnsupportedSyntaxError, "the target of a run-time loop is one name", advice="use dt.static_range to unroll"
        )
    loop = _Loop(t, node, run)
    multiple = math.gcd(divisor_of(lower), divisor_of(step))
    loop.trace_for(dtype, values, step, target.id, multiple)


def while_loop(
    t: Tracer, node: ast.While, test: Callable[[], Any], run: Callable[[tuple[ast.stmt, ...]], Dead]
) -> None:
    """Trace ``while test`` as a run-time loop."""
    _Loop(t, node, run).trace_while(test)


class _Loop:
    """One run-time loop being traced."""

    def __init__(self, t: Tracer, node: ast.For | ast.While, run: Callable[[tuple[ast.stmt, ...]], Dead]) -> None:
        if t.host:
            t.fail(
                UnsupportedSyntaxError,
                "a launcher has no run-time loops",
                accepted="loops over compile-time ranges and tuples, which unroll",
                advice="loop in the kernel",
            )
        self.t = t
        self.node = node
        self.run = run
        self.body = tuple(node.body)
        self.breaks, self.returns = exits(self.body)
        self.target = node.target.id if isinstance(node, ast.For) and isinstance(node.target, ast.Name) else ""
        self.flags = LoopFlags(len(t.frame.loops))
        self.entry = dict(t.frame.locals)
        self.entry[self.flags.broken] = False
        self.end_locals: dict[str, Any] = {}
        self.tested = Block()

    # -- the two forms ------------------------------------------------------------------------------------------------

    def trace_for(self, dtype: ScalarType, bounds: tuple[Value, ...], step: Any, target: str, multiple: int) -> None:
        lower, upper, step_value = bounds

        def one_round(plan: Plan) -> Round:
            index = Value(dtype, target)
            return self._round(plan, (index,), lambda: {target: DeviceValue(index, multiple=multiple)})

        plan, found = self._fixed_point(one_round)
        if not plan.early:
            results = tuple(Value(leaf.type) for leaf in plan.types())
            found.side.block.arguments = found.arguments
            found.side.block.yields = tuple(end_values(self.t, plan, found))
            self.t.emit(For(results, lower, upper, step_value, tuple(entry_values(self.t, plan)), found.side.block))
            self._after(plan, results, found)
            return
        # The index is carried first; the loop ends when it reaches the bound or an exit was taken.
        index = found.arguments[0]
        following = Value(dtype, target)
        self._append(found.side.block, Binary(following, BinaryOp.ADD, index, step_value))
        found.side.block.arguments = found.arguments
        found.side.block.yields = (following, *end_values(self.t, plan, found))
        test = self._test(
            plan, (Value(dtype, target),), lambda first: in_range(self.t, first[0], upper, step, step_value)
        )
        results = tuple(Value(leaf.type) for leaf in plan.types())
        initial = (lower, *entry_values(self.t, plan))
        self.t.emit(While((Value(dtype, target), *results), initial, test, found.side.block))
        self._after(plan, results, found)

    def trace_while(self, test: Callable[[], Any]) -> None:
        def one_round(plan: Plan) -> Round:
            self.tested = self._test(plan, (), lambda _: truth(self.t, test()))
            return self._round(plan, (), dict)

        plan, found = self._fixed_point(one_round)
        results = tuple(Value(leaf.type) for leaf in plan.types())
        found.side.block.arguments = found.arguments
        found.side.block.yields = tuple(end_values(self.t, plan, found))
        self.t.emit(While(results, tuple(entry_values(self.t, plan)), self.tested, found.side.block))
        self._after(plan, results, found)

    # -- rounds -------------------------------------------------------------------------------------------------------

    def _fixed_point(self, one_round: Callable[[Plan], Round]) -> tuple[Plan, Round]:
        """Trace until what leaves the body has the types that entered it; the last trace has no weak types left."""
        plan = self._first_plan()
        for _ in range(_MAX_ROUNDS):
            adoptions = self.t.adoptions
            found = one_round(plan)
            following = self._next_plan(plan, found)
            if following is not None:
                plan = following
            elif self.t.adoptions != adoptions and any(leaf.weak for leaf in plan.types()):
                self._settle(plan)
            else:
                self._settle(plan)
                self.t.at = self.node
                return plan, found
            self.t.at = self.node
        raise self.t.error(
            KernelTypeError, "the types that this loop carries do not settle", advice="cast the values before the loop"
        )

    def _without(self, refused: NotCarried) -> Plan:
        """Return a new first plan that does not carry a name: reading it before it is assigned raises why."""
        if refused.name[0] == "%":
            raise refused.error
        self.t.at = self.node
        self.entry[refused.name] = Unbound("is not carried by this loop", self.node, refused.error)
        self.t.frame.locals = dict(self.entry)
        return self._first_plan()

    def _settle(self, plan: Plan) -> None:
        for carried in plan.names:
            for leaf in carried.types:
                leaf.weak = False

    def _first_plan(self) -> Plan:
        early = self.breaks or self.returns
        names = []
        bound = self.entry
        # The index is among them where its name is bound before: after the loop it is the last index, or what it was.
        candidates = sorted(assigned_names(self.body) | {self.target})
        flags = ([self.flags.broken] if self.breaks else []) + ([RETURNED, RESULT] if self.returns else [])
        for name in (*candidates, *flags):
            if name not in bound or isinstance(bound[name], Unbound):
                continue
            names.append(carried_by(self.t, self.node, name, bound[name]))
        arrays = [
            bound[name] for name in sorted(mutated_names(self.body)) if isinstance(bound.get(name), RegisterArray)
        ]
        return Plan(names, list(dict.fromkeys(arrays)), early)

    def _round(self, plan: Plan, first: tuple[Value, ...], bind: Callable[[], dict[str, Any]]) -> Round:
        t, frame = self.t, self.t.frame
        arguments = self._open(plan)
        try:
            frame.locals.update(bind())
            frame.locals[self.flags.continued] = False
            if plan.early:
                # Inside the body no exit has been taken yet: the test saw to that.
                for name in (self.flags.broken, RETURNED):
                    frame.locals[name] = False
            else:
                frame.locals[self.flags.broken] = False
            frame.loops.append(self.flags)
            dead = self.run(self.body)
            frame.loops.pop()
            ends = [end_leaves(t, carried, frame.locals.get(carried.name, UNSET)) for carried in plan.names]
            self.end_locals = frame.locals
        finally:
            side = t.leave()
            frame.locals = dict(self.entry)
        return Round(side, (*first, *arguments), ends, dead)

    def _open(self, plan: Plan) -> list[Value]:
        """Enter a block whose arguments are the carried values, and bind names and arrays to them."""
        t = self.t
        t.enter()
        t.frame.locals = dict(self.entry)
        arguments: list[Value] = []
        for carried in plan.names:
            leaves = []
            for leaf in carried.types:
                argument = Value(leaf.type, carried.name)
                arguments.append(argument)
                leaves.append(make_leaf(argument, leaf))
            t.frame.locals[carried.name] = rebuild(carried.skeleton, leaves)
        for array in plan.arrays:
            items = [Value(array.dtype) for _ in array.items]
            arguments += items
            t.write_array(array, [DeviceValue(item) for item in items])
        return arguments

    def _test(self, plan: Plan, first: tuple[Value, ...], test: Callable[[tuple[Value, ...]], Any]) -> Block:
        """Trace the test of a ``While``: no exit was taken, and the condition holds."""
        t = self.t
        arguments = self._open(plan)
        try:
            flags = [t.frame.locals[name] for name in (self.flags.broken, RETURNED)]
            taken = [flag.value for flag in flags if isinstance(flag, DeviceValue)]
            condition = self._condition(taken, lambda: test(first))
        finally:
            side = t.leave()
            t.frame.locals = dict(self.entry)
        side.block.arguments = (*first, *arguments)
        side.block.yields = (condition,)
        return side.block

    def _condition(self, taken: list[Value], test: Callable[[], Any]) -> Value:
        t = self.t

        def tested() -> tuple[Any, Dead]:
            result = test()
            return (DeviceValue(result) if isinstance(result, Value) else result), None

        if not taken:
            outcome = tested()[0]
        else:
            exited = taken[0]
            if len(taken) > 1:
                exited = Value(Bool)
                t.emit(Binary(exited, BinaryOp.OR, taken[0], taken[1]))
            outcome, _ = branch(t, negate(t, exited), tested, lambda: (False, None))
        return outcome.value if isinstance(outcome, DeviceValue) else t.const(Bool, bool(outcome))

    # -- what leaves the body -----------------------------------------------------------------------------------------

    def _next_plan(self, plan: Plan, found: Round) -> Plan | None:
        """Return what the next round must assume, or None if this round's assumptions held."""
        changed = False
        names = []
        for carried, end in zip(plan.names, found.ends, strict=True):
            following = end if isinstance(end, NotCarried) else joined(self.t, self.node, carried, end[0], end[1:])
            if isinstance(following, NotCarried):
                return self._without(following)
            changed |= following is not carried
            names.append(following)
        arrays = list(plan.arrays)
        for array in found.side.before:
            if array.serial < found.side.serial and array not in arrays:
                arrays.append(array)
                changed = True
        early = plan.early
        if early and isinstance(self.node, ast.For) and self._never_left():
            early, changed = False, True
            names = [carried for carried in names if carried.name[0] != "%"]
        return Plan(names, arrays, early) if changed else None

    def _never_left(self) -> bool:
        flags = [self.end_locals.get(name) for name in (self.flags.broken, RETURNED)]
        return all(flag is False for flag in flags)

    def _append(self, block: Block, node: Node) -> None:
        node.loc = self.t.frame.loc(self.node)
        block.nodes.append(node)

    def _after(self, plan: Plan, results: tuple[Value, ...], found: Round) -> None:
        """Bind names and arrays to what the loop left; names bound only in the body are unbound after it."""
        t, frame = self.t, self.t.frame
        remaining = list(results)
        locals_ = dict(self.entry)
        for name in assigned_names(self.body) | ({self.target} if self.target else set()):
            if name not in locals_ or name == self.target:
                locals_[name] = Unbound("is bound inside a loop that may run zero times", self.node)
        for carried in plan.names:
            for leaf in carried.types:
                t.literals.settle(leaf.origins, leaf.type)
            leaves = [make_leaf(remaining.pop(0), leaf) for leaf in carried.types]
            locals_[carried.name] = rebuild(carried.skeleton, leaves)
        del locals_[self.flags.broken]
        frame.locals = locals_
        for array in plan.arrays:
            t.write_array(array, [DeviceValue(remaining.pop(0)) for _ in array.items])
