"""Annotations: what each spelling states, and what none of them can be."""

from __future__ import annotations

from typing import Any, Optional

import pytest

import darter.dtypes as d
from darter.errors import ArgumentTypeError, SignatureError
from darter.signature.annotations import (
    Constexpr,
    ConstexprAnnotation,
    OptionalAnnotation,
    Pointer,
    PointerAnnotation,
    Stream,
    Tensor,
    TensorAnnotation,
)


@pytest.mark.parametrize(
    ("annotation", "dtype", "dims"),
    [
        (Tensor["n"], None, ("n",)),
        (Tensor["n", 4, None], None, ("n", 4, None)),
        (Tensor[d.bf16, "T", "H", 512], d.BFloat16, ("T", "H", 512)),
        (Tensor[d.f32, ...], d.Float32, None),
        (Tensor[d.f32], d.Float32, None),
        (Tensor[...], None, None),
        (Tensor[()], None, ()),
        (Tensor[d.f32, ()], d.Float32, ()),
        (Tensor[0], None, (0,)),
    ],
)
def test_tensor_subscript_states_dtype_and_dims(annotation: Any, dtype: Any, dims: Any) -> None:
    assert annotation == TensorAnnotation(dtype, dims)


@pytest.mark.parametrize(
    "items", [(-1,), (True,), (1.0,), ("no name",), ("n", d.f32), (d.f32, "n", ...), (1 << 63,), (d.Scalar,)]
)
def test_tensor_subscript_refuses_what_is_no_extent(items: Any) -> None:
    with pytest.raises(SignatureError, match=r"dt\.Tensor\[\.\.\.\]"):
        Tensor[items]


def test_pointer_takes_one_scalar_type() -> None:
    assert Pointer[d.f16] == PointerAnnotation(d.Float16)
    for wrong in (int, d.Scalar, (d.f32, d.f32), "f32"):
        with pytest.raises(SignatureError, match="one scalar type"):
            Pointer[wrong]


def test_constexpr_demands_an_exact_type_or_none_at_all() -> None:
    assert Constexpr[int] == ConstexprAnnotation(int)
    assert Constexpr[tuple[int, int]] == ConstexprAnnotation(tuple)
    assert Constexpr[Any] is Constexpr
    assert Constexpr[int | None] == OptionalAnnotation(ConstexprAnnotation(int))
    for wrong in (3, "int", int | str):
        with pytest.raises(SignatureError, match="one class"):
            Constexpr[wrong]


def test_or_none_works_on_subscripted_annotations() -> None:
    assert (Tensor["n"] | None) == OptionalAnnotation(Tensor["n"])
    assert (None | Pointer[d.f32]) == OptionalAnnotation(Pointer[d.f32])
    assert Optional[Tensor["n"]].__args__ == (Tensor["n"], type(None))  # noqa: UP045
    with pytest.raises(TypeError):
        Tensor["n"] | 3


@pytest.mark.parametrize("cls", [Tensor, Pointer, Constexpr, Stream])
def test_annotations_have_no_instances(cls: type) -> None:
    with pytest.raises(ArgumentTypeError, match="has no instances"):
        cls()
