"""Launchers that capture much or little, for measuring what guards cost a warm call.

Each is the only launcher of a module of its own, made from text; its grid is empty, so that a call is all host work.
"""

from __future__ import annotations

import itertools
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from darter.cli.bench.generated import forget, generated_module
from darter.cli.bench.timing import Candidate

_TEXT = """
import darter as dt

{definitions}

@dt.kernel
def kernel(o: dt.Tensor, n: dt.Int64):
    i = dt.block_idx.x * 32 + dt.thread_idx.x
    if i < n:
        o[i] = {expression}

@dt.jit
def launcher(o: dt.Tensor):
    kernel(o, o.shape[0]).launch(grid=0, block=32)
"""


@contextmanager
def captured_globals(count: int) -> Iterator[types.ModuleType]:
    """A module whose kernel reads ``count`` of its globals; it has one more that nothing reads, ``UNRELATED``."""
    names = [f"G{index}" for index in range(count)]
    lines = [f"{name} = {index}.0" for index, name in enumerate(names)]
    with _module(f"globals_{count}", "\n".join([*lines, "UNRELATED = 0"]), " + ".join(names) or "1.0") as module:
        yield module


@contextmanager
def captured_dict(entries: int) -> Iterator[types.ModuleType]:
    """A module whose kernel reads one entry of a dict that has ``entries``."""
    definitions = f"TABLE = {{key: float(key) for key in range({entries - 1})}}\nTABLE['read'] = 1.0"
    with _module(f"dict_{entries}", definitions, "TABLE['read']") as module:
        yield module


def call(name: str, module: types.ModuleType, o: Any) -> Candidate:
    """Return the warm call of a module's launcher."""
    module.launcher(o)
    return Candidate(name, "f(o)", {"f": module.launcher, "o": o})


def storm(name: str, module: types.ModuleType, o: Any, *, into_module: bool) -> Candidate:
    """Return the warm call after a store of ``UNRELATED`` into the module, or into a copy of its dict."""
    module.launcher(o)
    names = {
        "f": module.launcher,
        "o": o,
        "store": vars(module) if into_module else dict(vars(module)),
        "values": itertools.cycle((1, 2)),
    }
    return Candidate(name, "store['UNRELATED'] = next(values); f(o)", names)


@contextmanager
def _module(name: str, definitions: str, expression: str) -> Iterator[types.ModuleType]:
    module = generated_module(f"darter_bench_{name}", _TEXT.format(definitions=definitions, expression=expression))
    try:
        yield module
    finally:
        forget(module)
