"""The native half of darter: the warm call."""

from collections.abc import Callable, Sequence
from typing import Any

class Guards:
    """Whether what a compile captured is still what it was.

    ``cold()`` returns ``(holds, watches)``, a full comparison by value and the live entries that it rests on (see
    ``darter.capture.steps``); ``absent`` stands for "not there" in watches.
    """

    cold: Any
    accepted: bool
    """Whether there is drift, and ``accept()`` was called for it."""
    entry_count: int
    """How many entries are compared."""

    def __init__(self, cold: Callable[[], tuple[bool, Any]], absent: object) -> None: ...
    def holds(self) -> bool:
        """Return whether everything that was captured is unchanged, by value."""
    def differences(self) -> list[Any]:
        """Return what has changed, as a list of ``darter.capture.drift.Drift``."""
    def accept(self) -> None:
        """Take the present state as intended, until it changes again."""

def bump_epoch() -> None:
    """Make every guard compare what it guards at its next check."""

def watched_dict_count() -> int:
    """Return how many dicts are watched (0 on 3.11)."""

class CodeObject:
    """Memory of one loaded object; unmapped when the last reference goes."""

    size_bytes: int
    def entry(self, symbol: str, /) -> int:
        """Return the address of a global function, valid as long as this object; raises ``ArtifactError`` for none."""

def load_object(elf: bytes, imports: Sequence[str]) -> CodeObject:
    """Return the loaded ELF64 relocatable, which may call the host functions ``imports`` and nothing else.

    Raises:
        ArtifactError: it is damaged, for another machine, or calls something else.
    """

class KernelHandle:
    """What a launch program launches; each backend has its own subtype."""

    name: str
    code: object
    parameter_count: int

class CpuKernel(KernelHandle):
    """A kernel of a CodeObject; ``messages`` are (is_assert, pieces, operand dtype codes)."""

    def __new__(
        cls,
        code: CodeObject,
        symbol: str,
        parameter_count: int,
        block: tuple[int, int, int],
        scratch_bytes: int,
        messages: Sequence[tuple[bool, Sequence[str], Sequence[int]]],
    ) -> CpuKernel: ...

class CallState:
    """A loaded launch program, ready to run for one key; it keeps kernels, code and ``owner`` alive.

    When a run fails, ``cold_errors(kind, exception, message, site)`` is called and returns the exception to raise.
    ``kind`` is "arithmetic", "grid", "raise" or "assert"; ``exception`` a builtin's name or the name of a class in
    ``errors``; ``site`` (-1: unknown) an index into ``darter.artifacts.sites.sites_of(artifact)``.  Without
    ``cold_errors`` the exception says no place.
    """

    guards: object
    owner: object
    written: tuple[int, ...]
    def __new__(
        cls,
        program: bytes,
        kernels: Sequence[KernelHandle],
        owner: object,
        guards: object,
        written: Sequence[int],
        cold_errors: Callable[[str, str, str, int], BaseException] | None,
    ) -> CallState: ...
    def run(self, slots: Sequence[int], stream: int = 0) -> None:
        """Run the program over the argument slots, each taken modulo 2⁶⁴."""

def set_cpu_threads(threads: int, /) -> None:
    """Let kernels run on that many threads; 0 takes OpenMP's default.  ``DARTER_NUM_THREADS`` sets it at first use."""

def cpu_threads() -> int:
    """Return how many threads a large launch from this thread uses; 1 after a fork."""

def cpu_architecture() -> tuple[str, str]:
    """Return the host's architecture as an LLVM CPU name, and its features beyond that, sorted, as LLVM writes them."""

class CudaKernel(KernelHandle):
    """A kernel of a loaded cubin."""

    def resources(self, dynamic_shared_bytes: int = 0, /) -> dict[str, int]:
        """Return registers per thread, static shared and local (spill) bytes, largest block, blocks a multiprocessor."""

class CudaModule:
    """A cubin loaded into a context; unloaded only by :meth:`unload`."""

    captured: bool
    def kernel(
        self, symbol: str, name: str, index: int, parameters: int, messages: int, block: tuple[int, int, int], /
    ) -> CudaKernel: ...
    def unload(self) -> bool:
        """Unload the code unless a capture used it; return whether it is unloaded."""

class CudaContext:
    """A device's primary context, retained for the life of the process."""

    def __init__(self, ordinal: int, on_assert: Callable[..., None], driver: str | None = None) -> None: ...
    def capability(self) -> tuple[int, int]: ...
    def name(self) -> str: ...
    def attribute(self, number: int, /) -> int: ...
    def load(self, cubin: bytes, number: int, /) -> CudaModule: ...
    def link(self, ptx: str, max_registers: int, /) -> bytes: ...
    def synchronize(self) -> None: ...
    def is_capturing(self, stream: int, /) -> bool: ...

def cuda_device_count(driver: str | None = None, /) -> int: ...
def cuda_driver_version(driver: str | None = None, /) -> int: ...
