"""Backends: what turns IR into an artifact for one kind of machine, and an artifact into kernels to launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from darter.frozen import Frozen

if TYPE_CHECKING:
    from darter import _native


class Loaded(Frozen):
    """An artifact in memory: ``code`` owns the machine code, ``kernels`` are in the order of ``Artifact.kernels``.

    ``number`` names it to device code that reports failed assertions later than its launch; 0 where none does.
    """

    code: object
    kernels: tuple[_native.KernelHandle, ...]
    number: int = 0
