"""Conditions known at run time only: both sides are traced, and what they changed is merged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from darter.dtypes import Bool
from darter.errors import KernelTypeError
from darter.frontend.flow.merging import Dead, Merge, Path
from darter.frontend.frame import RESULT, RETURNED, UNSET
from darter.frontend.numbers.comparisons import negate
from darter.frontend.structure import (
    LeafType,
)
from darter.frontend.tracer import Tracer
from darter.frontend.values import DeviceValue, RegisterArray, Unbound, kind_of
from darter.ir.nodes import (
    Binary,
    BinaryOp,
    Bitcast,
    Cast,
    Compare,
    Const,
    Fma,
    If,
    Offset,
    PointerCast,
    ReadIndex,
    Select,
    Unary,
    Value,
)

_CHEAP = (Const, ReadIndex, Unary, Binary, Compare, Select, Cast, Bitcast, Fma, Offset, PointerCast)
_SPECULATED = 6


def branch(
    t: Tracer, condition: Value, then: Callable[[], Any], orelse: Callable[[], Any], why: str = "", exited: Dead = None
) -> tuple[Any, Dead]:
    """Trace both sides of a condition; return the merged outcome of the thunks, and whether both sides ended early.

    A thunk returns ``(outcome, dead)``.  ``exited`` says that the second side is code that has ended already.
    """
    frame, at = t.frame, t.at
    entry = frame.locals
    first = _trace(t, entry, then)
    t.at = at
    second = _trace(t, entry, orelse)
    t.at = at
    frame.locals = entry
    if exited:
        second.dead = exited
    merge = Merge(t, first, second, condition)
    outcome = _merge_outcome(merge, first, second)
    _merge_locals(merge, first, second, entry, condition)
    arrays = _merge_arrays(merge)
    _emit_if(t, condition, merge, why)
    for array, items in arrays:
        t.write_array(array, items)
    dead = None
    if first.dead and second.dead:
        dead = "return" if first.dead == second.dead == "return" else "loop"
    return outcome, dead


def _trace(t: Tracer, entry: dict[str, Any], thunk: Callable[[], tuple[Any, Dead]]) -> Path:
    t.frame.locals = dict(entry)
    t.enter()
    try:
        outcome, dead = thunk()
    except BaseException:
        t.leave()
        t.frame.locals = entry
        raise
    return Path(t.leave(), t.frame.locals, outcome, dead)


def _merge_outcome(merge: Merge, first: Path, second: Path) -> Any:
    if first.outcome is None and second.outcome is None:
        return None
    merged = merge.value(first.outcome, second.outcome, "")
    if isinstance(merged, Unbound):
        merge.t.fail(
            KernelTypeError,
            "the two sides of this condition do not go together",
            found=f"{kind_of(first.outcome)} and {kind_of(second.outcome)}",
            accepted="numbers of one kind, or structures of the same shape",
            advice="cast one side",
        )
    return merged


def _merge_locals(merge: Merge, first: Path, second: Path, entry: dict[str, Any], condition: Value) -> None:
    a_locals, b_locals = first.locals, second.locals
    merged = {}
    for name in a_locals | b_locals:
        a, b = a_locals.get(name, UNSET), b_locals.get(name, UNSET)
        if a is b:
            merged[name] = a
        elif name[0] == "%":
            merged[name] = _merge_flag(merge, name, a, b, condition)
        elif first.dead and second.dead:
            merged[name] = merge.value(a, b, name) if UNSET not in (a, b) else Unbound("is bound on one path only")
        elif first.dead == "return":
            merged[name] = merge.live(b, False, name) if b is not UNSET else Unbound("is bound on another path only")
        elif second.dead == "return":
            merged[name] = merge.live(a, True, name) if a is not UNSET else Unbound("is bound on another path only")
        else:
            merged[name] = _merge_name(merge, name, a, b)
    merge.t.frame.locals = merged


def _merge_name(merge: Merge, name: str, a: Any, b: Any) -> Any:
    t = merge.t
    if a is UNSET or b is UNSET:
        # After a break or continue nobody reads what the ended side left unbound before the next iteration.
        if (merge.then if a is UNSET else merge.orelse).dead:
            return merge.live(b if a is UNSET else a, a is not UNSET, name)
        return Unbound("is bound on one path of a condition only", t.at)
    if isinstance(a, Unbound) or isinstance(b, Unbound):
        return a if isinstance(a, Unbound) else b
    merged = merge.value(a, b, name)
    return Unbound(merged.reason, t.at) if isinstance(merged, Unbound) else merged


def _merge_flag(merge: Merge, name: str, a: Any, b: Any, condition: Value) -> Any:
    """Merge an early exit's flag, or the result of the function."""
    if name == RESULT:
        if a is UNSET:
            return merge.live(b, False, name)
        if b is UNSET:
            return merge.live(a, True, name)
        merged = merge.value(a, b, name)
        if isinstance(merged, Unbound):
            merge.t.fail(
                KernelTypeError, f"the function's result {merged.reason}", accepted="results of one type on all paths"
            )
        return merged
    if a is UNSET or b is UNSET:  # a loop's flags, in code that the loop has been left by
        return b if a is UNSET else a
    if a is True and b is False:
        return DeviceValue(condition)
    if a is False and b is True:
        return DeviceValue(negate(merge.t, condition))
    joined = LeafType(Bool, False)
    return merge.yielded(merge.in_then(a, joined), merge.in_else(b, joined), joined)


