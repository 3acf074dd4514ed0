"""Makes the calls of every row, with a marker before and after each batch; run under callgrind by ``callgrind.py``."""

from __future__ import annotations

import gc
import json
import os
import sys

from benchmarks.instructions.callgrind import start
from darter.cli.bench.launch_cases import launch_cases
from darter.cli.bench.timing import timer_of

WARMUP = 50


def main(framework: str, calls: int) -> None:
    """Run N and then 2N statements of each case and its twin; print names in order and the calls of a statement."""
    # A collection of garbage inside one batch and not inside the other would be taken for the calls' work.
    gc.disable()
    candidates = [
        candidate for case in launch_cases(framework, with_numba=False) for candidate in (case.darter, case.python)
    ]
    timers = [timer_of(candidate.statement, candidate.names) for candidate in candidates]
    for timer in timers:
        timer.timeit(WARMUP)
    start()
    for timer in timers:
        for statements in (calls, 2 * calls):
            os.getppid()
            timer.timeit(statements)
            os.getppid()
    order = [[candidate.name, candidate.calls] for candidate in candidates]
    sys.stdout.write(json.dumps(order) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
