"""``python -m darter.cli.disk_hit TITLE``: times the first call of a demo case where the store has it."""

from __future__ import annotations

import json
import sys
import time

from darter.cli.beside import module_beside
from darter.cli.demo_cases import SMALL, demo_cases


def main(title: str) -> None:
    """Print the milliseconds of the first call as JSON; raises ``RuntimeError`` when it compiled instead."""
    case = next(case for case in demo_cases() if case.title == title)
    launcher = case.pick(module_beside(f"examples.{case.module}"))
    arguments = case.make(*SMALL)
    began = time.perf_counter()
    launcher(**arguments)
    milliseconds = (time.perf_counter() - began) * 1e3
    if "llvmlite" in sys.modules:
        raise RuntimeError(f"{title}: this call compiled; the store should have had it")
    sys.stdout.write(json.dumps({"milliseconds": milliseconds}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
