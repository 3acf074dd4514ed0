"""Launchers with empty kernels, with the names, parameters and annotations of given ones.

What is left of a call is what the host does.  One block of one warp runs, whatever the arguments say.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from benchmarks.peers.generated import generated_module

_TEXT = """
import darter as dt

def make({annotations}):
    @dt.kernel
    def kernel({kernel_parameters}):
        pass

    @dt.jit
    def {name}({kernel_parameters}, stream: dt.Stream = None):
        kernel({names}).launch(grid=1, block=32, stream=stream)

    return {name}
"""


def noop_launcher(real: Any) -> Callable[..., Any]:
    """Return a launcher that takes what ``real`` takes, which has a stream last, and does nothing with it."""
    parameters = inspect.signature(real).parameters
    annotations = {f"type_of_{name}": each.annotation for name, each in parameters.items() if name != "stream"}
    names = [name for name in parameters if name != "stream"]
    text = _TEXT.format(
        name=real.__name__,
        annotations=", ".join(annotations),
        kernel_parameters=", ".join(f"{name}: type_of_{name}" for name in names),
        names=", ".join(names),
    )
    launcher: Callable[..., Any] = generated_module(f"noop_{real.__name__}", text).make(**annotations)
    return launcher