def _merge_arrays(merge: Merge) -> list[tuple[RegisterArray, list[DeviceValue]]]:
    """Return the register arrays that either side wrote, with their merged items."""
    a_side, b_side = merge.then.side, merge.orelse.side
    written = []
    for array in a_side.before | b_side.before:
        if array.serial > min(a_side.serial, b_side.serial):
            continue  # made inside
        a, b = a_side.after.get(array, array.items), b_side.after.get(array, array.items)
        joined = LeafType(array.dtype, False)
        written.append((array, [merge.leaf(x, y, joined) for x, y in zip(a, b, strict=True)]))
    return written


def _emit_if(t: Tracer, condition: Value, merge: Merge, why: str) -> None:
    then, orelse = merge.then.side.block, merge.orelse.side.block
    if _is_cheap(t, then.nodes, orelse.nodes) and all(isinstance(r.type, type(Bool)) for r in merge.results):
        t.nodes.extend(then.nodes)
        t.nodes.extend(orelse.nodes)
        for result, a, b in zip(merge.results, merge.then_yields, merge.else_yields, strict=True):
            _emit_select(t, result, condition, a, b)
        return
    then.yields, orelse.yields = tuple(merge.then_yields), tuple(merge.else_yields)
    t.emit(If(tuple(merge.results), condition, then, orelse, why))


def _is_cheap(t: Tracer, *blocks: list[Any]) -> bool:
    """Tell whether the sides may both be evaluated: no memory, no arithmetic that a launcher checks."""
    if t.host:
        return not any(blocks)
    return sum(map(len, blocks)) <= _SPECULATED and all(isinstance(n, _CHEAP) for nodes in blocks for n in nodes)


def _emit_select(t: Tracer, result: Value, condition: Value, a: Value, b: Value) -> None:
    false, true = t.constants.get((Bool, False)), t.constants.get((Bool, True))
    if result.type is Bool and b is false and b is not None:
        t.emit(Binary(result, BinaryOp.AND, condition, a))
    elif result.type is Bool and a is true and a is not None:
        t.emit(Binary(result, BinaryOp.OR, condition, b))
    else:
        t.emit(Select(result, condition, a, b))


def pending_flags(t: Tracer) -> list[str]:
    """Return the flags of early exits that are known at run time only."""
    frame = t.frame
    names = [RETURNED]
    for flags in frame.loops[-1:]:
        names += [flags.broken, flags.continued]
    return [name for name in names if isinstance(frame.locals.get(name), DeviceValue)]


def guarded(t: Tracer, flags: list[str], rest: Callable[[], Dead], why: str) -> Dead:
    """Trace the code that follows early exits, under the condition that none was taken."""
    frame = t.frame
    taken: Value | None = None
    for name in flags:
        flag = frame.locals[name].value
        if taken is None:
            taken = flag
        else:
            either = Value(Bool)
            t.emit(Binary(either, BinaryOp.OR, taken, flag))
            taken = either
    assert taken is not None
    before = {name: frame.locals[name] for name in flags}

    # Where this frame has returned, nobody sees what its own containers hold: the rest may change them.
    floor = max(t.regions[-1].floor, frame.serial) if flags == [RETURNED] else None

    def goes_on() -> tuple[None, Dead]:
        if floor is not None:
            t.regions[-1].floor = floor
        for name in flags:
            frame.locals[name] = False
        dead = rest()
        for name in flags:
            # Where no exit was taken the flag was False: unchanged, it is the old flag on both sides.
            if frame.locals.get(name) is False:
                frame.locals[name] = before[name]
        return None, dead

    exited = "return" if flags == [RETURNED] else "loop"
    _, dead = branch(t, negate(t, taken), goes_on, lambda: (None, None), why, exited)
    if dead == "return":
        frame.locals[RETURNED] = True
    return dead
