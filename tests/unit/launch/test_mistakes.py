"""What a newcomer does wrong, seen from outside: which error comes, how it names things, how long its traceback is."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import darter as dt

pytestmark = pytest.mark.usefixtures("fresh_store")


@dt.kernel
def fill_kernel(x: dt.Tensor, value: dt.Float32):
    x[dt.thread_idx.x] = value


@dt.jit
def fill(x: dt.Tensor[dt.f32, "n"], blocks: dt.Int64 = 1):
    fill_kernel(x, 1.0).launch(grid=blocks, block=4)


def array() -> Any:
    return np.zeros(4, np.float32)


def test_a_kernel_is_no_function_of_the_host() -> None:
    with pytest.raises(dt.KernelTypeError, match=r"decorated with @dt.jit: fill_kernel\(...\).launch\(grid="):
        fill_kernel(array(), 1.0)


def test_a_kernel_takes_no_subscript() -> None:
    with pytest.raises(dt.KernelTypeError, match=r"fill_kernel\(...\).launch\(grid=..., block=...\)"):
        fill_kernel[(1,), (4,)](array(), 1.0)


@pytest.mark.parametrize("decorator", [dt.jit, dt.kernel])
def test_a_lambda_is_refused_where_it_is_decorated(decorator: Any) -> None:
    with pytest.raises(dt.SignatureError, match="found a lambda"):
        decorator(lambda x: None)


def test_a_grid_error_calls_the_kernel_by_its_name() -> None:
    with pytest.raises(dt.GridError, match="launch of 'fill_kernel': grid x is -1") as caught:
        fill(array(), -1)
    assert f"{Path(__file__).name}:" in str(caught.value)


def test_a_launcher_may_launch_nothing() -> None:
    @dt.jit
    def nothing(x: dt.Tensor["n"]):
        if x.shape[0] > 4:
            raise ValueError(f"{x.shape[0]} elements")

    nothing(array())
    with pytest.raises(ValueError, match="8 elements"):
        nothing(np.zeros(8, np.float32))


def test_a_failure_in_a_local_kernel_shows_its_line() -> None:
    @dt.kernel
    def check_kernel(x: dt.Tensor):
        dt.assert_(x[dt.thread_idx.x] > 0, "x is not positive")  # noqa: PT009

    @dt.jit
    def check(x: dt.Tensor):
        check_kernel(x).launch(grid=1, block=4)

    with pytest.raises(dt.DeviceAssertError, match="kernel 'check_kernel': assertion failed") as caught:
        check(array())
    assert 'dt.assert_(x[dt.thread_idx.x] > 0, "x is not positive")' in str(caught.value)


def test_the_traceback_of_a_compile_error_is_the_caller_and_one_frame_of_darter() -> None:
    @dt.kernel
    def unbound(x: dt.Tensor):
        x[0] = undefined_name

    @dt.jit
    def apply(x: dt.Tensor):
        unbound(x).launch(grid=1, block=4)

    with pytest.raises(dt.KernelNameError, match="name 'undefined_name' is not defined") as caught:
        apply(array())
    assert len(traceback.extract_tb(caught.value.__traceback__)) == 2
    assert caught.value.__cause__ is None


def test_what_static_code_raised_is_the_cause() -> None:
    def divide(n: int) -> int:
        return 1 // n

    @dt.kernel
    def divided(x: dt.Tensor):
        x[0] = dt.Float32(divide(0))

    @dt.jit
    def apply(x: dt.Tensor):
        divided(x).launch(grid=1, block=4)

    with pytest.raises(dt.StaticEvaluationError) as caught:
        apply(array())
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
