"""What a run-time loop carries from one iteration to the next, and of what types.

A carried value enters with the type that it has before the loop; what leaves the body is joined with it until the two
agree.  A Python number enters weak, and takes the type of what it is joined with.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from darter.errors import CompileError, KernelNameError, KernelTypeError
from darter.frontend.flow.merging import Dead
from darter.frontend.frame import RESULT
from darter.frontend.structs import opened
from darter.frontend.structure import (
    LeafType,
    Skeleton,
    flatten,
    join,
    leaf_type,
    leaf_value,
    rebuild,
    with_site,
)
from darter.frontend.tracer import Side, Tracer, zero
from darter.frontend.values import DeviceValue, RegisterArray, Unbound, kind_of
from darter.ir.nodes import Value

Loop = ast.For | ast.While


@dataclass(slots=True)
class Carried:
    """One name that a loop carries: its shape, the leaves that it enters with, and their types."""

    name: str
    skeleton: Skeleton
    entry: list[Any]
    types: list[LeafType]


@dataclass(frozen=True, slots=True)
class NotCarried:
    """A name that cannot be carried: it has no value, or no one type, from one iteration to the next.

    That is an error only where the name is read before the body assigns it, or after the loop.
    """

    name: str
    error: CompileError


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
    ends: list[list[Any] | NotCarried]
    dead: Dead


def carried_by(t: Tracer, loop: Loop, name: str, value: Any) -> Carried:
    """Return ``name`` as a loop carries it that it enters with ``value``."""
    leaves: list[Any] = []
    skeleton = flatten(value, leaves)
    types = [with_site(t, leaf_type(leaf), loop, (name, place)) for place, leaf in enumerate(leaves)]
    return Carried(name, skeleton, leaves, types)


def joined(t: Tracer, loop: Loop, carried: Carried, skeleton: Skeleton, leaves: list[Any]) -> Carried | NotCarried:
    """Return ``carried`` with types that hold what left the body too; itself where they did already.

    Where there are none, it is not carried.
    """
    if carried.name == RESULT and carried.skeleton != skeleton and carried.entry == []:
        types = [with_site(t, leaf_type(leaf), loop, (RESULT, place)) for place, leaf in enumerate(leaves)]
        for leaf in types:
            leaf.weak = False
        entry = [DeviceValue(zero(t, leaf.type)) for leaf in types]  # type: ignore[arg-type]
        return Carried(RESULT, skeleton, entry, types)
    if skeleton != carried.skeleton:
        whole = rebuild(carried.skeleton, list(carried.entry))
        apart = carried_by(t, loop, carried.name, opened(t, whole))
        if apart.skeleton != carried.skeleton:
            return apart
        return _refused(t, loop, carried, whole, rebuild(skeleton, list(leaves)))
    types = []
    for entry, old, leaf in zip(carried.entry, carried.types, leaves, strict=True):
        new = join(old, leaf_type(leaf))
        if new is None:
            return _refused(t, loop, carried, entry, leaf)
        types.append(new)
    if all(new.type == old.type and new.weak == old.weak for new, old in zip(types, carried.types, strict=True)):
        return carried
    return Carried(carried.name, carried.skeleton, carried.entry, types)


def end_leaves(t: Tracer, carried: Carried, value: Any) -> list[Any] | NotCarried:
    """Return the skeleton and the leaves of what a carried name stands for at the end of the body."""
    leaves: list[Any] = []
    if isinstance(value, Unbound):
        error = value.error or t.error(
            KernelNameError,
            f"'{carried.name}' is carried by this loop, and at the end of its body it {value.reason}",
            advice="assign it on every path, or before the loop with the type that it has in the loop",
        )
        return NotCarried(carried.name, error)
    skeleton = flatten(value, leaves)
    if skeleton != carried.skeleton:
        apart: list[Any] = []
        if flatten(opened(t, value), apart) == carried.skeleton:
            return [carried.skeleton, *apart]
    return [skeleton, *leaves]


def entry_values(t: Tracer, plan: Plan) -> list[Value]:
    """Return the values that enter the loop, in order."""
    values = []
    for carried in plan.names:
        for leaf, type in zip(carried.entry, carried.types, strict=True):
            values.append(leaf_value(t, leaf, type.type))
    for array in plan.arrays:
        values += [item.value for item in array.items]
    return values


def end_values(t: Tracer, plan: Plan, found: Round) -> list[Value]:
    """Return the values that leave the body, in order; what converts them is appended to it."""
    nodes, t.nodes = t.nodes, found.side.block.nodes
    try:
        values = []
        for carried, end in zip(plan.names, found.ends, strict=True):
            assert not isinstance(end, NotCarried)  # or the plan would have changed
            for leaf, type in zip(end[1:], carried.types, strict=True):
                values.append(leaf_value(t, leaf, type.type))
        for array in plan.arrays:
            values += [item.value for item in found.side.after.get(array, array.items)]
        return values
    finally:
        t.nodes = nodes


def _refused(t: Tracer, loop: Loop, carried: Carried, entry: Any, end: Any) -> NotCarried:
    t.at = loop
    last = _last_assignment(loop.body, carried.name)
    error = t.error(
        KernelTypeError,
        f"'{carried.name}' is carried by this loop and does not keep its type",
        found=f"{kind_of(entry)} before the loop, {kind_of(end)} at the end of its body"
        + (f" (assigned at line {last})" if last else ""),
        accepted="one type, or a Python number before the loop",
        advice="cast it before the loop, or cast what the body assigns",
        node=loop,
    )
    return NotCarried(carried.name, error)


def _last_assignment(body: list[ast.stmt], name: str) -> int:
    lines = [
        node.lineno
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
    ]
    return max(lines, default=0)
