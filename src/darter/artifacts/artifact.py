"""The artifact of one compile: relocatable code for one target and the launch program over it; plain data."""

from __future__ import annotations

from darter.frozen import Frozen
from darter.ir.places import FunctionName
from darter.target import Target

ARGUMENT_ABI = 1
"""Version of the slot layout, the kernel parameter passing and the launch program; part of every primary key."""


class DeviceMessage(Frozen):
    """A ``dt.assert_`` (``is_assert``) or ``dt.print`` of a kernel: its pieces and the dtype codes of the values
    between them.
    """

    is_assert: bool
    pieces: tuple[str, ...]
    operand_dtypes: tuple[int, ...]
    function: int
    line: int
    column: int


class KernelEntry(Frozen):
    """One kernel in the code.

    ``symbol`` is its entry in the code (its name, ``_`` and its number), ``parameters`` the ``ScalarType.code`` of each
    parameter (0: a pointer), ``shared_bytes`` the static shared memory,
    ``scratch_bytes`` what the CPU code needs per block (shared memory included; 0 on a GPU).
    """

    symbol: str
    parameters: tuple[int, ...]
    block: tuple[int, int, int]
    shared_bytes: int
    scratch_bytes: int
    uses_dynamic_shared: bool
    messages: tuple[DeviceMessage, ...] = ()

    @property
    def name(self) -> str:
        """The kernel as its author knows it."""
        return self.symbol.rpartition("_")[0] or self.symbol


class Artifact(Frozen):
    """Everything that a launch needs: ``code`` is an ELF object (CPU, AMD) or a cubin (CUDA).

    ``program`` is the launch program as ``ir.encoding`` writes it and the native module reads it.  ``written`` are the
    indices of the plan parameters whose tensors a kernel stores to, as in ``ir.nodes.Module``.
    """

    target: Target
    program: bytes
    kernels: tuple[KernelEntry, ...]
    code: bytes
    functions: tuple[FunctionName, ...]
    written: tuple[int, ...] = ()
