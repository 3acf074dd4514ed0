"""Options of kernels and of launches, as they stand in keys, in the IR and in launch programs."""

from __future__ import annotations

from dataclasses import dataclass

from darter.frozen import Frozen


class LaunchOptions(Frozen):
    """Launch attributes that are fixed at compile time."""

    cluster: tuple[int, int, int] = (1, 1, 1)
    cooperative: bool = False
    programmatic_dependent: bool = False


@dataclass(frozen=True, slots=True)
class KernelOptions:
    """Per-kernel options, every default resolved; part of the primary key.

    ``fast_math`` allows contract, reassoc, arcp, afn.  ``noalias`` names parameters that the launch checks not to
    overlap any other.
    """

    fast_math: bool = False
    noalias: tuple[str, ...] = ()
    min_blocks_per_multiprocessor: int = 0
    max_registers: int = 0
    bounds_check: bool = False
