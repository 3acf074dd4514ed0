"""What makes a cubin of PTX, as one that was chosen, and the identity of the one in the driver.

The driver assembles by default: it is there wherever code can run, starts no process, and takes what it makes.  Others
of NVIDIA's (``toolkit_assemblers``) are asked for by ``DARTER_ASSEMBLER``, or used where no driver is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from darter import _native
from darter.frozen import Frozen
from darter.target import Target

Assemble = Callable[[str, Target], bytes]
"""Returns the cubin of PTX for a target; raises ``CompileError`` or ``DriverError`` where the text is refused."""


class Assembler(Frozen):
    """``identity`` is a part of every key: what assembles, never how it was asked for."""

    identity: str
    assemble: Assemble


@functools.lru_cache(maxsize=1)
def driver_identity() -> str:
    """Return the identity of the driver's assembler: what it makes of the same PTX is its own business.

    Raises:
        DriverError: there is no driver.
    """
    version = f"libcuda {_native.cuda_driver_version()}"
    try:
        with open("/sys/module/nvidia/version", encoding="ascii") as stream:
            return f"{version}, driver {stream.read().strip()}"
    except OSError:
        return version
