"""The planner: one plan per parameter, from values and strings alike, and clear refusals."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Optional

import numpy as np
import pytest

import darter.dtypes as dt
from darter.errors import SignatureError
from darter.signature.annotations import Constexpr, Pointer, Stream, Tensor
from darter.signature.argument import JitArgument
from darter.signature.plan import MISSING, ParamKind, ParamPlan
from darter.signature.planner import plan_class, plan_signature

if TYPE_CHECKING:
    from elsewhere import OnlyForCheckers


def plan_of(annotation: Any, **defaults: Any) -> ParamPlan:
    def function(x): ...

    function.__annotations__ = {"x": annotation}
    if "default" in defaults:
        function.__defaults__ = (defaults["default"],)
    (parameter,) = plan_signature(function, owner=False).parameters
    return parameter


class Pair(NamedTuple):
    left: Tensor["n"]
    right: Tensor[dt.f32, "n"]
    block: Constexpr[int] = 128


@dataclass(frozen=True)
class Options:
    scale: dt.Float32
    pair: Pair


class Config:
    """A plain class: only its Constexpr fields may be read."""

    hidden: int
    block: Constexpr[int]
    mode: Constexpr


class Derived(Config):
    extra: Constexpr[str]
    mode: str


class Quantised:
    __jit_fields__ = ("data", "scale")
    data: Tensor["n"]

    def __cache_signature__(self) -> Any:
        return "q8"


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (Any, ParamPlan("x", ParamKind.ANY)),
        (JitArgument, ParamPlan("x", ParamKind.ANY)),
        (Tensor, ParamPlan("x", ParamKind.TENSOR)),
        (Tensor["n", 4], ParamPlan("x", ParamKind.TENSOR, dims=("n", 4))),
        (Annotated[Tensor, dt.bf16, "n", 4], ParamPlan("x", ParamKind.TENSOR, dtype=dt.bf16, dims=("n", 4))),
        (Annotated[Pointer, dt.bf16], ParamPlan("x", ParamKind.POINTER, dtype=dt.bf16)),
        (Annotated[dt.Int32, "documentation"], ParamPlan("x", ParamKind.SCALAR, dtype=dt.Int32)),
        (Pointer[dt.f32], ParamPlan("x", ParamKind.POINTER, dtype=dt.f32)),
        (dt.Int64, ParamPlan("x", ParamKind.SCALAR, dtype=dt.Int64)),
        (int, ParamPlan("x", ParamKind.SCALAR, dtype=dt.Int64)),
        (float, ParamPlan("x", ParamKind.SCALAR, dtype=dt.Float32)),
        (bool, ParamPlan("x", ParamKind.SCALAR, dtype=dt.Bool)),
        (Constexpr, ParamPlan("x", ParamKind.CONSTEXPR)),
        (Constexpr[int], ParamPlan("x", ParamKind.CONSTEXPR, constexpr_type=int)),
        (Constexpr[int] | None, ParamPlan("x", ParamKind.CONSTEXPR, constexpr_type=int, optional=True)),
        (Stream, ParamPlan("x", ParamKind.STREAM)),
        (type, ParamPlan("x", ParamKind.TYPE)),
        (type[dt.Scalar], ParamPlan("x", ParamKind.TYPE, cls=dt.Scalar)),
        (type[dt.f32], ParamPlan("x", ParamKind.TYPE, cls=dt.Float32)),
        (Tensor | None, ParamPlan("x", ParamKind.TENSOR, optional=True)),
        (Optional[Tensor["n"]], ParamPlan("x", ParamKind.TENSOR, optional=True, dims=("n",))),  # noqa: UP045
        (Tensor["n"] | None, ParamPlan("x", ParamKind.TENSOR, optional=True, dims=("n",))),
        (dt.Int32 | None, ParamPlan("x", ParamKind.SCALAR, dtype=dt.Int32, optional=True)),
        (Config, ParamPlan("x", ParamKind.SELF, cls=Config)),
    ],
)
def test_an_annotation_becomes_a_plan(annotation: Any, expected: ParamPlan) -> None:
    assert plan_of(annotation) == expected


@pytest.mark.parametrize("text", ["Tensor['n'] | None", "Optional[Tensor['n']]", "Optional['Tensor[\"n\"]']"])
def test_strings_are_evaluated(text: str) -> None:
    assert plan_of(text) == ParamPlan("x", ParamKind.TENSOR, optional=True, dims=("n",))


def test_strings_see_closure_before_globals_and_builtins() -> None:
    def make(Width: Any, int: Any) -> Any:
        def function(x: Width, y: int, z: bool):
            return Width, int

        return function

    kinds = [parameter.dtype for parameter in plan_signature(make(dt.Int8, dt.UInt8), owner=False).parameters]
    assert kinds == [dt.Int8, dt.UInt8, dt.Bool]


def test_kinds_of_parameters_and_defaults_are_kept() -> None:
    def function(a, b=1, /, c=2, *, d, e=None): ...

    plan = plan_signature(function, owner=False)
    assert [(p.name, p.positional_only, p.keyword_only, p.default) for p in plan.parameters] == [
        ("a", True, False, MISSING),
        ("b", True, False, 1),
        ("c", False, False, 2),
        ("d", False, True, MISSING),
        ("e", False, True, None),
    ]
    assert plan.name == function.__qualname__


@pytest.mark.parametrize(
    ("annotation", "optional"),
    [(Tensor, True), (Constexpr[int], True), (dt.Int32, True), (Stream, False), (Constexpr, False), (Any, False)],
)
def test_a_default_of_none_makes_optional_what_would_refuse_none(annotation: Any, optional: bool) -> None:
    assert plan_of(annotation, default=None).optional is optional


def test_structs_are_planned_field_by_field() -> None:
    plan = plan_of(Options)
    assert (plan.kind, plan.cls) == (ParamKind.STRUCT, Options)
    scale, pair = plan.fields
    assert (scale.name, scale.kind, scale.dtype) == ("scale", ParamKind.SCALAR, dt.Float32)
    assert (pair.name, pair.kind, pair.cls) == ("pair", ParamKind.STRUCT, Pair)
    assert pair.fields == plan_class(Pair)
    assert pair.fields[1] == ParamPlan("right", ParamKind.TENSOR, dtype=dt.f32, dims=("n",))
    assert pair.fields[2] == ParamPlan("block", ParamKind.CONSTEXPR, constexpr_type=int)


def test_a_tuple_with_listed_items_is_a_struct() -> None:
    plan = plan_of(tuple[Tensor, dt.Int32])
    assert (plan.kind, plan.cls) == (ParamKind.STRUCT, tuple)
    assert [(field.name, field.kind) for field in plan.fields] == [("0", ParamKind.TENSOR), ("1", ParamKind.SCALAR)]


def test_jit_arguments_plan_their_declared_fields() -> None:
    plan = plan_of(Quantised)
    assert (plan.kind, plan.cls) == (ParamKind.JIT_ARGUMENT, Quantised)
    assert plan.fields == (ParamPlan("data", ParamKind.TENSOR, dims=("n",)), ParamPlan("scale", ParamKind.ANY))


def test_other_classes_plan_their_constexpr_fields_through_the_mro() -> None:
    assert plan_class(Config) == (
        ParamPlan("block", ParamKind.CONSTEXPR, constexpr_type=int),
        ParamPlan("mode", ParamKind.CONSTEXPR),
    )
    assert [field.name for field in plan_class(Derived)] == ["block", "extra"]


def test_owner_makes_the_first_parameter_self_whatever_it_says() -> None:
    def method(this: int, x): ...

    first, second = plan_signature(method, owner=True).parameters
    assert first == ParamPlan("this", ParamKind.SELF)
    assert second.kind is ParamKind.ANY


@pytest.mark.parametrize(
    ("annotation", "said"),
    [
        (str, "class builtins.str"),
        (np.ndarray, "write dt.Tensor"),
        (np.float32, "write dt.Tensor"),
        (list[Tensor], "means nothing"),
        (tuple[Tensor, ...], "no fixed length"),
        (Tensor | int, "union"),
        (Pointer, "element type"),
        (type[int], "takes a scalar type"),
        (3, "means nothing"),
        ("OnlyForCheckers", "does not resolve"),
        ("Tensor[", "does not resolve"),
        ("Tensor[n]", 'quoted: dt.Tensor["n"]'),
    ],
)
def test_other_annotations_are_refused_by_function_and_parameter(annotation: Any, said: str) -> None:
    with pytest.raises(SignatureError, match=r"function\(\): parameter 'x': .*") as caught:
        plan_of(annotation)
    assert said in str(caught.value)


def test_variadic_parameters_are_refused() -> None:
    for function in (lambda *xs: None, lambda **xs: None):
        with pytest.raises(SignatureError, match=r"\*args and \*\*kwargs"):
            plan_signature(function, owner=False)
    with pytest.raises(SignatureError, match="takes self first"):
        plan_signature(lambda: None, owner=True)


def test_what_is_no_plain_function_is_refused() -> None:
    def generator():
        yield

    async def coroutine(): ...

    for wrong in (len, int, 3, functools.partial(len)):
        with pytest.raises(SignatureError, match="accepted: a function made by def"):
            plan_signature(wrong, owner=False)
    for wrong in (generator, coroutine):
        with pytest.raises(SignatureError, match="generators and coroutines"):
            plan_signature(wrong, owner=False)


def test_a_class_that_contains_itself_is_refused() -> None:
    @dataclass(frozen=True)
    class Node:
        child: Node

    with pytest.raises(SignatureError, match="contains itself"):
        plan_of(Node)


def test_a_bad_field_names_field_and_class() -> None:
    class Bad(NamedTuple):
        inner: str

    with pytest.raises(SignatureError, match=r"parameter 'x': field 'inner' of .*Bad"):
        plan_of(Bad)


def test_unresolvable_field_annotations_matter_only_for_constexprs() -> None:
    class Fine:
        block: Constexpr[int]
        other: OnlyForCheckers

    class Broken:
        block: Constexpr[OnlyForCheckers]

    assert [field.name for field in plan_class(Fine)] == ["block"]
    with pytest.raises(SignatureError, match=r"Broken.block.*does not resolve"):
        plan_class(Broken)


def test_jit_fields_must_be_a_tuple_of_names() -> None:
    class Wrong:
        __jit_fields__ = ["data"]  # noqa: RUF012

        def __cache_signature__(self) -> Any:
            return 0

    with pytest.raises(SignatureError, match="tuple of attribute names"):
        plan_of(Wrong)


@pytest.mark.parametrize("keyword_only", [False, True])
def test_a_tensor_as_default_is_refused_with_the_way_out(keyword_only: bool) -> None:
    def by_position(x: Tensor, y: Tensor = np.zeros(1)) -> None: ...  # noqa: B008

    def by_keyword(x: Tensor, *, y: Tensor = np.zeros(1)) -> None: ...  # noqa: B008

    with pytest.raises(SignatureError, match=r"parameter 'y': found a numpy\.ndarray as its default; .*None"):
        plan_signature(by_keyword if keyword_only else by_position, owner=False)
