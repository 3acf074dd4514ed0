"""The calls that launch costs are measured on: every argument list, framework, calling style and mix of shapes.

A case is a Python statement and the names in it, so that a timer, callgrind and a test run the very same calls.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from darter.cli.bench.launchers import SIZES, empty_function, noop_launcher, reading_launcher
from darter.cli.bench.timing import Candidate
from darter.cli.report_json import installed_version

STYLES = ("positional", "keyword")
MIXES = {"one": ((8, 16),), "mixed": ((8, 16), (1, 64), (33, 32), (4, 4))}
"""Shapes that a statement cycles over; the mixed ones are of one specialisation, or the caller has several."""


@dataclass(frozen=True, slots=True)
class LaunchCase:
    """One row: the same calls of darter's launcher, of an empty Python function, and where possible of numba's."""

    name: str
    darter: Candidate
    python: Candidate
    numba: Candidate | None

    @property
    def is_plainest(self) -> bool:
        """Whether this is the positional call with one shape."""
        return self.name.endswith("/positional/one")

    @property
    def candidates(self) -> list[Candidate]:
        return [each for each in (self.darter, self.python, self.numba) if each is not None]


def frameworks() -> list[str]:
    """Return the frameworks whose arguments can be measured here."""
    return ["numpy", *(["torch"] if installed_version("torch") else [])]


def launch_cases(
    framework: str, sizes: Sequence[str] = tuple(SIZES), with_numba: bool = True, device: str = "cpu"
) -> Iterator[LaunchCase]:
    """Yield the cases ``launch/<framework>/<size>/<style>/<mix>``, with torch's tensors on ``device``."""
    make = _tensor_maker(framework, device)
    for size in sizes:
        make_launcher = noop_launcher if device == "cpu" else reading_launcher
        launcher, twin = make_launcher(size, SIZES[size]), empty_function(size, SIZES[size])
        rival = _njit(twin) if with_numba and framework == "numpy" and installed_version("numba") else None
        for style in STYLES:
            for mix, shapes in MIXES.items():
                name = f"launch/{framework}/{size}/{style}/{mix}"
                calls = [_arguments(twin, make, shape) for shape in shapes]
                yield LaunchCase(
                    name,
                    _candidate(name, launcher, calls, style),
                    _candidate(f"{name}/python", twin, calls, style),
                    None if rival is None else _candidate(f"{name}/numba", rival, calls, style),
                )


def _arguments(
    twin: Callable[..., Any], make: Callable[[tuple[int, int]], Any], shape: tuple[int, int]
) -> dict[str, Any]:
    """Return an argument for each parameter: tensors of ``shape``, integers, constexprs, and None for the stream."""
    values: dict[str, Any] = {}
    for number, name in enumerate(inspect.signature(twin).parameters):
        if name.startswith("t"):
            values[name] = make(shape)
        else:
            values[name] = None if name == "stream" else 100 + number
    return values


def _candidate(name: str, function: Any, calls: list[dict[str, Any]], style: str) -> Candidate:
    names: dict[str, Any] = {"function": function}
    statements = []
    for number, call in enumerate(calls):
        # Local names, each call its own: building argument tuples would be timed otherwise.
        local = {parameter: f"{parameter}_{number}" for parameter in call}
        names |= {local[parameter]: value for parameter, value in call.items()}
        spelled = [
            variable if style == "positional" else f"{parameter}={variable}" for parameter, variable in local.items()
        ]
        statements.append(f"function({', '.join(spelled)})")
    return Candidate(name, "; ".join(statements), names, len(calls))


def _tensor_maker(framework: str, device: str) -> Callable[[tuple[int, int]], Any]:
    if framework == "numpy":
        import numpy

        return lambda shape: numpy.zeros(shape, numpy.float32)
    import torch

    return lambda shape: torch.zeros(shape, dtype=torch.float32, device=device)


def _njit(function: Callable[..., Any]) -> Any:
    from numba import njit

    return njit(function)
