"""What the analysis says of a value is true of every thread that computes it, in generated kernels that run."""

from __future__ import annotations

import numpy as np
import pytest

from darter import dtypes as dt
from darter.ir import nodes as n, numbers
from darter.ir.block_runner import BlockRunner
from darter.ir.facts import Facts, Level
from darter.ir.memory import BlockMemory, shared_layout
from darter.ir.operands import results_of
from darter.ir.report import Check, Report
from darter.ir.uniformity import Uniformity, analyze
from tests.property.generated import GeneratedKernel, Memory
from tests.property.kernel_generator import generate


class Watched(BlockRunner):
    """Compares the lanes of every value with its facts, each time that it is computed."""

    uniformity: Uniformity
    checked: int

    def _nodes(self, block: n.Block, mask: np.ndarray) -> None:
        for argument in block.arguments:
            self.compare(argument, mask)
        for node in block.nodes:
            super()._nodes(n.Block(nodes=[node]), mask)
            for result in results_of(node):
                self.compare(result, mask)

    def compare(self, value: n.Value, mask: np.ndarray) -> None:
        facts, lanes = self.uniformity.facts(value), self._env[value]
        whole = isinstance(value.type, n.PointerType) or not value.type.is_float
        numbers_ = lanes.astype(object) if whole else numbers.widen(lanes, value.dtype)
        groups = np.zeros_like(self._warp) if facts.level <= Level.BLOCK_UNIFORM else self._warp
        for group in np.unique(groups[mask]):
            here = np.flatnonzero(mask & (groups == group))
            self.checked += 1
            if facts.is_uniform:
                assert len({lanes[thread].tobytes() for thread in here}) == 1, (value, facts)
            elif facts.stride is not None:
                self._compare_lanes(value, facts, here)
        if isinstance(value.type, dt.ScalarType) and (value.type.is_integer or value.type is dt.Bool):
            active = [int(number) for number in numbers_[mask]]
            assert facts.low <= min(active), (value, facts)
            assert max(active) <= facts.high, (value, facts)

    def _compare_lanes(self, value: n.Value, facts: Facts, here: np.ndarray) -> None:
        pointer = isinstance(value.type, n.PointerType)
        unit = value.type.element.size_bytes if isinstance(value.type, n.PointerType) else 1
        bits = 64 if pointer else value.dtype.bits
        lanes = self._env[value]
        bases = [int(lanes[t]) - unit * (facts.stride or 0) * int(self._lane[t]) for t in here]
        assert len({base % (1 << bits) for base in bases}) == 1, (value, facts)
        if facts.exact:
            assert len(set(bases)) == 1, (value, facts)
        if not pointer:
            assert bases[0] % min(facts.divisor, 1 << (bits - 1)) == 0, (value, facts)


def run(generated: GeneratedKernel, seed: int) -> int:
    """Run a kernel under watch; return how many times a group of lanes was compared."""
    kernel, memory = generated.kernel, Memory(generated, seed)
    layout, report, random = shared_layout(kernel), Report(), np.random.default_rng(seed)
    arguments = {
        value: numbers.from_register(
            word, dt.Int64 if isinstance(value.type, n.PointerType) else value.dtype, kernel.threads
        )
        for value, word in zip(kernel.parameters, memory.words(), strict=True)
    }
    uniformity, checked = analyze(kernel), 0
    with np.errstate(all="ignore"):
        for block in range(generated.grid[0] * generated.grid[1] * generated.grid[2]):
            room = BlockMemory(layout, generated.plan.shared_bytes, (), Check.NONE, report, block)
            runner = Watched(kernel, layout, room, report, Check.NONE, random)
            runner.uniformity, runner.checked = uniformity, 0
            runner.run(dict(arguments), block, generated.grid)
            checked += runner.checked
    return checked


@pytest.mark.parametrize("batch", range(4))
def test_facts_hold_for_the_threads_that_reach_a_value(batch: int) -> None:
    for seed in range(batch * 8, batch * 8 + 8):
        assert run(generate(seed, 24, 64 if seed % 3 == 0 else 32), seed) > 0
