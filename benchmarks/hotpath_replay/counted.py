"""Makes the plain and the precompiled calls of every row in batches, for callgrind to count; see ``callgrind.py``.

Prints a JSON list of (row's name, calls in a window) in the order of the batches: one window, then two.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Sequence

from benchmarks.hotpath_replay.bench_hotpath import parser, prefix_of
from benchmarks.hotpath_replay.candidates import candidates, replay
from benchmarks.instructions.callgrind import start

WARMUP = 10
"""Windows before: CPython specialises bytecode after some executions."""

WAYS = ("jit", "compiled")


def main(arguments: Sequence[str]) -> None:
    """Run the batches that ``bench_hotpath.py`` would time with the same arguments."""
    options = parser().parse_args(arguments)
    # A collection of garbage inside one batch and not inside the other would be taken for the calls' work.
    gc.disable()
    found = []
    for library in options.arguments or ["numpy"]:
        made = candidates(replay(options.backend, library, options.bodies))
        found += [(f"{prefix_of(options, library)}/{each.row}/{each.way}", each) for each in made if each.way in WAYS]
    for _, each in found:
        each.run(WARMUP)
    start()
    for _, each in found:
        for windows in (1, 2):
            os.getppid()
            each.run(windows)
            os.getppid()
    order = [[name, each.calls] for name, each in found]
    sys.stdout.write(json.dumps(order) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
