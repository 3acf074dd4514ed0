"""The reference: runs a kernel's nodes for a grid, block after block, all threads of a block at once with numpy.

Independent of code generation on purpose: what both agree on is what ``nodes`` says.  Divergence is a mask of threads.
Where the order of threads matters (equal places of one store, atomics) warps come in an order drawn from ``seed``, and
so do blocks; a kernel whose result depends on it is not deterministic on a GPU either.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from darter import dtypes as dt
from darter.ir import nodes as n, numbers
from darter.ir.block_runner import BlockRunner
from darter.ir.memory import BlockMemory, shared_layout
from darter.ir.numbers import Lanes
from darter.ir.report import Check, Extent, Report


def run_kernel(
    kernel: n.Kernel,
    params: Sequence[int],
    grid: tuple[int, int, int],
    shared_bytes: int = 0,
    *,
    seed: int = 0,
    checks: Check = Check.ALL,
    extents: Sequence[Extent] = (),
) -> Report:
    """Run ``kernel`` over ``grid`` and return what was found; its writes go to memory.

    ``params`` are the 64-bit register words of the parameters, of which each reads its own low bytes: pointers are
    addresses of this process.  ``extents`` is the global memory that may be touched; where it is empty, global accesses
    are not checked.  An access out of bounds is reported and not done.

    Raises:
        ValueError: the number of words is not that of the parameters.
    """
    if len(params) != len(kernel.parameters):
        raise ValueError(f"kernel {kernel.name} takes {len(kernel.parameters)} parameters, {len(params)} were given")
    report, layout = Report(), shared_layout(kernel)
    arguments = {
        value: _argument(value.type, word, kernel.threads)
        for value, word in zip(kernel.parameters, params, strict=True)
    }
    random = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        for block in random.permutation(grid[0] * grid[1] * grid[2]):
            memory = BlockMemory(layout, shared_bytes, extents, checks, report, int(block))
            runner = BlockRunner(kernel, layout, memory, report, checks, random)
            runner.run(dict(arguments), int(block), grid)
    return report


def _argument(type: n.Type, word: int, threads: int) -> Lanes:
    return numbers.from_register(word, dt.Int64 if isinstance(type, n.PointerType) else type, threads)
