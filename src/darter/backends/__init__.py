"""Backends: what turns IR into an artifact for one kind of machine, and an artifact into kernels to launch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from darter import _native
    from darter.artifacts.artifact import Artifact
    from darter.ir.nodes import Module
    from darter.target import Target


@dataclass(frozen=True, slots=True)
class Loaded:
    """An artifact in memory: ``code`` owns the machine code, ``kernels`` are in the order of ``Artifact.kernels``."""

    code: object
    kernels: tuple[_native.KernelHandle, ...]


class Backend(Protocol):
    """What each module of this package offers; ``compile`` imports the code generator, the others must not."""

    def target(self) -> Target:
        """Return what code is generated for on this machine, fully resolved."""

    def compile(self, module: Module, target: Target) -> Artifact:
        """Return the artifact of a verified module; loads nothing."""

    def load(self, artifact: Artifact) -> Loaded:
        """Return the artifact's kernels, ready to launch.

        Raises:
            ArtifactError: the artifact is damaged, or for another machine.
        """
