"""What a module of this package offers, for type checkers: nothing imports this at run time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from darter.artifacts.artifact import Artifact
    from darter.backends import Loaded
    from darter.backends.assembler import Assembler
    from darter.ir.nodes import Module
    from darter.target import Device, Target


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
