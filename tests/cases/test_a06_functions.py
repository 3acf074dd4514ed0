"""A06: functions and kernels as compile-time arguments, from factories, with closures of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import darter as dt


@dt.kernel
def apply_kernel(x: dt.Tensor, o: dt.Tensor, n: dt.Int64, F: dt.Constexpr):
    i = dt.block_idx.x * 32 + dt.thread_idx.x
    if i < n:
        o[i] = F(x[i])


@dt.kernel
def copy_kernel(x: dt.Tensor, o: dt.Tensor, n: dt.Int64, F: dt.Constexpr):
    i = dt.block_idx.x * 32 + dt.thread_idx.x
    if i < n:
        o[i] = x[i]


def launcher() -> Any:
    @dt.jit
    def apply(x: dt.Tensor, o: dt.Tensor, F: dt.Constexpr, K: dt.Constexpr = apply_kernel):
        n = x.shape[0]
        K(x, o, n, F).launch(grid=dt.cdiv(n, 32), block=32)

    return apply


def scaled_by(factor: float) -> Callable[[Any], Any]:
    def scale(v):
        return v * factor

    return scale


def run(apply: Any, *functions: Any) -> list[float]:
    x, o = np.ones(5, np.float32), np.zeros(5, np.float32)
    apply(x, o, *functions)
    return list(set(o.tolist()))


@pytest.mark.usefixtures("fresh_store")
def test_A06_functions_of_one_factory_are_different_arguments() -> None:
    apply = launcher()
    # Factors that no other test has: what this process has built, it does not build again.
    first, second = scaled_by(20.0), scaled_by(30.0)
    for _ in range(2):
        assert run(apply, first) == [20.0]
        assert run(apply, second) == [30.0]
        assert run(apply, abs) == [1.0]
    assert apply.cache_info()["compiles"] == 3
    assert apply.cache_info()["memory_hits"] == 3


@pytest.mark.usefixtures("fresh_store")
def test_A06_twin_equal_functions_hit_the_disk() -> None:
    assert run(launcher(), scaled_by(2.0)) == [2.0]
    again = launcher()
    assert run(again, scaled_by(2.0)) == [2.0]
    assert again.cache_info()["compiles"] == 0
    assert run(again, scaled_by(4.0)) == [4.0]
    assert again.cache_info()["compiles"] == 1


def test_A06_a_changed_cell_of_a_function_argument_is_drift(fresh_store: Path) -> None:
    apply = launcher()
    scale = scaled_by(2.0)
    assert run(apply, scale) == [2.0]
    scale.__closure__[0].cell_contents = 5.0  # type: ignore[index]
    with pytest.raises(dt.CaptureDriftError, match="factor"):
        run(apply, scale)
    apply.accept_drift()
    assert run(apply, scale) == [5.0]


@pytest.mark.usefixtures("fresh_store")
def test_A06_kernels_are_compile_time_arguments() -> None:
    apply = launcher()
    assert run(apply, scaled_by(2.0), apply_kernel) == [2.0]
    assert run(apply, scaled_by(2.0), copy_kernel) == [1.0]
