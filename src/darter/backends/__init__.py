"""Backends: what turns IR into an artifact for one kind of machine, and an artifact into kernels to launch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from darter.frozen import Frozen

if TYPE_CHECKING:
    from darter import _native
    from darter.artifacts.artifact import Artifact
    from darter.backends.assembler import Assembler
    from darter.ir.nodes import Module
    from darter.target import Device, Target


class Loaded(Frozen):
    """An artifact in memory: ``code`` owns the machine code, ``kernels`` are in the order of ``Artifact.kernels``.

    ``number`` names it to device code that reports failed assertions later than its launch; 0 where none does.
    """

    code: object
    kernels: tuple[_native.KernelHandle, ...]
    number: int = 0


class Backend(Protocol):
    """What each module of this package offers; ``compile`` imports the code generator, the others must not."""

    def target(self, device: Device, arch: str | None) -> Target:
        """Return what code is generated for on ``device``, fully resolved; ``arch`` is what was asked for, if anything.

        Raises:
            ConfigError: this machine's device cannot run code for ``arch``.
        """

    def compile(self, module: Module, target: Target, assembler: Assembler | None = None) -> Artifact:
        """Return the artifact of a verified module; loads nothing.

        ``assembler`` makes machine code of the backend's text, where LLVM does not.
        """

    def readable(self, module: Module, target: Target, stage: str) -> str | None:
        """Return the kernels as text at ``stage``, "llvm" or "asm"; None where this backend has no such stage."""

    def load(self, artifact: Artifact, device: Device) -> Loaded:
        """Return the artifact's kernels, ready to launch on ``device``.

        Raises:
            ArtifactError: the artifact is damaged, or for another machine.
        """
