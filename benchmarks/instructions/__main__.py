"""``python -m benchmarks.instructions``: instructions per warm call, compared with the committed figures.

Counts do not depend on what else the machine does, so that a change of 2 % is a fact.  They do depend on the compiler,
the Python build and the frameworks.  So ``baseline.json`` holds figures by environment: in one of these, each row must
be within 2 %.  In any other, rows over an empty Python function's count of the same run are compared, with a wide
tolerance, with those of the same Python version: that much holds between machines, and gross mistakes show.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.instructions import callgrind
from darter.cli.bench.launch_cases import frameworks
from darter.cli.report_json import Row, installed_version, machine, report

BASELINE = Path(__file__).parent / "baseline.json"
TOLERANCE = 0.02
TOLERANCE_ELSEWHERE = 0.30
CHANGED = 3


def main() -> int:
    """Print the table; return 3 when a row is off its baseline, else 0."""
    options = _options()
    if not callgrind.available():
        print("valgrind is not installed: nothing counted")
        return 0
    with ThreadPoolExecutor() as threads:
        counted = threads.map(partial(count, calls=options.calls), options.frameworks)
        rows = [row for found in counted for row in found]
    here = environment()
    if options.json is not None:
        data = {"environment": here, **report("make bench-instructions", rows)}
        options.json.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    known = json.loads(BASELINE.read_text()) if BASELINE.exists() else []
    if options.write_baseline:
        kept = [each for each in known if each["environment"] != here]
        made = {"environment": here, "instructions": {row.name: round(row.value) for row in rows}}
        BASELINE.write_text(json.dumps([*kept, made], indent=1) + "\n", encoding="utf-8")
    return compare({row.name: row.value for row in rows}, known, here)


def count(framework: str, calls: int) -> list[Row]:
    """Return instructions per call of every case of a framework: the difference of N and 2N calls, divided by N."""
    command = [sys.executable, "-m", "benchmarks.instructions.calls", framework, str(calls)]
    output, totals = callgrind.count_batches(command)
    pairs = zip(json.loads(output), totals[::2], totals[1::2], strict=True)
    return [Row(name, (twice - once) / (calls * each), "instructions") for (name, each), once, twice in pairs]


def environment() -> dict[str, Any]:
    """Return what the counts depend on."""
    compiler = subprocess.run(["c++", "-dumpfullversion"], capture_output=True, text=True, check=False).stdout.strip()
    versions = {name: installed_version(name) for name in ("numpy", "torch")}
    libc = " ".join(platform.libc_ver())
    return {
        "python": platform.python_version(),
        "python_compiler": platform.python_compiler(),
        "compiler": compiler,
        "libc": libc,
        "machine": platform.machine(),
        "cpu": machine()["cpu"],
        **versions,
    }


def compare(found: Mapping[str, float], known: Sequence[Mapping[str, Any]], here: Mapping[str, Any]) -> int:
    """Print every row with its change; return 3 when one is off by more than the tolerance that fits this machine."""
    same = next((each for each in known if each["environment"] == here), None)
    version = str(here["python"]).rpartition(".")[0]
    akin = [each for each in known if str(each["environment"]["python"]).startswith(f"{version}.")]
    baseline: Mapping[str, float] = {}
    if same is not None:
        baseline, tolerance = same["instructions"], TOLERANCE
        print("compared with figures of this environment")
    elif akin:
        baseline, tolerance = over_python(akin[-1]["instructions"]), TOLERANCE_ELSEWHERE
        print(f"compared by multiples of an empty Python function; figures of this environment are not known: {here}")
    else:
        print(f"not compared: no figures of Python {version} are known")
        tolerance = 0.0
    values = found if same is not None or not akin else over_python(found)
    changed = []
    for name, value in values.items():
        before = baseline.get(name)
        change = 0.0 if before is None else value / before - 1
        print(f"{name:45} {value:9.1f} {'' if before is None else f'{change:+8.1%}'}")
        # A twin's count is Python's own: it serves to compare with.
        if abs(change) > tolerance and not name.endswith("/python"):
            changed.append(name)
    for name in changed:
        print(f"more than {tolerance:.0%} off the baseline: {name}; a commit that means it writes new figures")
    return CHANGED if changed else 0


def over_python(rows: Mapping[str, float]) -> dict[str, float]:
    """Return each row as a multiple of its empty Python function's count."""
    return {name: value / rows[f"{name}/python"] for name, value in rows.items() if f"{name}/python" in rows}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.instructions", description=__doc__)
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--calls", type=int, default=200, help="N; N and 2N statements are run")
    parser.add_argument("--frameworks", nargs="+", default=frameworks())
    parser.add_argument("--write-baseline", action="store_true", help="make these figures the committed ones")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
