"""``python -m tests.backend.generated_on_cuda FIRST COUNT``: generated kernels on CUDA next to the interpreter.

Writes to stderr, since the kernels print.  The seed comes before each launch: an access that the driver faults on ends
the process' use of the device.
"""

from __future__ import annotations

import sys

import numpy as np
import torch

import darter as dt
from darter import _native
from darter.artifacts.artifact import KernelEntry
from darter.backends import cuda as backend
from darter.codegen import nvptx
from darter.ir import nodes as n
from darter.ir.encoding import encode
from darter.ir.options import LaunchOptions
from darter.ir.printer import print_kernel
from darter.ir.program import Instruction, LaunchSpec, Opcode, Program
from darter.target import Device
from tests.property.generated import GeneratedKernel, Memory, differences
from tests.property.kernel_generator import generate
from tests.property.test_codegen import ULPS, interpreted

SIZE = 24
# The special function unit's exp2, rsqrt and the like are a little coarser than the shared sequences.
CUDA_ULPS = {op: ulps + 1 for op, ulps in ULPS.items()}


class DeviceMemory:
    """The buffers of a run on the device."""

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


def main(first: int, count: int) -> None:
    target = backend.target(Device("cuda", 0), None)
    programs = {seed: generate(seed, SIZE, 32) for seed in range(first, first + count)}
    ptx, entries = nvptx.compile_kernels([program.kernel for program in programs.values()], target)
    module = backend.context(0).load(backend.assemble(ptx, target), 0)
    for number, (seed, program) in enumerate(programs.items()):
        _report(f"seed {seed}")
        for line in disagreement(module, entries[number], number, program, seed):
            _report(line)


def _report(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def disagreement(module, entry: KernelEntry, number: int, program: GeneratedKernel, seed: int) -> list[str]:
    """Return what the two runs of one kernel left that differs, and the kernel."""
    reference, _ = interpreted(program, seed)
    memory = Memory(program, seed)
    device = DeviceMemory(memory, "cuda:0")
    torch.cuda.synchronize()
    _launch(module, entry, number, device.words(), program.grid, program.plan.shared_bytes)
    _drain()
    device.take()
    found = differences(reference, memory, CUDA_ULPS)
    return [*found[:6], print_kernel(program.kernel)[:3000]] if found else []


def _launch(module, entry: KernelEntry, number: int, words, grid, shared_bytes) -> None:
    """Launch through a launch program whose arguments are its slots."""
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
    for _ in range(2):
        try:
            dt.synchronize(0)
        except dt.DeviceAssertError:
            continue


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
