"""Torch tensors: read as NumPy arrays are, and refused wherever their memory is not their value."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import darter.dtypes as dt
from darter.errors import ArgumentTypeError, ArgumentValueError
from darter.signature.reader import read_tensor

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("dtype", dt.ALL, ids=repr)
def test_every_dtype_is_read(dtype: dt.ScalarType) -> None:
    tensor = torch.zeros((3, 4), dtype=getattr(torch, dtype.numpy_name))
    view = read_tensor("x", tensor)
    assert (view.dtype, view.shape, view.strides) == (dtype, (3, 4), (4, 1))
    assert (view.address, view.device, view.readonly) == (tensor.data_ptr(), "cpu", False)


def test_views_read_as_the_numpy_arrays_over_the_same_memory() -> None:
    tensor = torch.zeros(6, 8)
    for view in (tensor.t(), tensor[1:, ::3], tensor[:1].expand(5, 8), tensor[0, 0], tensor[2:2]):
        seen, expected = read_tensor("x", view), read_tensor("x", view.numpy())
        assert (seen.shape, seen.dtype) == (expected.shape, expected.dtype)
        if view.numel():
            assert seen == expected


def test_parameters_and_tensors_that_require_grad_are_read() -> None:
    parameter = torch.nn.Parameter(torch.zeros(3))
    assert read_tensor("x", parameter).address == parameter.data_ptr()
    assert read_tensor("x", parameter * 2).shape == (3,)


def unusual() -> dict[str, Any]:
    """Return, per name, a tensor that must be refused, what is said, and the class of the refusal."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    plain, complex64 = torch.ones(4, 4), torch.zeros(3, dtype=torch.complex64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with FakeTensorMode():
            fake = torch.ones(3)
        quantised = torch.quantize_per_tensor(plain, 0.1, 0, torch.quint8)
        csr = plain.to_sparse_csr()
        nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
        jagged = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)
    freed = torch.ones(5)
    freed.untyped_storage().resize_(0)

    class Subclass(torch.Tensor):
        pass

    return {
        "fake": (fake, "FakeTensor", ArgumentTypeError),
        "meta": (torch.ones(3, device="meta"), "meta", ArgumentTypeError),
        "sparse_coo": (plain.to_sparse(), "sparse", ArgumentTypeError),
        "sparse_csr": (csr, "sparse", ArgumentTypeError),
        "quantised": (quantised, "quantised", ArgumentTypeError),
        "mkldnn": (plain.to_mkldnn(), "mkldnn", ArgumentTypeError),
        "nested": (nested, "nested", ArgumentTypeError),
        "jagged": (jagged, "subclass of torch.Tensor", ArgumentTypeError),
        "complex": (complex64, "x.real", ArgumentTypeError),
        "conj": (
            torch.view_as_real(complex64).new_zeros(3, dtype=torch.complex64).conj(),
            "complex64",
            ArgumentTypeError,
        ),
        "neg": (complex64.conj().imag, "resolve_neg", ArgumentTypeError),
        "zero": (torch._efficientzerotensor(3), "zero tensor", ArgumentTypeError),
        "freed": (freed, "NULL data", ArgumentValueError),
        "subclass": (plain.as_subclass(Subclass), "Subclass", ArgumentTypeError),
        "lazy": (torch.nn.parameter.UninitializedParameter(), "lazy module", ArgumentTypeError),
        "bits": (torch.zeros(3, dtype=torch.uint8).view(torch.bits8), "accepted: bool", ArgumentTypeError),
    }


@pytest.mark.parametrize("case", sorted(unusual()))
def test_refused_by_name(case: str) -> None:
    tensor, said, error = unusual()[case]
    with pytest.raises(error, match="argument 'x': found ") as caught:
        read_tensor("x", tensor)
    assert said in str(caught.value)


def test_vmap_and_functionalize_wrappers_are_refused() -> None:
    refusals: list[str] = []

    def read(x: Any) -> Any:
        with pytest.raises(ArgumentTypeError) as caught:
            read_tensor("x", x)
        refusals.append(str(caught.value))
        return x

    torch.func.vmap(read)(torch.ones(2, 3))
    torch.func.functionalize(read)(torch.ones(3))
    torch.func.vmap(torch.func.grad(lambda x: read(x).sum()))(torch.ones(2, 3))
    assert ["vmap" in refusals[0], "functionalize" in refusals[1], "vmap" in refusals[2]] == [True] * 3


def test_grad_wrappers_are_read_through() -> None:
    inner = torch.ones(2, 3)
    seen: list[int] = []

    def read(x: Any) -> Any:
        seen.append(read_tensor("x", x).address)
        return x.sum()

    torch.func.grad(read)(inner)
    torch.func.grad(lambda x: torch.func.grad(read)(x).sum())(inner)
    assert seen == [inner.data_ptr()] * 2


def test_a_huge_view_costs_nothing() -> None:
    view = read_tensor("x", torch.empty_strided((2**31 + 8,), (0,)))
    assert (view.shape, view.strides) == ((2**31 + 8,), (0,))
    assert np.prod(view.shape) > 2**31
