"""Group B of the public failure cases, wrong dispatch from an under-specified key: what the key alone decides."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations, product
from typing import Any, NamedTuple

import numpy as np
import pytest

import darter.dtypes as dt
from darter.errors import ArgumentTypeError, ArgumentValueError
from darter.signature.annotations import Constexpr, Tensor
from darter.signature.binder import bind
from darter.signature.describe import describe
from darter.signature.descriptor import TensorFacts, slot_count
from darter.signature.planner import plan_signature
from darter.signature.words import full_key
from tests.interner import Interner


class Color(enum.IntEnum):
    RED = 1


class Plain(enum.Enum):
    RED = 1


@dataclass(frozen=True)
class Tile:
    m: Any


class Pair(NamedTuple):
    m: Any


def keys(function: Callable[..., Any], *calls: Any) -> list[tuple[int, ...]]:
    """Return the key of each call, a tuple of positional arguments or a dict of keyword ones."""
    plan, intern = plan_signature(function, owner=False), Interner()
    bound = [bind(plan, (), call) if isinstance(call, dict) else bind(plan, call, {}) for call in calls]
    return [full_key(plan, arguments, intern) for arguments in bound]


def tensors_only(x: Tensor): ...


def constexpr(C: Constexpr): ...


def untyped(v): ...


def aligned(shape: tuple[int, ...], dtype: Any = np.float32) -> Any:
    """Return an array whose base is a multiple of 64 bytes, so that alignment is the same in every process."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(dtype).reshape(shape)


def test_B01_columns_of_any_length_share_one_variant_that_knows_no_length() -> None:
    first, second = keys(tensors_only, (aligned((512, 1)),), (aligned((4096, 1)),))
    assert first == second
    facts = describe(plan_signature(tensors_only, owner=False), (aligned((512, 1)),)).descriptors["x"]
    assert 512 not in [getattr(facts, name) for name in TensorFacts.__slots__]


def test_B02_broadcast_strides_are_dynamic() -> None:
    wide = aligned((4, 8))
    assert len(set(keys(tensors_only, (np.broadcast_to(wide[:1], (4, 8)),), (wide,)))) == 1


def test_B03_every_compile_time_value_has_a_key_of_its_own() -> None:
    assert len(set(keys(constexpr, *((value,) for value in range(-9, 70))))) == 79


def test_B04_large_offsets_are_in_the_key_and_small_views_of_large_storage_are_small() -> None:
    small = aligned((16,))
    large = np.lib.stride_tricks.as_strided(small, (1 << 20, 4), (1 << 12, 4))
    one, two, three = keys(tensors_only, (aligned((4, 4)),), (large,), (large[:16],))
    assert one == three != two


def test_B06_none_is_a_key_value_of_its_own() -> None:
    def optional(bias: Tensor | None = None): ...

    assert len(set(keys(untyped, (None,), (0,), (False,), (aligned((4,)),), (0.0,)))) == 5
    given, left_out, none = keys(optional, (aligned((4,)),), {}, (None,))
    assert given != left_out == none


@pytest.mark.parametrize("dtype", [dt.Int32, dt.Int64, dt.UInt8, dt.Float32])
def test_B07_the_value_of_a_scalar_is_no_fact(dtype: Any) -> None:
    def annotated(v): ...

    annotated.__annotations__["v"] = dtype
    sweep = [(value,) for value in (0, 1, 2, 15, 16, 17)]
    assert len(set(keys(annotated, *sweep))) == len(set(keys(untyped, *sweep))) == 1


@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: (v,), Tile, Pair, lambda v: frozenset({v})])
def test_B08_the_type_of_a_value_is_in_the_key(wrap: Callable[[Any], Any]) -> None:
    equal = [1, True, 1.0, np.int64(1), np.float64(1), Color.RED, 1 + 0j]
    assert all(value == 1 for value in equal)
    assert len(set(keys(constexpr, *((wrap(value),) for value in (*equal, Plain.RED, "1"))))) == len(equal) + 2


def test_B11_positional_keyword_mixed_and_defaulted_calls_have_one_key() -> None:
    def function(x, n: Constexpr = 8, m: Constexpr = 4): ...

    x = aligned((4,))
    same = keys(function, {"x": x, "n": 8, "m": 4}, {"m": 4, "n": 8, "x": x}, (x, 8, 4), (x,), {"x": x, "m": 4})
    assert len(set(same)) == 1
    assert keys(function, {"x": x, "m": 8, "n": 4}) != same[:1]


def test_B13_a_declared_dtype_is_checked_and_named() -> None:
    def function(o: Tensor[dt.i64, "n"]): ...

    with pytest.raises(ArgumentTypeError, match=r"argument 'o': found dtype int32; accepted: int64"):
        keys(function, (np.zeros(8, np.int32),))


def test_B14_scalars_are_typed_by_one_table() -> None:
    def function(v): ...

    plan = plan_signature(function, owner=False)
    seen = [
        describe(plan, (v,)).descriptors["v"].dtype for v in (5.0, np.float32(5), np.float64(5), 5, True, np.bool_(1))
    ]
    assert seen == [dt.Float32, dt.Float32, dt.Float64, dt.Int64, dt.Bool, dt.Bool]
    with pytest.raises(ArgumentTypeError, match="argument 'v'"):
        describe(plan, (1j,))


def test_B16_extents_beyond_32_bits_are_read_and_widen_the_index() -> None:
    huge = np.lib.stride_tricks.as_strided(aligned((1,)), ((1 << 31) + 8,), (0,))
    description = describe(plan_signature(tensors_only, owner=False), (huge,))
    assert description.descriptors["x"].wide
    assert description.tensors[0].view.shape == ((1 << 31) + 8,)


def test_B22_the_structure_of_nested_arguments_is_in_the_key_and_checked() -> None:
    x = aligned((4,))
    nested = [(x, x), (x, x, x), ((x,), x), ((x, x),), (x, (x,)), (), ((),)]
    assert len(set(keys(untyped, *((value,) for value in nested)))) == len(nested)

    def function(pair: tuple[Tensor, Tensor]): ...

    for wrong in ((x, x, x), (x,), ()):
        with pytest.raises(ArgumentValueError, match=r"argument 'pair': .*accepted: 2 items"):
            keys(function, (wrong,))
    with pytest.raises(ArgumentTypeError, match=r"argument 'pair\[0\]': found a tuple"):
        keys(function, (((x,), x),))


def test_B23_slots_and_words_are_counted_by_the_descriptor_for_every_order_of_parameters() -> None:
    values = {"a": aligned((2, 3)), "b": 7, "C": (1, 2), "d": 1.5, "p": (np.int8(1), None)}
    expected = {"a": 5, "b": 1, "C": 0, "d": 1, "p": 1}
    for order in permutations(values):
        scope: dict[str, Any] = {"Constexpr": Constexpr}
        exec(f"def function({', '.join(f'{n}: Constexpr' if n == 'C' else n for n in order)}): ...", scope)
        plan = plan_signature(scope["function"], owner=False)
        described = describe(plan, [values[name] for name in order]).descriptors
        assert list(described) == list(order)
        assert {name: slot_count(facts) for name, facts in described.items()} == expected


def test_B23_values_that_others_fold_are_scalars_like_all() -> None:
    def function(b, A: Constexpr, c, d, E: Constexpr): ...

    calls = [(b, 5, c, d, 7) for b, c, d in product((1, 2, 16), repeat=3)]
    assert len(set(keys(function, *calls))) == 1
