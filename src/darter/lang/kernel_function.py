"""What ``@dt.kernel`` returns: a function that runs on the device, launched from a launcher only."""

from __future__ import annotations

import functools
import types
from typing import Any

from darter.errors import KernelTypeError
from darter.ir.options import KernelOptions


class KernelFunction:
    """A kernel: ``k(x, y, N).launch(grid=..., block=...)`` inside a launcher launches it.

    ``options`` are the options given to ``@dt.kernel(...)``, every default resolved.
    """

    __darter_capture__ = ("__wrapped__", "options")  # what a capture record may read of a kernel
    # Slots, because guards compare a slot by one word and an entry of an instance's dict by a look-up.
    __slots__ = ("__dict__", "__weakref__", "__wrapped__", "options")

    def __init__(self, function: types.FunctionType, options: KernelOptions | None = None) -> None:
        self.__wrapped__: Any = function
        functools.update_wrapper(self, function)
        self.options = options or KernelOptions()

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """Return the kernel itself: what binds is the launcher that calls it."""
        return self

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Raise ``KernelTypeError``: a kernel is launched by a launcher."""
        raise KernelTypeError(
            f"kernel {self.__wrapped__.__qualname__!r} was called from plain Python; a kernel is launched inside a "
            f"function decorated with @dt.jit: {self.__wrapped__.__name__}(...).launch(grid=..., block=...)"
        )

    def __getitem__(self, launch: object) -> Any:
        """Raise ``KernelTypeError``: there is no ``kernel[grid, block](...)``."""
        raise KernelTypeError(
            f"kernel {self.__wrapped__.__qualname__!r} takes its grid and block by .launch, inside a function "
            f"decorated with @dt.jit: {self.__wrapped__.__name__}(...).launch(grid=..., block=...)"
        )

    def with_options(self, options: KernelOptions) -> KernelFunction:
        """Return a kernel of the same function with ``options``; this one stays as it is."""
        return KernelFunction(self.__wrapped__, options)

    def __copy__(self) -> KernelFunction:
        """Return the kernel itself, as copies of plain functions are."""
        return self

    def __deepcopy__(self, memo: object) -> KernelFunction:
        """Return the kernel itself, as copies of plain functions are."""
        return self

    def __reduce__(self) -> str:
        """Return the qualified name: pickle finds the kernel again by it, as it does functions."""
        qualified: str = self.__wrapped__.__qualname__
        return qualified

    def __repr__(self) -> str:
        return f"<dt.kernel {self.__wrapped__.__module__}.{self.__wrapped__.__qualname__}>"
