"""The native half of darter: the warm call."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

from darter.signature.plan import SignaturePlan

class Guards:
    """Whether what a compile captured is still what it was.

    ``cold()`` returns ``(holds, watches)``, a full comparison by value and the live entries that it rests on (see
    ``darter.capture.steps``); ``absent`` stands for "not there" in watches.
    """

    cold: Any
    accepted: bool
    """Whether there is drift, and ``accept()`` was called for it."""

    def __init__(self, cold: Callable[[], tuple[bool, Any]], absent: object) -> None: ...
    def holds(self) -> bool:
        """Return whether everything that was captured is unchanged, by value."""
    def differences(self) -> list[Any]:
        """Return what has changed, as a list of ``darter.capture.drift.Drift``."""
    def accept(self) -> None:
        """Take the present state as intended, until it changes again."""

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

class CpuKernel(KernelHandle):
    """A kernel of a CodeObject; ``messages`` are (is_assert, pieces, operand dtype codes), errors call it ``name``."""

    def __new__(
        cls,
        code: CodeObject,
        symbol: str,
        parameter_count: int,
        block: tuple[int, int, int],
        scratch_bytes: int,
        messages: Sequence[tuple[bool, Sequence[str], Sequence[int]]],
        name: str | None = None,
    ) -> CpuKernel: ...

class PythonKernel(KernelHandle):
    """A kernel that ``function(words, grid, shared_bytes)`` runs; the words are 64-bit, one per parameter."""

    def __new__(
        cls,
        function: Callable[[tuple[int, ...], tuple[int, int, int], int], None],
        name: str,
        parameter_count: int,
        block: tuple[int, int, int],
        message_count: int,
    ) -> PythonKernel: ...

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
        """Return registers per thread, static shared and local (spill) bytes, largest block, blocks per processor."""

class CudaModule:
    """A cubin loaded into a context; unloaded only by :meth:`unload`, and loaded again by the next launch."""

    captured: bool
    loaded: bool
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
def cuda_pointer_device(address: int, driver: str | None = None, /) -> int:
    """Return the ordinal of the device that an address belongs to; raises ``DriverError`` for other memory."""

class JitFunction:
    """A launcher: a call binds, reads and keys its arguments, finds the call state, checks its guards and runs it.

    ``open(dispatcher, is_method)`` makes the cold object at the first use; ``is_method`` says that a class body has
    bound the function to a name.  The cold object is asked for everything that is not warm::

        plan() -> SignaturePlan                                at the first use, unless it was given
        miss(arguments: tuple, words: tuple[int, ...], stream: int) -> CallState
                                                               bound arguments in signature order; raises, or compiles
        constexpr_words(value, name: str) -> tuple[int, ...]   for values that the native encoder does not know
        verify_key(arguments: tuple, words: tuple[int, ...])   only while ``verify_keys`` is set
        warm, explain, cache_key, cache_info, clear, with_options, accept_drift

    It has a ``__dict__`` (``functools.update_wrapper`` serves), can be weakly referenced, and binds like a method.
    """

    cold: Any
    plan: SignaturePlan
    memory_hits: int
    verify_keys: bool
    __wrapped__: Callable[..., Any]
    __name__: str
    __qualname__: str
    def __new__(cls, open: Callable[[JitFunction, bool], object], plan: SignaturePlan | None = None) -> JitFunction: ...
    def __call__(self, *args: Any, **kwargs: Any) -> None: ...
    @overload
    def __get__(self, instance: None, owner: type | None = None) -> JitFunction: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> BoundFunction: ...
    def warm(self, *args: Any, **kwargs: Any) -> Any: ...
    def explain(self, *args: Any, **kwargs: Any) -> Any: ...
    def cache_key(self, *args: Any, **kwargs: Any) -> str: ...
    def __copy__(self) -> JitFunction: ...
    def __deepcopy__(self, memo: Any, /) -> JitFunction: ...
    def __reduce__(self) -> str:
        """Return the qualified name: pickle finds launchers as it finds functions."""

    def cache_info(self) -> Any: ...
    def clear(self) -> Any:
        """Forget the call states, then ``cold.clear()``."""

    def with_options(self, *args: Any, **kwargs: Any) -> Any: ...
    def accept_drift(self, *args: Any, **kwargs: Any) -> Any: ...
    def _bind(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return the bound arguments in signature order, defaults filled in."""

    def _key_words(self, *args: Any, **kwargs: Any) -> tuple[int, ...]:
        """Return the key words of a call; raises as the call would."""

    def _slots(self, *args: Any, **kwargs: Any) -> tuple[int, ...]:
        """Return the argument slots of a call, each as an unsigned 64-bit number."""

    def _prepare(self, *args: Any, **kwargs: Any) -> CallState:
        """Return the call state of a call, through ``cold.miss`` where there is none; launches nothing."""

    def _time_parts(self, repeats: int, /, *args: Any, **kwargs: Any) -> dict[str, float]:
        """Return nanoseconds of each step of a warm call of a launcher called before, each step ``repeats`` times over.

        ``bind``; ``reading`` of the arguments' values; ``key``: reading, checks, key words and argument slots;
        ``lookup`` in the table; ``guards``; on the CPU ``program``, which launches.  Each alone in a loop: a lower
        bound of its part.
        """

    def _compile(self, cold: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> CompiledFunction:
        """Return the call's state, frozen.

        ``cold`` raises for other calls: ``mismatch(arguments, words)`` and ``drift(state)``.
        """

    def _intern(self, value: object, /) -> int:
        """Return the small number that stands for an object in this function's keys; the object is held."""

    def _release_functions(self) -> None:
        """Let go of the functions in keys that nobody else holds; their numbers are not given anew."""

    def _states(self) -> list[tuple[tuple[int, ...], list[CallState]]]:
        """Return the key words and the call states of every entry, newest state first."""

    def _clear(self) -> None:
        """Forget the call states."""

class CompiledFunction:
    """One call state with the key that it is good for; never compiles."""

    function: JitFunction
    cold: Any
    state: CallState
    words: tuple[int, ...]
    def __call__(self, *args: Any, **kwargs: Any) -> None: ...
    @overload
    def __get__(self, instance: None, owner: type | None = None) -> CompiledFunction: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> BoundFunction: ...

class BoundFunction:
    """A function bound to an object; ``warm``, ``explain`` and calls put the object first."""

    __func__: JitFunction | CompiledFunction
    __self__: object
    def __call__(self, *args: Any, **kwargs: Any) -> None: ...
    def warm(self, *args: Any, **kwargs: Any) -> Any: ...
    def explain(self, *args: Any, **kwargs: Any) -> Any: ...
    def with_options(self, *args: Any, **kwargs: Any) -> Any: ...
    def __getattr__(self, name: str) -> Any: ...

def set_torch_acceleration(enabled: bool, /) -> None:
    """Turn the accelerated ways of reading torch tensors off, or on where they verified."""

def torch_reading() -> Literal["direct", "shim", "exchange", "dlpack"] | None:
    """Return how torch tensors are read, the quickest way first; None before the first one."""
