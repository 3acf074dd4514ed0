"""Intrinsics: names that mean something in kernel code only; the front end gives each its meaning by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from darter.errors import KernelTypeError


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """A function of the kernel language; ``usage`` is shown when it is misused."""

    name: str
    usage: str

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Raise ``KernelTypeError``: on the host the function has no meaning."""
        _refuse(self.name, self.usage)


@dataclass(frozen=True, slots=True)
class IndexVector:
    """A position or extent with ``.x``, ``.y``, ``.z``."""

    name: str

    @property
    def x(self) -> Any:
        """Raise ``KernelTypeError``; in a kernel, the first component."""
        _refuse(self.name + ".x", f"dt.{self.name}.x")

    @property
    def y(self) -> Any:
        """Raise ``KernelTypeError``; in a kernel, the second component."""
        _refuse(self.name + ".y", f"dt.{self.name}.y")

    @property
    def z(self) -> Any:
        """Raise ``KernelTypeError``; in a kernel, the third component."""
        _refuse(self.name + ".z", f"dt.{self.name}.z")


@dataclass(frozen=True, slots=True)
class KernelConstant:
    """A name that is a value in kernel code: ``dt.warp_size``, ``dt.lane_id``, ``dt.warp_id``, ``dt.backend``."""

    name: str

    def __repr__(self) -> str:
        return f"<dt.{self.name}, a value in kernel code only>"


def _refuse(name: str, usage: str) -> NoReturn:
    raise KernelTypeError(
        f"dt.{name} was used outside of kernel code; it means something inside a function decorated with @dt.kernel "
        f"(or a helper called from one) only. Usage: {usage}"
    )
