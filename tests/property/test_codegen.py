"""Compiled CPU code does what the interpreter does: generated kernels, compared by the memory and messages they leave.

``make fuzz`` runs 2,000 kernels and CI 200; ``DARTER_FUZZ=N`` sets how many, ``DARTER_FUZZ_SEED`` takes other ones.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from darter import dtypes as dt
from darter.codegen.common.mathematics import LARGEST_ERROR_ULPS
from darter.ir import nodes as n, numbers
from darter.ir.interpreter import run_kernel
from darter.ir.operands import results_of, walk
from darter.ir.printer import print_kernel
from darter.ir.report import Extent, Message
from darter.ir.verify import verify_kernel
from tests.property.compiled import CompiledKernels, Record
from tests.property.generated import NOT_GENERATED, GeneratedKernel, Memory, differences
from tests.property.kernel_generator import generate

_FUZZING = os.environ.get("DARTER_HYPOTHESIS_PROFILE") == "fuzz"
PROGRAMS = int(os.environ.get("DARTER_FUZZ", "2000" if _FUZZING else "200"))
FIRST_SEED = int(os.environ.get("DARTER_FUZZ_SEED", "0"))
BATCH = 10
SIZE = 24
ULPS = {op: math.ceil(max(errors)) + 1 for op, errors in LARGEST_ERROR_ULPS.items()}
"""The documented errors, and one more: the interpreter's own results of f64 are good to one ulp."""


def warp_size(batch: int) -> int:
    """Return 32, and 64 for one batch in four."""
    return 64 if batch % 4 == 3 else 32


def seeds(batch: int) -> range:
    first = FIRST_SEED + batch * BATCH
    return range(first, min(first + BATCH, FIRST_SEED + PROGRAMS))


def interpreted(generated: GeneratedKernel, seed: int) -> tuple[Memory, list[Message]]:
    memory = Memory(generated, seed)
    extents = [Extent(array.ctypes.data, array.nbytes, str(key)) for key, array in memory.arrays.items()]
    shared = generated.plan.shared_bytes
    report = run_kernel(generated.kernel, memory.words(), generated.grid, shared, seed=seed, extents=extents)
    assert report.findings == [], "the generator made an illegal kernel:\n" + print_kernel(generated.kernel)
    return memory, report.messages


def disagreement(generated: GeneratedKernel, compiled: CompiledKernels, number: int, seed: int) -> list[str]:
    """Return what the two runs of one kernel left that differs."""
    reference, messages = interpreted(generated, seed)
    memory = Memory(generated, seed)
    records = compiled.run(number, memory.words(), generated.grid, generated.plan.shared_bytes)
    return differences(reference, memory, ULPS) + _message_differences(generated, messages, records)


def _message_differences(generated: GeneratedKernel, messages: list[Message], records: list[Record]) -> list[str]:
    nodes = [node for node in walk(generated.kernel.body) if isinstance(node, n.Assert | n.Print)]
    expected = {(nodes.index(message.node), message.block, message.thread, _shown(message)) for message in messages}
    found = {(record.index, record.block, record.thread, _decoded(record, nodes[record.index])) for record in records}
    return [f"message {row}" for row in sorted(expected ^ found, key=repr)[:4]]


def _shown(message: Message) -> tuple[str, ...]:
    return tuple(repr(value) for value in message.operands)


def _decoded(record: Record, node: n.Assert | n.Print) -> tuple[str, ...]:
    values = []
    for word, operand in zip(record.operands, node.operands, strict=False):
        lanes = numbers.from_register(word, operand.dtype, 1)
        values.append(repr(numbers.widen(lanes, operand.dtype)[0].item()))
    return tuple(values)


def smallest_failure(seed: int, warp: int, folder: Path) -> str:
    """Return the text of the smallest kernel of ``seed`` that disagrees, for a reader to act on."""
    for size in range(1, SIZE + 1):
        generated = generate(seed, size, warp)
        (folder / f"size{size}").mkdir()
        compiled = CompiledKernels([generated.kernel], folder / f"size{size}")
        lines = disagreement(generated, compiled, 0, seed)
        if lines:
            return f"seed {seed}, size {size}\n" + "\n".join(lines) + "\n" + print_kernel(generated.kernel)
    return f"seed {seed} disagrees in its batch only"


@pytest.mark.parametrize("batch", range(-(-PROGRAMS // BATCH)))
def test_compiled_kernels_agree_with_the_interpreter(batch: int, tmp_path: Path) -> None:
    warp = warp_size(batch)
    generated = [generate(seed, SIZE, warp) for seed in seeds(batch)]
    for each in generated:
        verify_kernel(each.kernel)
    (tmp_path / "all").mkdir()
    compiled = CompiledKernels([each.kernel for each in generated], tmp_path / "all")
    for number, (seed, each) in enumerate(zip(seeds(batch), generated, strict=True)):
        if disagreement(each, compiled, number, seed):
            pytest.fail(smallest_failure(seed, warp, tmp_path))


@pytest.mark.parametrize(
    ("seed", "size"),
    [
        # A value that both sides of a divergent condition yield, kept across a barrier: lost where one side was empty.
        (1826, 19),
    ],
)
def test_kernels_that_once_disagreed(seed: int, size: int, tmp_path: Path) -> None:
    generated = generate(seed, size, 32)
    assert disagreement(generated, CompiledKernels([generated.kernel], tmp_path), 0, seed) == []


def test_the_generated_kernels_reach_every_node_and_operation() -> None:
    reached: set[object] = set()
    for batch in range(20):
        for seed in seeds(batch):
            reached |= _reached(generate(seed, SIZE, warp_size(batch)).kernel)
    launcher_only = {n.Launch, n.Raise, n.Node}
    classes = {kind for kind in vars(n).values() if isinstance(kind, type) and issubclass(kind, n.Node)}
    assert classes - launcher_only - reached == set()
    for enumeration in (
        n.Index, n.UnaryOp, n.BinaryOp, n.CompareOp, n.MathOp, n.AtomicOp, n.Order, n.Scope, n.ShuffleMode, n.VoteMode,
        n.Space,
    ):  # fmt: skip
        assert set(enumeration) - reached - set(NOT_GENERATED) == set()
    assert set(dt.ALL) - reached == set()
    assert {1, 2, 4, 8, 16} - reached == set()


def _reached(kernel: n.Kernel) -> set[object]:
    reached: set[object] = set()
    for node in walk(kernel.body):
        reached.add(type(node))
        for name in ("op", "index", "mode", "order", "scope"):
            reached.add(getattr(node, name, None))
        for value in results_of(node):
            reached.add(value.type.space if isinstance(value.type, n.PointerType) else value.type)
        if isinstance(node, n.Load):
            reached.add(len(node.results))
            assert isinstance(node.pointer.type, n.PointerType)
            reached.add(node.pointer.type.space)
    return reached | {p.type.space for p in kernel.parameters if isinstance(p.type, n.PointerType)}
