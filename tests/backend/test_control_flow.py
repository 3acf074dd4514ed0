"""Branches, loops and early exits, on each backend."""

from __future__ import annotations

import numpy as np
import pytest

import darter as dt
from tests.backend.single_kernel import BLOCK, result

pytestmark = pytest.mark.usefixtures("backend")


@dt.kernel
def control_flow(x: dt.Tensor, out: dt.Tensor):
    i = dt.thread_idx.x
    if i >= 60:
        return
    total = 0
    for j in range(i):
        if j == 7:
            continue
        if j > 20:
            break
        total += j
    v, steps = x[i], 0
    while v != 1:
        v = v // 2 if v % 2 == 0 else 3 * v + 1
        steps += 1
        if steps > 100:
            break
    out[0, i] = dt.i64(total)
    out[1, i] = dt.i64(steps)


def _steps(v: int) -> int:
    steps = 0
    while v != 1 and steps <= 100:
        v = v // 2 if v % 2 == 0 else 3 * v + 1
        steps += 1
    return steps


def test_branches_loops_and_early_exits() -> None:
    x = np.arange(1, BLOCK + 1)
    out = result(control_flow, x, np.full((2, BLOCK), -1), block=BLOCK)
    sums = [sum(j for j in range(min(i, 21)) if j != 7) for i in range(60)]
    np.testing.assert_array_equal(out[0], sums + [-1] * 4)
    np.testing.assert_array_equal(out[1], [_steps(int(v)) for v in x[:60]] + [-1] * 4)
