"""Launchers and kernels under copy and pickle: as plain functions, which a program's own objects may hold."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import darter as dt


@dt.kernel
def fill_kernel(o: dt.Tensor, value: dt.Float32):
    if dt.thread_idx.x < o.shape[0]:
        o[dt.thread_idx.x] = value


@dt.jit
def fill(o: dt.Tensor, value: dt.Float32):
    fill_kernel(o, value).launch(grid=1, block=32)


class Model:
    scale: dt.Constexpr[float] = 2.0

    def __init__(self, scale: float = 2.0) -> None:
        self.scale = scale

    @dt.jit
    def fill(self, o: dt.Tensor):
        fill_kernel(o, self.scale).launch(grid=1, block=32)


@dataclass
class Holder:
    launcher: Any
    kernel: Any


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_launchers_and_kernels_are_kept_as_they_are(duplicate: Any) -> None:
    assert duplicate(fill) is fill
    assert duplicate(fill_kernel) is fill_kernel
    held = duplicate(Holder(fill, fill_kernel))
    assert held.launcher is fill
    assert held.kernel is fill_kernel


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_a_bound_launcher_comes_back_bound_to_the_copied_object(duplicate: Any) -> None:
    model, out = Model(3.0), np.zeros(4, np.float32)
    bound = duplicate(model.fill)
    assert bound.__self__ is not model
    bound(out)
    assert (out == 3).all()


def test_a_compiled_function_is_copied_as_itself_and_says_why_it_is_not_pickled() -> None:
    compiled = dt.compile(fill, np.zeros(4, np.float32), 1.0)
    assert copy.copy(compiled) is copy.deepcopy(compiled) is compiled
    with pytest.raises(TypeError, match=r"cannot be pickled.*dt\.compile in the other process"):
        pickle.dumps(compiled)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_an_explicit_argument_is_copied_with_its_tensor(duplicate: Any) -> None:
    array = np.zeros(4, np.float32)
    argument = dt.from_dlpack(array).mark_shape_dynamic()
    twin = duplicate(argument)
    fill(twin, 2.0)
    assert (twin.source == 2).all()
    assert (array == 0).all()
    assert (twin.shape_mask, twin.stride_mask) == (argument.shape_mask, argument.stride_mask)
