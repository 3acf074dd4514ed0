"""The native lean key is the Python full key, word for word; what one refuses the other refuses, in the same class."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, strategies as st

import darter.dtypes as dt
from darter import _native
from darter.errors import DarterError
from darter.signature.annotations import Constexpr, Pointer, Stream, Tensor
from darter.signature.binder import bind
from darter.signature.contracts import BoundTensor
from darter.signature.describe import describe
from darter.signature.planner import plan_signature
from darter.signature.words import constexpr_words, key_words

from .layouts import numpy_arrays, numpy_refusals, torch_refusals, torch_tensors
from .test_keys import Box, Plain, Whole, explicit, values

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]

pytestmark = pytest.mark.usefixtures("layouts_are_shown")
needs_torch = pytest.mark.skipif(torch is None, reason="torch is not installed")


class Cold:
    """What the native module asks of Python while it reads arguments: encodings that it does not write itself."""

    function: Any = None

    def constexpr_words(self, value: Any, name: str) -> tuple[int, ...]:
        return constexpr_words(value, self.function._intern, name)


class Twin:
    """One launcher, keyed both ways."""

    def __init__(self, function: Callable[..., Any], owner: bool = False) -> None:
        self.plan = plan_signature(function, owner)
        cold = Cold()
        self.native = _native.JitFunction(lambda dispatcher, is_method: cold, self.plan)
        cold.function = self.native

    def agree(self, *args: Any, **kwargs: Any) -> None:
        """Assert that both say the same of a call, and say it again when the caches are warm."""
        refusal: DarterError | None = None
        try:
            described = describe(self.plan, bind(self.plan, args, kwargs))
        except DarterError as error:
            refusal = error
        if refusal is not None:
            for _ in range(2):
                with pytest.raises(type(refusal)) as caught:
                    self.native._key_words(*args, **kwargs)
                assert type(caught.value) is type(refusal), f"{caught.value}\n{refusal}"
                assert ("argument '" in str(caught.value)) >= ("argument '" in str(refusal))
            return
        expected = key_words(self.plan, described.descriptors, described.device, self.native._intern)
        for _ in range(2):
            assert self.native._key_words(*args, **kwargs) == expected
        self.slots_agree(described.tensors, self.native._slots(*args, **kwargs))

    def slots_agree(self, tensors: tuple[BoundTensor, ...], slots: tuple[int, ...]) -> None:
        """Assert that each tensor's address, extents and used strides stand in the slots, in order."""
        rest = iter(signed(slots))
        for tensor in tensors:
            if tensor.plan.name == "p":  # a pointer: its address alone
                assert tensor.view.address in {word % 2**64 for word in rest}
                continue
            view = tensor.view
            for word in rest:  # scalars that stand before it
                if word % 2**64 == view.address:
                    break
            assert tuple(next(rest) for _ in view.shape) == view.shape
            for extent, stride in zip(view.shape, view.strides, strict=True):
                word = next(rest)
                assert extent <= 1 or word == stride


def signed(words: tuple[int, ...]) -> Iterator[int]:
    for word in words:
        yield word - (1 << 64) if word >> 63 else word


class Loose(NamedTuple):
    first: Any
    second: Any


class Typed(NamedTuple):
    x: Tensor
    n: dt.Int16
    block: Constexpr
    m: dt.Float32 | None


@dataclass(frozen=True)
class Frozen:
    left: Any
    right: Loose


class Config:
    block: Constexpr

    def __init__(self, block: Any) -> None:
        self.block = block

    def method(self, x): ...


class Packed:
    __jit_fields__ = ("data", "scale")
    data: Tensor

    def __init__(self, data: Any, scale: Any, signature: Any) -> None:
        self.data, self.scale, self.signature = data, scale, signature

    def __cache_signature__(self) -> Any:
        return self.signature


class Handle:
    cuda_stream = 12


def any_two(x, y): ...


def tensor_only(x: Tensor): ...


def contract(x: Tensor["n", 4], y: Tensor["m", "n"]): ...


def pointer_only(p: Pointer[dt.f32]): ...


def constexpr_only(C: Constexpr): ...


def optional(x: Tensor | None, n: dt.Int32 | None, C: Constexpr[int] | None, p: Pointer[dt.f32] | None): ...


