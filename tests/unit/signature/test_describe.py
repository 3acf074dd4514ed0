"""Arguments to descriptors: each kind of parameter, annotated and not, and the refusals with their paths."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import darter.dtypes as dt
from darter import _native
from darter.errors import ArgumentTypeError, ArgumentValueError, DarterError, UnkeyableError
from darter.signature.annotations import Constexpr, Pointer, Stream, Tensor
from darter.signature.argument import from_dlpack
from darter.signature.describe import Description, describe
from darter.signature.descriptor import (
    ConstexprFacts,
    JitArgumentFacts,
    NoneFacts,
    ObjectFacts,
    PointerFacts,
    ScalarFacts,
    StreamFacts,
    StructFacts,
    TensorFacts,
    TypeFacts,
    slot_count,
)
from darter.signature.planner import plan_signature


class Color(enum.IntEnum):
    RED = 1


class Pair(NamedTuple):
    left: Tensor["n"]
    right: Tensor["n"]


@dataclass(frozen=True)
class Options:
    pair: Pair
    scale: dt.Float32
    mode: Constexpr[str] = "fast"


class Config:
    block: Constexpr[int]

    def __init__(self, block: Any = 64) -> None:
        self.block = block
        self.secret = [1, 2]

    def method(self, x): ...


class Wider(Config):
    extra: Constexpr = (1, 2)


class Packed:
    __jit_fields__ = ("data",)

    def __init__(self, data: Any, signature: Any = "q4") -> None:
        self.data, self.signature = data, signature

    def __cache_signature__(self) -> Any:
        return self.signature


class Handle:
    cuda_stream = 7


def describe_one(annotation: Any, value: Any, owner: bool = False) -> Any:
    return description(annotation, value, owner).descriptors["x"]


def description(annotation: Any, value: Any, owner: bool = False) -> Description:
    def function(x): ...

    function.__annotations__ = {"x": annotation}
    return describe(plan_signature(function, owner), (value,))


X = np.zeros((4, 8), np.float32)


@pytest.mark.parametrize("annotation", [Any, Tensor, Tensor["n", 8], Tensor[dt.f32, ...]])
def test_tensors(annotation: Any) -> None:
    facts = describe_one(annotation, X)
    assert isinstance(facts, TensorFacts)
    assert (facts.dtype, facts.rank, facts.unit_axis, facts.wide, facts.layout) == (dt.f32, 2, 1, False, None)
    assert slot_count(facts) == 5


def test_explicit_tensors_bring_their_layout() -> None:
    for annotation in (Any, Tensor):
        facts = describe_one(annotation, from_dlpack(X).mark_shape_dynamic(0, div=2))
        assert facts.layout is not None
        assert (facts.layout.shape, facts.layout.shape_divisors) == ((None, 8), (2, 1))


def test_numbers_and_types_without_annotation() -> None:
    assert [describe_one(Any, value) for value in (1, True, 1.0, np.float16(1), dt.i8, None)] == [
        ScalarFacts(dt.Int64),
        ScalarFacts(dt.Bool),
        ScalarFacts(dt.Float32),
        ScalarFacts(dt.Float16),
        TypeFacts(dt.Int8),
        NoneFacts(),
    ]


def test_annotations_decide_the_type_of_scalars() -> None:
    assert describe_one(dt.Int8, 1) == describe_one(dt.Int8, np.int64(1)) == ScalarFacts(dt.Int8)
    assert describe_one(dt.Float64, 1) == ScalarFacts(dt.Float64)
    assert describe_one(dt.Int8 | None, None) == NoneFacts()


def test_pointers() -> None:
    assert describe_one(Pointer[dt.f32], X[:, 1:]) == PointerFacts(dt.f32, 4, 1)
    assert describe_one(Pointer[dt.f32], 48) == PointerFacts(dt.f32, 16, 0)
    assert describe_one(Pointer[dt.f32] | None, None) == NoneFacts()
    assert describe_one(Pointer[dt.f32], from_dlpack(X)).device_type == 1


@pytest.mark.parametrize("stream", [None, 0, 7, 2**63, Handle()])
def test_streams(stream: Any) -> None:
    assert describe_one(Stream, stream) == StreamFacts()


def test_type_parameters() -> None:
    assert describe_one(type, dt.f32) == describe_one(type[dt.Scalar], dt.f32) == TypeFacts(dt.f32)
    assert describe_one(type[dt.f32], dt.f32) == TypeFacts(dt.f32)


def test_structs_are_described_by_their_fields_plans() -> None:
    options = Options(Pair(X[0], X[1]), 2.0)
    for annotation in (Options, Any):
        facts = describe_one(annotation, options)
        assert isinstance(facts, StructFacts)
        assert (facts.cls, facts.names) == (Options, ("pair", "scale", "mode"))
        assert facts.fields[1:] == (ScalarFacts(dt.Float32), ConstexprFacts("fast"))
        assert facts.fields[0].names == ("left", "right")
        assert slot_count(facts) == 7


def test_tuples() -> None:
    facts = describe_one(Any, (X, (1, None)))
    assert (facts.cls, facts.names, len(facts.fields)) == (tuple, ("0", "1"), 2)
    assert facts.fields[1] == StructFacts(tuple, ("0", "1"), (ScalarFacts(dt.Int64), NoneFacts()))
    assert describe_one(tuple[dt.Int8, dt.Int16], (1, 2)).fields == (ScalarFacts(dt.Int8), ScalarFacts(dt.Int16))


def test_objects_show_their_constexpr_fields_only() -> None:
    assert describe_one(Any, Config()) == ObjectFacts(Config, ("block",), (64,))
    assert describe_one(Config, Wider(8)) == ObjectFacts(Wider, ("block", "extra"), (8, (1, 2)))


def test_self_may_be_any_object_or_a_class() -> None:
    assert describe_one(Any, Config(), owner=True) == ObjectFacts(Config, ("block",), (64,))
    assert describe_one(Any, object.__new__(Handle), owner=True) == ObjectFacts(Handle, (), ())
    assert describe_one(Any, Config, owner=True) == ConstexprFacts(Config)


def test_jit_arguments() -> None:
    for annotation in (Packed, Any):
        facts = describe_one(annotation, Packed(X[0]))
        assert isinstance(facts, JitArgumentFacts)
        assert (facts.cls, facts.signature, facts.names, slot_count(facts)) == (Packed, "q4", ("data",), 3)


def test_constexprs_keep_the_value() -> None:
    value = (1, "a", Color.RED)
    assert describe_one(Constexpr, value).value is value
    assert describe_one(Constexpr[int] | None, None) == ConstexprFacts(None)
    assert describe_one(Constexpr[Color], Color.RED) == ConstexprFacts(Color.RED)


@pytest.mark.parametrize(
    ("annotation", "value", "error", "said"),
    [
        (Constexpr[int], True, ArgumentTypeError, "argument 'x': found True of type bool"),
        (Constexpr[int], Color.RED, ArgumentTypeError, "takes exactly int"),
        (Constexpr[int], np.int64(1), ArgumentTypeError, "of type int64"),
        (Constexpr[int], None, ArgumentTypeError, "found None"),
        (Constexpr, X, UnkeyableError, "argument 'x'"),
        (Constexpr, np.array(3), UnkeyableError, "x.item()"),
        (Tensor, None, ArgumentTypeError, "not optional"),
        (Tensor, [1, 2], ArgumentTypeError, "a list"),
        (Tensor["n", 9], X, ArgumentValueError, "extent 8 on axis 1"),
        (Any, "text", ArgumentTypeError, "annotate it dt.Constexpr"),
        (Any, len, ArgumentTypeError, "annotate it dt.Constexpr"),
        (Any, Color.RED, ArgumentTypeError, "Color"),
        (Any, [X], ArgumentTypeError, "a list"),
        (Any, {"a": 1}, ArgumentTypeError, "builtins.dict"),
        (Any, object(), ArgumentTypeError, "protocols"),
        (Any, Config, ArgumentTypeError, "annotate it dt.Constexpr"),
        (Any, np.zeros(2, "c8"), ArgumentTypeError, "complex64"),
        (Any, 1j, ArgumentTypeError, "argument 'x'"),
        (dt.Int8, 128, ArgumentValueError, "-128 to 127"),
        (dt.Int8, None, ArgumentTypeError, "not optional"),
        (Pointer[dt.f16], X, ArgumentTypeError, "float32"),
        (Pointer[dt.f16], -1, ArgumentValueError, "address"),
        (Pointer[dt.f16], True, ArgumentTypeError, "bool"),
        (Pointer[dt.f16], 1.0, ArgumentTypeError, "float"),
        (Stream, "s", ArgumentTypeError, "cuda_stream"),
        (Stream, True, ArgumentTypeError, "cuda_stream"),
        (Stream, -1, ArgumentValueError, "handle"),
        (type, int, ArgumentTypeError, "scalar types"),
        (type, dt.Scalar, ArgumentTypeError, "scalar types"),
        (type[dt.f32], dt.f16, ArgumentTypeError, "dt.Float32"),
        (Pair, (X, X), ArgumentTypeError, "exactly Pair"),
        (Pair, Pair(X, [1]), ArgumentTypeError, "argument 'x.right'"),
        (Pair, Pair(X[0], X[:, 0]), ArgumentValueError, "argument 'x.right'"),
        (Any, (X, ([1],)), ArgumentTypeError, "argument 'x[1][0]'"),
        (tuple[dt.Int8, dt.Int8], (1,), ArgumentValueError, "a tuple of 1 items; accepted: 2"),
        (tuple[dt.Int8, dt.Int8], Pair(1, 2), ArgumentTypeError, "exactly tuple"),
        (Config, object(), ArgumentTypeError, "exactly Config"),
        (Config, Config, ArgumentTypeError, "the class Config"),
        (Config, Config("a"), ArgumentTypeError, "argument 'x.block'"),
        (Config, object.__new__(Config), ArgumentValueError, "argument 'x.block'"),
        (Packed, Packed(X, [1]), UnkeyableError, "argument 'x'"),
        (Packed, Packed([1]), ArgumentTypeError, "argument 'x.data'"),
    ],
)
def test_refusals_name_the_argument(annotation: Any, value: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error) as caught:
        describe_one(annotation, value)
    assert isinstance(caught.value, DarterError)
    assert "argument 'x" in str(caught.value)
    assert said in str(caught.value)


def test_contracts_hold_across_arguments_and_nested_ones() -> None:
    def function(x: Tensor["n"], pair: Pair): ...

    plan = plan_signature(function, owner=False)
    assert [t.name for t in describe(plan, (X[0], Pair(X[1], X[2]))).tensors] == ["x", "pair.left", "pair.right"]
    with pytest.raises(ArgumentValueError, match=r"argument 'pair.left'.*argument 'x'"):
        describe(plan, (X[:, 0], Pair(X[1], X[2])))


def test_devices_are_compared_across_tensors_and_pointers(monkeypatch: pytest.MonkeyPatch) -> None:
    # The driver knows whose address it is; this test needs none.
    monkeypatch.setattr(_native, "cuda_pointer_device", lambda address: 0)

    class OnGPU:
        __cuda_array_interface__ = {"shape": (4,), "typestr": "<f4", "data": (4096, False)}  # noqa: RUF012

    def function(x: Tensor, p: Pointer[dt.f32]): ...

    plan = plan_signature(function, owner=False)
    assert str(describe(plan, (OnGPU(), OnGPU())).device) == "cuda:0"
    assert str(describe(plan, (X, 64)).device) == "cpu"
    with pytest.raises(ArgumentValueError, match=r"argument 'p'.*cuda:0.*argument 'x' is on cpu"):
        describe(plan, (X, OnGPU()))
