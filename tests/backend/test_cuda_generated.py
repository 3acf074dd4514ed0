"""Generated kernels on CUDA leave what the interpreter leaves: exactly, or within the documented ulps of a function."""

from __future__ import annotations

import os

import numpy as np
import pytest

from darter.artifacts.artifact import KernelEntry
from darter.backends import cuda as backend
from darter.codegen import nvptx
from darter.ir import nodes as n
from darter.ir.printer import print_kernel
from darter.target import Device
from tests.property.generated import Memory, differences
from tests.property.kernel_generator import generate
from tests.property.test_codegen import ULPS, interpreted

PROGRAMS = int(os.environ.get("DARTER_FUZZ", "60"))
SIZE = 24
# The special function unit's exp2, tanh and the like are a little coarser than the shared sequences.
CUDA_ULPS = {op: ulps + 1 for op, ulps in ULPS.items()}


class DeviceMemory:
    """The buffers of a run on the device, each with room behind it."""

    def __init__(self, memory: Memory, device: object) -> None:
        import torch

        self.memory = memory
        self.tensors = {
            key: torch.from_numpy(array.view(np.uint8).copy()).to(device) for key, array in memory.arrays.items()
        }

    def words(self) -> list[int]:
        return [word if isinstance(word, int) else self.tensors[word].data_ptr() for word in self.memory.plan.words]

    def take(self) -> None:
        for key, tensor in self.tensors.items():
            self.memory.arrays[key].view(np.uint8)[:] = tensor.cpu().numpy()


@pytest.mark.parametrize("first", range(0, PROGRAMS, 10))
def test_generated_kernels_do_what_the_interpreter_does(cuda, first):
    import torch

    target = backend.target(Device("cuda", cuda.device.index), None)
    programs = {seed: generate(seed, SIZE, 32) for seed in range(first, first + 10)}
    kernels = [program.kernel for program in programs.values()]
    ptx, entries = nvptx.compile_kernels(kernels, target)
    module = backend.context(0).load(backend.assemble(ptx, target), 0)
    wrong = []
    for number, (seed, program) in enumerate(programs.items()):
        reference, _ = interpreted(program, seed)
        memory = Memory(program, seed)
        device = DeviceMemory(memory, cuda.device)
        torch.cuda.synchronize()
        _launch(module, entries[number], number, device.words(), program.grid, program.plan.shared_bytes)
        _drain()
        device.take()
        found = differences(reference, memory, CUDA_ULPS)
        if found:
            wrong.append(f"seed {seed}:\n" + "\n".join(found[:6]) + "\n" + print_kernel(program.kernel)[:3000])
    assert not wrong, "\n\n".join(wrong[:2])


def _launch(module, entry: KernelEntry, number: int, words, grid, shared_bytes) -> None:
    """Launch through a launch program whose arguments are its slots."""
    from darter import _native
    from darter.ir.encoding import encode
    from darter.ir.options import LaunchOptions
    from darter.ir.program import Instruction, LaunchSpec, Opcode, Program

    handle = module.kernel(
        entry.symbol, entry.symbol, number, len(entry.parameters), sum(m.is_assert for m in entry.messages), entry.block
    )
    count = len(words)
    slots = (*words, *grid, shared_bytes)
    spec = LaunchSpec(
        kernel=0,
        arguments=tuple(range(count)),
        grid=(count, count + 1, count + 2),
        block=entry.block,
        shared_bytes=count + 3,
        options=LaunchOptions(),
        site=0,
    )
    instructions = tuple(
        Instruction(op=op, dtype=0, dst=0, a=0, b=0, c=0, site=-1) for op in (Opcode.LAUNCH, Opcode.RETURN)
    )
    program = Program(
        slots=len(slots),
        constants=(),
        registers=len(slots),
        instructions=instructions,
        launches=(spec,),
        raises=(),
        sites=(n.Loc(0, 0, 0, 0, 0),),
    )
    _native.CallState(encode(program), (handle,), module, None, (), None).run(slots)


def _drain() -> None:
    """Take the failed assertions that generated kernels raise on purpose."""
    import darter as dt

    for _ in range(2):
        try:
            dt.synchronize(0)
        except dt.DeviceAssertError:
            continue