def packed_only(p: Packed): ...


def typed_only(t: Typed): ...


def config_only(c: Config): ...


def tuple_only(t: tuple[Tensor, dt.Int8]): ...


def stream_only(n: dt.Int32, s: Stream = None): ...


def type_only(t: type[dt.Scalar]): ...


scalars = st.one_of(
    st.booleans(),
    st.integers(-(2**64) - 2, 2**64 + 2),
    st.integers(-300, 300),
    st.floats(),
    st.sampled_from(dt.ALL).flatmap(lambda dtype: st.sampled_from([0, 1]).map(dtype)),
    st.sampled_from([np.longlong(7), np.longdouble(1), np.complex64(1), Whole.A, Plain.A, 1j, None, "1", b"1"]),
)

arguments = st.one_of(numpy_arrays(), scalars, st.sampled_from(dt.ALL), explicit(numpy_arrays()))

nested = st.recursive(
    arguments,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple),
        st.builds(Loose, inner, inner),
        st.builds(Box, inner, inner),
        st.builds(lambda a, b, c: Frozen(a, Loose(b, c)), inner, inner, inner),
    ),
    max_leaves=5,
)


@given(array=numpy_arrays())
def test_numpy_arrays(array: Any) -> None:
    Twin(tensor_only).agree(array)
    Twin(any_two).agree(array, array)


@needs_torch
@pytest.mark.parametrize("accelerated", [True, False])
def test_torch_tensors(accelerated: bool) -> None:
    """By the verified reader and, where it is switched off, by DLPack."""

    @given(tensor=torch_tensors())
    def check(tensor: Any) -> None:
        Twin(tensor_only).agree(tensor)

    _native.set_torch_acceleration(accelerated)
    try:
        check()
    finally:
        _native.set_torch_acceleration(True)


@given(argument=explicit(numpy_arrays()))
def test_explicit_arguments(argument: Any) -> None:
    Twin(tensor_only).agree(argument)


@given(first=nested, second=nested)
def test_arguments_without_annotation(first: Any, second: Any) -> None:
    Twin(any_two).agree(first, second)


@given(calls=st.lists(nested, min_size=2, max_size=5))
def test_one_launcher_that_sees_many_kinds(calls: list[Any]) -> None:
    """Inline caches of one call must not decide another."""
    twin = Twin(any_two)
    for argument in (*calls, *reversed(calls)):
        twin.agree(argument, argument)


@given(value=values)
def test_compile_time_values(value: Any) -> None:
    Twin(constexpr_only).agree(value)


@given(value=scalars, dtype=st.sampled_from(dt.ALL))
def test_scalars(value: Any, dtype: Any) -> None:
    def annotated(n): ...

    annotated.__annotations__["n"] = dtype
    Twin(annotated).agree(value)


@pytest.mark.parametrize("dtype", dt.ALL, ids=repr)
def test_scalars_at_the_edges_of_their_range(dtype: dt.ScalarType) -> None:
    def annotated(n): ...

    annotated.__annotations__["n"] = dtype
    twin = Twin(annotated)
    if dtype.is_integer:
        edges: list[Any] = [dtype.min - 1, dtype.min, dtype.max, dtype.max + 1]
    else:
        import ml_dtypes

        largest = float(ml_dtypes.finfo(dtype.numpy()).max) if dtype.is_float else 1.0
        step = largest * float(ml_dtypes.finfo(dtype.numpy()).eps) if dtype.is_float else 1.0
        edges = [largest + step * part / 16 for part in range(-2, 18)] + [largest, -largest, float("inf"), float("nan")]
    for edge in edges:
        twin.agree(edge)


@given(x=numpy_arrays(), y=numpy_arrays())
def test_contracts(x: Any, y: Any) -> None:
    Twin(contract).agree(x, y)


@given(rows=st.integers(0, 3), columns=st.integers(3, 4), others=st.integers(0, 3))
def test_contracts_that_nearly_hold(rows: int, columns: int, others: int) -> None:
    Twin(contract).agree(np.zeros((rows, columns)), np.zeros((2, others)))


