"""A precompiled ``cute.jit`` host function that launches nothing, called through CuTe DSL's own executor.

Without a GPU there is no launch to be had: this is the host's part of a call, without the driver's.
"""

from __future__ import annotations

import os
from typing import Any

from benchmarks.peers import Call, Launch
from benchmarks.peers.generated import generated_module, parameters

NAME = "CuTe DSL compiled"

_TEXT = """
import cutlass
import cutlass.cute as cute

@cute.jit
def host({parameters}):
    pass
"""


def prepare(launch: Launch) -> Call:
    """Return the call; raises ``ImportError`` where nvidia-cutlass-dsl is not installed."""
    arrays, compiled = compiled_host(launch)
    return Call(f"function({', '.join(launch.names)})", launch.names | arrays | {"function": compiled})


def compiled_host(launch: Launch, **options: Any) -> tuple[dict[str, Any], Any]:
    """Return CuTe's arrays by name and the compiled function; ``options`` are those of ``cute.compile``."""
    os.environ.setdefault("CUTE_DSL_ARCH", "sm_90a")
    from cutlass import cute
    from cutlass.cute.runtime import from_dlpack

    text = _TEXT.format(parameters=parameters(list(launch.names), "cute.Tensor", "cutlass.Int64"))
    module = generated_module(f"darter_cute_{len(launch.tensors)}_{len(launch.integers)}", text)
    extra = {"enable_tvm_ffi": True} if options else {}
    arrays = {f"t{i}": from_dlpack(tensor, **extra) for i, tensor in enumerate(launch.tensors)}
    return arrays, cute.compile(module.host, *(launch.names | arrays).values(), **options)
