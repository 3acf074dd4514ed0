"""Contracts: what breaks each clause, and that the message names argument and both values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import darter.dtypes as dt
from darter.errors import ArgumentTypeError, ArgumentValueError
from darter.signature.annotations import Tensor
from darter.signature.contracts import BoundTensor, check_contracts, common_device
from darter.signature.plan import ParamKind, ParamPlan
from darter.signature.reader import read_tensor
from darter.signature.view import TensorView
from darter.target import Device


def bound(name: str, contract: Any, shape: tuple[int, ...], dtype: Any = np.float32) -> BoundTensor:
    plan = ParamPlan(name, ParamKind.TENSOR, dtype=contract.dtype, dims=contract.dims)
    return BoundTensor(name, plan, read_tensor(name, np.zeros(shape, dtype)))


def test_a_kept_contract_says_nothing() -> None:
    check_contracts(
        [
            bound("x", Tensor[dt.f32, "n", 4, None], (3, 4, 9)),
            bound("y", Tensor["m", "n"], (5, 3)),
            bound("z", Tensor["m", "m"], (5, 5)),
            bound("w", Tensor[dt.f32, ...], (1, 2, 3, 4)),
            bound("s", Tensor[()], ()),
        ]
    )


@pytest.mark.parametrize(
    ("tensors", "error", "said"),
    [
        ([("x", Tensor[dt.f16, ...], (3,))], ArgumentTypeError, ["argument 'x'", "float32", "float16"]),
        ([("x", Tensor["n", 4], (3,))], ArgumentTypeError, ["argument 'x'", "rank 1", "rank 2", 'dt.Tensor["n", 4]']),
        ([("x", Tensor[()], (3,))], ArgumentTypeError, ["argument 'x'", "rank 1", "rank 0"]),
        ([("x", Tensor["n", 4], (3, 5))], ArgumentValueError, ["argument 'x'", "extent 5 on axis 1", "4"]),
        (
            [("x", Tensor["n"], (3,)), ("y", Tensor[2, "n"], (2, 4))],
            ArgumentValueError,
            ["argument 'y'", "extent 4 on axis 1", '"n"', "accepted: 3", "argument 'x' has on axis 0"],
        ),
        ([("x", Tensor["n", "n"], (3, 4))], ArgumentValueError, ["argument 'x'", "extent 4", "accepted: 3"]),
    ],
)
def test_a_broken_contract_names_argument_and_values(tensors: Any, error: type[Exception], said: list[str]) -> None:
    with pytest.raises(error) as caught:
        check_contracts([bound(*tensor) for tensor in tensors])
    assert [part for part in said if part not in str(caught.value)] == []


def on(name: str, device_type: int, ordinal: int) -> BoundTensor:
    view = TensorView(64, dt.f32, (4,), (1,), device_type, ordinal, False)
    return BoundTensor(name, ParamPlan(name, ParamKind.TENSOR), view)


def test_the_device_is_that_of_the_tensors() -> None:
    assert common_device([]) == Device("cpu", 0)
    assert common_device([on("x", 1, 0)]) == Device("cpu", 0)
    assert common_device([on("x", 2, 3), on("y", 2, 3)]) == Device("cuda", 3)
    assert common_device([on("x", 10, 1)]) == Device("hip", 1)


@pytest.mark.parametrize(("other", "shown"), [((2, 1), "cuda:1"), ((1, 0), "cpu"), ((10, 0), "hip:0")])
def test_mixed_devices_name_both_arguments(other: tuple[int, int], shown: str) -> None:
    with pytest.raises(ArgumentValueError) as caught:
        common_device([on("x", 2, 0), on("y", 2, 0), on("z", *other)])
    assert f"argument 'z': found on device {shown}, but argument 'x' is on cuda:0" in str(caught.value)