@given(source=st.one_of(numpy_arrays(), explicit(numpy_arrays()), st.integers(-2, 2**64), scalars))
def test_pointers(source: Any) -> None:
    Twin(pointer_only).agree(source)


class Layer:
    """A class with compile-time fields whose instances can be called, as modules of networks can."""

    width: Constexpr[int] = 4

    def __call__(self) -> None: ...


@pytest.mark.parametrize(
    "value",
    [Layer(), Layer, len, any_two, [1], {1: 2}, {1}, object(), b"1", range(3), Ellipsis, np.dtype("f4"), slice(None)],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_what_stands_for_no_array(value: Any) -> None:
    for twin in (Twin(any_two), Twin(lambda x, y: None)):
        twin.agree(value, (value, 1))
    Twin(tensor_only).agree(value)
    Twin(constexpr_only).agree(value)
    Twin(lambda self: None, owner=True).agree(value)


@pytest.mark.parametrize("value", numpy_refusals(), ids=lambda value: f"{type(value).__name__}-{value.dtype}")
def test_numpy_arrays_that_are_refused(value: Any) -> None:
    Twin(any_two).agree(value, 1)
    Twin(tensor_only).agree(value)
    Twin(pointer_only).agree(value)
    twin = Twin(tensor_only)
    twin.agree(np.zeros(3))
    twin.agree(value)
    twin.agree(np.zeros(3))


@needs_torch
@pytest.mark.parametrize("accelerated", [True, False])
def test_torch_tensors_that_are_refused(accelerated: bool) -> None:
    _native.set_torch_acceleration(accelerated)
    try:
        for tensor in torch_refusals():
            twin = Twin(tensor_only)
            twin.agree(tensor)
            twin.agree(torch.zeros(3))
            twin.agree(tensor)
            Twin(any_two).agree(tensor, 1)
    finally:
        _native.set_torch_acceleration(True)


@needs_torch
@pytest.mark.parametrize("accelerated", [True, False])
def test_wrappers_of_torch_func(accelerated: bool) -> None:
    twin = Twin(tensor_only)

    def seen(x: Any) -> Any:
        twin.agree(x)
        return x.sum()

    _native.set_torch_acceleration(accelerated)
    try:
        torch.func.grad(seen)(torch.ones(2, 3))
        torch.func.vmap(seen)(torch.ones(2, 3))
        torch.func.functionalize(seen)(torch.ones(2, 3))
        torch.func.vmap(torch.func.grad(seen))(torch.ones(2, 3))
    finally:
        _native.set_torch_acceleration(True)


@given(data=st.data())
def test_optional_arguments(data: st.DataObject) -> None:
    choices = (numpy_arrays(), st.integers(-9, 9), st.one_of(st.integers(), st.booleans()), st.integers(0, 2**40))
    Twin(optional).agree(*(data.draw(st.one_of(st.none(), choice)) for choice in choices))


@given(x=numpy_arrays(), n=scalars, block=values, m=scalars)
def test_structs(x: Any, n: Any, block: Any, m: Any) -> None:
    for twin in (Twin(typed_only), Twin(lambda t: None)):
        twin.agree(Typed(x, n, block, m))
        twin.agree(Typed(x, 3, block, None))
    Twin(tuple_only).agree((x, n))


@given(block=values, data=numpy_arrays(), scale=scalars)
def test_objects_and_jit_arguments(block: Any, data: Any, scale: Any) -> None:
    for twin in (Twin(config_only), Twin(lambda c: None), Twin(lambda self: None, owner=True)):
        twin.agree(Config(block))
        twin.agree(Config)
    for twin in (Twin(packed_only), Twin(lambda p: None)):
        twin.agree(Packed(data, scale, block))
        twin.agree(Packed(data, 1, [block]))


@pytest.mark.parametrize("value", [None, 0, 7, 2**64 - 1, 2**64, -1, True, 1.0, "s", Handle(), np.int64(3)])
def test_streams(value: Any) -> None:
    Twin(stream_only).agree(1, value)
    Twin(stream_only).agree(1, s=value)


@pytest.mark.parametrize("value", [*dt.ALL, dt.Scalar, int, None, "f32", np.float32, np.dtype("f4")])
def test_types(value: Any) -> None:
    Twin(type_only).agree(value)
