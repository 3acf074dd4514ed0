"""What code is generated for, and where a call runs; the two are kept apart because one binary serves many devices."""

from __future__ import annotations

from darter.frozen import Frozen


class Target(Frozen):
    """What code is generated for: never a device number.

    ``backend`` is ``"cpu"``, ``"cuda"``, ``"hip"`` or ``"interpret"``; ``arch`` the resolved architecture (``"sm_90"``,
    ``"gfx942"``, an LLVM CPU name); ``features`` the sorted feature string that decides code generation;
    ``warp_size`` the number of lanes of a warp.
    """

    backend: str
    arch: str
    features: str
    warp_size: int


class Device(Frozen):
    """Where a call runs, taken from its arguments: backend name and ordinal."""

    backend: str
    ordinal: int

    def __str__(self) -> str:
        return self.backend if self.backend == "cpu" else f"{self.backend}:{self.ordinal}"
