"""Launchers that do nothing, of the argument lists that launch costs are measured on, and empty Python functions.

One block of one warp runs.  The functions are made from the lists, as text: otherwise each of up to 22 parameters would
have to be written out in a launcher, its kernel, the call of that and the Python function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from darter.cli.bench.generated import generated_module


@dataclass(frozen=True, slots=True)
class ArgumentList:
    """How many arguments of each kind: f32 tensors of rank 2, integers, compile-time integers, and whether a stream.

    They are named ``t0``, ``t1`` …, ``n0`` …, ``C0`` … and ``stream``, and stand in this order.
    """

    tensors: int
    integers: int
    constexprs: int = 0
    has_stream: bool = False

    @property
    def annotations(self) -> dict[str, str]:
        """What a kernel's parameters are annotated with, by name."""
        kinds = (
            ("t", "dt.Tensor", self.tensors),
            ("n", "dt.Int64", self.integers),
            ("C", "dt.Constexpr[int]", self.constexprs),
        )
        return {f"{letter}{number}": kind for letter, kind, count in kinds for number in range(count)}

    @property
    def names(self) -> str:
        """A kernel's parameters as text."""
        return ", ".join(self.annotations)


SIZES = {"S": ArgumentList(3, 1, has_stream=True), "M": ArgumentList(8, 6, constexprs=2), "L": ArgumentList(14, 8)}
"""The argument lists that figures are quoted for."""

_LAUNCHER = """
import darter as dt

@dt.kernel
def kernel({parameters}):
{body}

@dt.jit
def launcher({parameters}{stream}):
    kernel({names}).launch(grid=1, block=32{given_stream})
"""

_EMPTY = """
def empty({names}{stream}):
    pass
"""


def noop_launcher(size: str, arguments: ArgumentList) -> Any:
    """Return a launcher of an empty kernel."""
    return _launcher(f"noop_{size}", arguments, "    pass")


def reading_launcher(size: str, arguments: ArgumentList) -> Any:
    """Return a launcher whose kernel does nothing and yet takes every argument: a pointer per tensor, and the integers.

    A kernel's unused parameters are not passed at all, and a launch that is compared with the driver's own must pass
    them; the condition never holds.
    """
    lines = ["    if n0 < 0:"]
    lines += [f"        t0[{number}, 0] = t{number}[0, 0]" for number in range(1, arguments.tensors)]
    lines += [f"        t0[0, {number}] = dt.Float32(n{number})" for number in range(arguments.integers)]
    return _launcher(f"reading_{size}", arguments, "\n".join(lines))


def empty_function(size: str, arguments: ArgumentList) -> Callable[..., Any]:
    """Return an empty Python function with the launcher's parameters."""
    text = _EMPTY.format(names=arguments.names, stream=", stream=None" if arguments.has_stream else "")
    function: Callable[..., Any] = generated_module(f"darter_bench_empty_{size}", text).empty
    return function


def _launcher(name: str, arguments: ArgumentList, body: str) -> Any:
    text = _LAUNCHER.format(
        parameters=", ".join(f"{name}: {annotation}" for name, annotation in arguments.annotations.items()),
        names=arguments.names,
        body=body,
        stream=", stream: dt.Stream = None" if arguments.has_stream else "",
        given_stream=", stream=stream" if arguments.has_stream else "",
    )
    return generated_module(f"darter_bench_{name}", text).launcher
