"""``JitFunction._time_parts``: the steps of a warm call alone."""

from __future__ import annotations

import numpy as np
import pytest

import darter as dt


@dt.kernel
def count_kernel(x: dt.Tensor):
    x[0] = x[0] + 1


@dt.jit
def count(x: dt.Tensor, n: dt.Int32 = 1, stream: dt.Stream = None):
    count_kernel(x).launch(grid=1, block=1, stream=stream)


def test_each_part_has_a_time_and_the_program_runs() -> None:
    x = np.zeros(4, np.int32)
    count(x)
    parts = count._time_parts(10, x, n=2)
    assert parts.keys() == {"bind", "reading", "key", "lookup", "guards", "program"}
    assert min(parts.values()) > 0
    assert x[0] == 11


def test_arguments_are_refused_as_a_call_refuses_them() -> None:
    count(np.zeros(4, np.int32))
    with pytest.raises(dt.ArgumentTypeError, match="argument 'x'"):
        count._time_parts(10, None)


@pytest.mark.parametrize("repeats", [(), (0,), (-1,)])
def test_repeats_are_at_least_one(repeats: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="repeats is at least 1"):
        count._time_parts(*repeats)


def test_repeats_are_a_number() -> None:
    with pytest.raises(TypeError):
        count._time_parts("many", np.zeros(4, np.int32))
