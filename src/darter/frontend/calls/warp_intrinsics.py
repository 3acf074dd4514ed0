"""Warps: shuffles and votes."""

from __future__ import annotations

import functools
from typing import Any

from darter.dtypes import Bool, Float32, Int32, UInt64
from darter.errors import KernelTypeError
from darter.frontend.calls.intrinsic_arguments import Handler, as_number, bound_names, kernel_only
from darter.frontend.numbers.casts import convert
from darter.frontend.numbers.comparisons import truth
from darter.frontend.numbers.promotion import as_value, derived, runtime
from darter.frontend.structs import in_structures
from darter.frontend.tracer import Tracer
from darter.frontend.values import (
    DeviceValue,
    kind_of,
)
from darter.ir.nodes import (
    Shuffle,
    ShuffleMode,
    Value,
    Vote,
    VoteMode,
)


def _shuffle(mode: ShuffleMode, operand: str, t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    name = "shuffle_" + {"index": "idx"}.get(mode.value, mode.value)
    kernel_only(t, name)
    value, lane = bound_names(t, name, arguments, keywords, "value", operand)
    return in_structures(t, name, lambda item: _shuffle_number(t, mode, name, item, lane), value)


def _shuffle_number(t: Tracer, mode: ShuffleMode, name: str, value: Any, lane: Any) -> DeviceValue:
    number = runtime(t, as_number(t, value, name))
    if number.dtype.bits < 16 or (number.dtype.bits == 16 and not number.dtype.is_float):
        return _shuffle_narrow(t, mode, name, number, lane)
    lane_value = as_number(t, lane, name)
    if isinstance(lane_value, (bool, float)) or (
        isinstance(lane_value, DeviceValue) and not lane_value.dtype.is_integer
    ):
        t.fail(KernelTypeError, f"dt.{name} takes an integer second", found=kind_of(lane_value))
    result = Value(number.dtype)
    t.emit(Shuffle(result, mode, number.value, as_value(t, lane_value, Int32)))
    return derived(DeviceValue(result, number.weak), number)


def _shuffle_narrow(t: Tracer, mode: ShuffleMode, name: str, value: DeviceValue, lane: Any) -> DeviceValue:
    """Shuffle a Bool or a small integer as Int32, float8 as Float32: exact both ways."""
    wide = Float32 if value.dtype.is_float else Int32
    moved = _shuffle_number(t, mode, name, convert(t, value, wide), lane)
    return convert(t, moved, value.dtype)


def _vote(mode: VoteMode, name: str, t: Tracer, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    kernel_only(t, name)
    (predicate,) = bound_names(t, name, arguments, keywords, "predicate")
    known = truth(t, predicate)
    value = known if isinstance(known, Value) else t.const(Bool, known)
    result = Value(UInt64 if mode is VoteMode.BALLOT else Bool)
    t.emit(Vote(result, mode, value))
    return DeviceValue(result)


WARPS: dict[str, Handler] = {
    "shuffle_idx": functools.partial(_shuffle, ShuffleMode.INDEX, "lane"),
    "shuffle_xor": functools.partial(_shuffle, ShuffleMode.XOR, "mask"),
    "shuffle_up": functools.partial(_shuffle, ShuffleMode.UP, "delta"),
    "shuffle_down": functools.partial(_shuffle, ShuffleMode.DOWN, "delta"),
    "vote_any": functools.partial(_vote, VoteMode.ANY, "vote_any"),
    "vote_all": functools.partial(_vote, VoteMode.ALL, "vote_all"),
    "ballot": functools.partial(_vote, VoteMode.BALLOT, "ballot"),
}
