"""Loops at run time, with the values that they carry from one iteration to the next.

What a run-time loop carries is found by tracing its body until the types that enter it are the types that leave it.
The body is first traced under the assumption that numbers keep the type they enter with; a Python number enters weak.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from darter.dtypes import Bool, Int64, ScalarType
from darter.errors import KernelNameError, KernelTypeError, UnsupportedSyntaxError
from darter.frontend.branches import branch
from darter.frontend.frame import RESULT, RETURNED, UNSET, LoopFlags, assigned_names, exits, mutated_names
from darter.frontend.merging import Dead
from darter.frontend.operators import negate, truth
from darter.frontend.promotion import as_value, common_type, divisor_of
from darter.frontend.structs import opened
from darter.frontend.structure import (
    LeafType,
    Skeleton,
    flatten,
    join,
    leaf_type,
    leaf_value,
    make_leaf,
    rebuild,
    with_site,
)
from darter.frontend.tracer import Side, Tracer, zero
from darter.frontend.values import DeviceValue, RegisterArray, Unbound, kind_of
from darter.ir.nodes import Binary, BinaryOp, Block, Compare, CompareOp, For, Node, Value, While

_MAX_ROUNDS = 12


@dataclass(slots=True)
class Carried:
    """One name that a loop carries: its shape, the leaves that it enters with, and their types."""

    name: str
    skeleton: Skeleton
    entry: list[Any]
    types: list[LeafType]


@dataclass(slots=True)
class Plan:
    """What one round of tracing assumes: carried names and arrays, and whether the loop can be left early."""

    names: list[Carried]
    arrays: list[RegisterArray]
    early: bool

    def types(self) -> list[LeafType]:
        """Return the types of all carried values in order."""
        types = [leaf for carried in self.names for leaf in carried.types]
        for array in self.arrays:
            types += [LeafType(array.dtype, False)] * len(array.items)
        return types


@dataclass(slots=True)
class Round:
    """What one round of tracing found at the end of the body."""

    side: Side
    arguments: tuple[Value, ...]
    ends: list[list[Any]]
    dead: Dead


# -- run-time loops ---------------------------------------------------------------------------------------------------


def range_loop(
    t: Tracer, node: ast.For, bounds: tuple[Any, Any, Any], run: Callable[[tuple[ast.stmt, ...]], Dead]
) -> None:
    """Trace ``for target in range(lower, upper, step)`` as a run-time loop."""
    lower, _, step = bounds
    dtype = _index_type(t, bounds)
    values = tuple(as_value(t, bound, dtype) for bound in bounds)
    target = node.target
    if not isinstance(target, ast.Name):
        t.fail(
            UnsupportedSyntaxError, "the target of a run-time loop is one name", advice="use dt.static_range to unroll"
        )
    loop = _Loop(t, node, run)
    multiple = _gcd(divisor_of(lower), divisor_of(step))
    loop.trace_for(dtype, values, step, target.id, multiple)


def _gcd(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return a


def _index_type(t: Tracer, bounds: tuple[Any, Any, Any]) -> ScalarType:
    dtype: ScalarType | None = None
    for bound in bounds:
        if isinstance(bound, DeviceValue):
            if not bound.dtype.is_integer:
                t.fail(KernelTypeError, "range takes integers", found=kind_of(bound))
            dtype = bound.dtype if dtype is None else common_type(t, DeviceValue(Value(dtype)), bound, "range")
        elif isinstance(bound, bool) or not isinstance(bound, int):
            t.fail(KernelTypeError, "range takes integers", found=kind_of(bound))
    return dtype or Int64


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
            found.side.block.yields = tuple(self._end_values(plan, found))
            self.t.emit(For(results, lower, upper, step_value, tuple(self._entry_values(plan)), found.side.block))
            self._after(plan, results, found)
            return
        # The index is carried first; the loop ends when it reaches the bound or an exit was taken.
        index = found.arguments[0]
        following = Value(dtype, target)
        self._append(found.side.block, Binary(following, BinaryOp.ADD, index, step_value))
        found.side.block.arguments = found.arguments
        found.side.block.yields = (following, *self._end_values(plan, found))
        test = self._test(
            plan, (Value(dtype, target),), lambda first: self._in_range(first[0], upper, step, step_value)
        )
        results = tuple(Value(leaf.type) for leaf in plan.types())
        initial = (lower, *self._entry_values(plan))
        self.t.emit(While((Value(dtype, target), *results), initial, test, found.side.block))
        self._after(plan, results, found)

    def trace_while(self, test: Callable[[], Any]) -> None:
        def one_round(plan: Plan) -> Round:
            self.tested = self._test(plan, (), lambda _: truth(self.t, test()))
            return self._round(plan, (), dict)

        plan, found = self._fixed_point(one_round)
        results = tuple(Value(leaf.type) for leaf in plan.types())
        found.side.block.arguments = found.arguments
        found.side.block.yields = tuple(self._end_values(plan, found))
        self.t.emit(While(results, tuple(self._entry_values(plan)), self.tested, found.side.block))
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

    def _settle(self, plan: Plan) -> None:
        for carried in plan.names:
            for leaf in carried.types:
                leaf.weak = False

    def _first_plan(self) -> Plan:
        early = self.breaks or self.returns
        names = []
        bound = self.entry
        candidates = sorted(assigned_names(self.body) - {self.target})
        flags = ([self.flags.broken] if self.breaks else []) + ([RETURNED, RESULT] if self.returns else [])
        for name in (*candidates, *flags):
            if name not in bound or isinstance(bound[name], Unbound):
                continue
            names.append(self._carried(name, bound[name]))
        arrays = [
            bound[name] for name in sorted(mutated_names(self.body)) if isinstance(bound.get(name), RegisterArray)
        ]
        return Plan(names, list(dict.fromkeys(arrays)), early)

    def _carried(self, name: str, value: Any) -> Carried:
        leaves: list[Any] = []
        skeleton = flatten(value, leaves)
        types = [with_site(self.t, leaf_type(leaf), self.node, (name, place)) for place, leaf in enumerate(leaves)]
        return Carried(name, skeleton, leaves, types)

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
            ends = [self._end_leaves(carried, frame.locals.get(carried.name, UNSET)) for carried in plan.names]
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

    def _in_range(self, index: Value, upper: Value, step: Any, step_value: Value) -> Value:
        t = self.t
        if isinstance(step, int):
            return self._compare(CompareOp.LT if step > 0 else CompareOp.GT, index, upper)
        zero_value = zero(t, step_value.dtype)
        up = self._both(self._compare(CompareOp.GT, step_value, zero_value), self._compare(CompareOp.LT, index, upper))
        down = self._both(
            self._compare(CompareOp.LT, step_value, zero_value), self._compare(CompareOp.GT, index, upper)
        )
        result = Value(Bool)
        t.emit(Binary(result, BinaryOp.OR, up, down))
        return result

    def _compare(self, op: CompareOp, lhs: Value, rhs: Value) -> Value:
        result = Value(Bool)
        self.t.emit(Compare(result, op, lhs, rhs))
        return result

    def _both(self, lhs: Value, rhs: Value) -> Value:
        result = Value(Bool)
        self.t.emit(Binary(result, BinaryOp.AND, lhs, rhs))
        return result

    # -- what leaves the body -----------------------------------------------------------------------------------------

    def _end_leaves(self, carried: Carried, value: Any) -> list[Any]:
        leaves: list[Any] = []
        if isinstance(value, Unbound):
            self.t.fail(
                KernelNameError,
                f"'{carried.name}' is carried by this loop, and at the end of its body it {value.reason}",
                advice="assign it on every path, or before the loop with the type that it has in the loop",
            )
        skeleton = flatten(value, leaves)
        if skeleton != carried.skeleton:
            apart: list[Any] = []
            if flatten(opened(self.t, value), apart) == carried.skeleton:
                return [carried.skeleton, *apart]
        return [skeleton, *leaves]

    def _next_plan(self, plan: Plan, found: Round) -> Plan | None:
        """Return what the next round must assume, or None if this round's assumptions held."""
        changed = False
        names = []
        for carried, (skeleton, *leaves) in zip(plan.names, found.ends, strict=True):
            joined = self._joined(carried, skeleton, leaves)
            changed |= joined is not carried
            names.append(joined)
        arrays = list(plan.arrays)
        for array in found.side.before:
            if array.serial < found.side.serial and array not in arrays:
                arrays.append(array)
                changed = True
        early = plan.early
        if early and isinstance(self.node, ast.For) and self._never_left(plan, found):
            early, changed = False, True
            names = [carried for carried in names if carried.name[0] != "%"]
        return Plan(names, arrays, early) if changed else None

    def _never_left(self, plan: Plan, found: Round) -> bool:
        flags = [self.end_locals.get(name) for name in (self.flags.broken, RETURNED)]
        return all(flag is False for flag in flags)

    def _joined(self, carried: Carried, skeleton: Skeleton, leaves: list[Any]) -> Carried:
        if carried.name == RESULT and carried.skeleton != skeleton and carried.entry == []:
            types = [
                with_site(self.t, leaf_type(leaf), self.node, (RESULT, place)) for place, leaf in enumerate(leaves)
            ]
            for leaf in types:
                leaf.weak = False
            entry = [DeviceValue(zero(self.t, leaf.type)) for leaf in types]  # type: ignore[arg-type]
            return Carried(RESULT, skeleton, entry, types)
        if skeleton != carried.skeleton:
            whole = rebuild(carried.skeleton, list(carried.entry))
            apart = self._carried(carried.name, opened(self.t, whole))
            if apart.skeleton != carried.skeleton:
                return apart
            self._refuse(carried, whole, rebuild(skeleton, list(leaves)))
        types = []
        for entry, old, leaf in zip(carried.entry, carried.types, leaves, strict=True):
            new = join(old, leaf_type(leaf))
            if new is None:
                self._refuse(carried, entry, leaf)
            else:
                types.append(new)
        if all(new.type == old.type and new.weak == old.weak for new, old in zip(types, carried.types, strict=True)):
            return carried
        return Carried(carried.name, carried.skeleton, carried.entry, types)

    def _refuse(self, carried: Carried, entry: Any, end: Any) -> None:
        self.t.at = self.node
        last = _last_assignment(self.body, carried.name)
        raise self.t.error(
            KernelTypeError,
            f"'{carried.name}' is carried by this loop and does not keep its type",
            found=f"{kind_of(entry)} before the loop, {kind_of(end)} at the end of its body"
            + (f" (assigned at line {last})" if last else ""),
            accepted="one type, or a Python number before the loop",
            advice="cast it before the loop, or cast what the body assigns",
            node=self.node,
        )

    def _entry_values(self, plan: Plan) -> list[Value]:
        values = []
        for carried in plan.names:
            for leaf, type in zip(carried.entry, carried.types, strict=True):
                values.append(leaf_value(self.t, leaf, type.type))
        for array in plan.arrays:
            values += [item.value for item in array.items]
        return values

    def _end_values(self, plan: Plan, found: Round) -> list[Value]:
        t = self.t
        nodes, t.nodes = t.nodes, found.side.block.nodes
        try:
            values = []
            for carried, (_, *leaves) in zip(plan.names, found.ends, strict=True):
                for leaf, type in zip(leaves, carried.types, strict=True):
                    values.append(leaf_value(t, leaf, type.type))
            for array in plan.arrays:
                values += [item.value for item in found.side.after.get(array, array.items)]
            return values
        finally:
            t.nodes = nodes

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


def _last_assignment(body: tuple[ast.stmt, ...], name: str) -> int:
    lines = [
        node.lineno
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
    ]
    return max(lines, default=0)
