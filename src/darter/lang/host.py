"""Functions that mean the same in kernels, in launchers and in plain Python."""

from __future__ import annotations

from darter.capture.static import static
from darter.lang.intrinsic import Intrinsic

__all__ = ["assert_", "cdiv", "print", "static", "static_range"]


def cdiv(a: int, b: int) -> int:
    """Return ``a / b`` rounded up, for integers; ``b`` is positive.

    Raises:
        ZeroDivisionError: ``b`` is 0 (in a launcher, ``dt.DarterError``, which names the line).
    """
    return (a + b - 1) // b


def static_range(start: int, stop: int | None = None, step: int = 1) -> range:
    """Return ``range(...)``; a loop over it is unrolled in kernel code, so its bounds are compile-time numbers."""
    return range(start) if stop is None else range(start, stop, step)


print = Intrinsic("print", "dt.print('x =', x): one line per thread; f-strings are accepted")
assert_ = Intrinsic("assert_", "dt.assert_(condition, message)")
