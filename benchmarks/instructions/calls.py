"""Makes the calls of every row, with a marker before and after each batch; runs under callgrind.

The marker is ``getppid``, which nothing else calls: callgrind writes and clears its counters each time it is entered.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import timeit

from darter.cli.launch_cases import launch_cases

WARMUP = 50


def main(framework: str, calls: int) -> None:
    """Run N and then 2N statements of each case; print the names in order and the number of calls in a statement."""
    # A collection of garbage inside one batch and not inside the other would be taken for the calls' work.
    gc.disable()
    order = []
    for case in launch_cases(framework, with_numba=False):
        timer = timeit.Timer(case.darter.statement, globals=dict(case.darter.names))
        timer.timeit(WARMUP)
        for statements in (calls, 2 * calls):
            os.getppid()
            timer.timeit(statements)
            os.getppid()
        order.append([case.name, case.darter.calls])
    sys.stdout.write(json.dumps(order) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
