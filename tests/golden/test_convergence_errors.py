"""What a barrier under divergent flow says to the author of a kernel: both places, with the source."""

from __future__ import annotations

import re

import numpy as np
import pytest

import darter as dt


@dt.kernel
def leaves_early(x: dt.Tensor, n: dt.Int64):
    i = dt.thread_idx.x
    if i >= n:
        return
    x[i] = 1.0
    dt.barrier()


@dt.kernel
def loops_apart(x: dt.Tensor, n: dt.Int64):
    for k in range(dt.thread_idx.x):
        if x[k] > 0.0:
            dt.barrier()


@dt.jit
def launcher(x: dt.Tensor, n: dt.Int64, EARLY: dt.Constexpr[bool]):
    if EARLY:
        leaves_early(x, n).launch(grid=1, block=64)
    else:
        loops_apart(x, n).launch(grid=1, block=64)


EARLY = """\
barrier() must be reached by all threads of the block, but some threads have left before it; \
move it out, or let what decides be the same for the whole block
  at FILE:+5:5, in leaves_early
    dt.barrier()
    ^^^^^^^^^^^^
left by the return at line +3, under this condition:
  at FILE:+2:5, in leaves_early
    if i >= n:
    ^^^^^^^^^^"""

APART = """\
barrier() must be reached by all threads of the block, but it stands under a trip count that differs between threads; \
move it out, or let what decides be the same for the whole block
  at FILE:+3:13, in loops_apart
    dt.barrier()
    ^^^^^^^^^^^^
under this trip count:
  at FILE:+1:5, in loops_apart
    for k in range(dt.thread_idx.x):
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"""


@pytest.mark.parametrize(("early", "kernel", "expected"), [(True, leaves_early, EARLY), (False, loops_apart, APART)])
def test_the_message_shows_both_lines(early: bool, kernel: object, expected: str) -> None:
    with pytest.raises(dt.DarterError) as caught:
        launcher(np.ones(64, np.float32), 64, early)
    first = kernel.__wrapped__.__code__.co_firstlineno + 1  # the line after the decorator
    text = str(caught.value).replace(__file__, "FILE")
    text = re.sub(r"(FILE:|line )(\d+)", lambda found: f"{found[1]}+{int(found[2]) - first}", text)
    assert text == expected
