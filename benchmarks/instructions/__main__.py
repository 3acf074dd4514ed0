"""``python -m benchmarks.instructions``: instructions per warm call, compared with ``baseline.json``.

Counts do not depend on what else the machine does, so that a change of 2 % is a fact.  They do depend on the compiler
and the Python: figures of another environment are shown and not compared.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from darter.cli.launch_cases import frameworks
from darter.cli.report_json import Row, report

BASELINE = Path(__file__).parent / "baseline.json"
TOLERANCE = 0.02
_TOTAL = re.compile(r"^(?:totals|summary):\s+(\d+)", re.MULTILINE)


def main() -> int:
    """Print the table; return 3 when a row is more than 2 % off its baseline, else 0."""
    options = _options()
    if shutil.which("valgrind") is None:
        print("valgrind is not installed: nothing counted")
        return 0
    rows = [row for framework in options.frameworks for row in count(framework, options.calls)]
    data = {"environment": environment(), **report("make bench-instructions", rows)}
    for path in (options.json, BASELINE if options.write_baseline else None):
        if path is not None:
            path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    return _compare(rows, json.loads(BASELINE.read_text()) if BASELINE.exists() else {})


def count(framework: str, calls: int) -> list[Row]:
    """Return instructions per call of every case of a framework: the difference of N and 2N calls, divided by N."""
    with tempfile.TemporaryDirectory(prefix="darter-instructions-") as folder:
        environ = {**os.environ, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "DARTER_CACHE_DIR": f"{folder}/store"}
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", "--dump-before=getppid"]
        command += [sys.executable, "-m", "benchmarks.instructions.calls", framework, str(calls)]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"callgrind failed:\n{done.stderr[-4000:]}")
        order = json.loads(done.stdout)
        # Dump 1 ends at the first marker; then dumps alternate between a batch and what lies between two batches.
        totals = [_instructions(Path(folder) / f"out.{number}") for number in range(1, 4 * len(order) + 1)]
    rows = []
    for index, (name, calls_each) in enumerate(order):
        once, twice = totals[4 * index + 1], totals[4 * index + 3]
        rows.append(Row(name, (twice - once) / (calls * calls_each), "instructions"))
    return rows


def environment() -> dict[str, Any]:
    """Return what the counts depend on."""
    compiler = subprocess.run(["c++", "-dumpfullversion"], capture_output=True, text=True, check=False).stdout.strip()
    return {"python": platform.python_version(), "compiler": compiler, "machine": platform.machine()}


def _compare(rows: list[Row], baseline: dict[str, Any]) -> int:
    """Print every row with its change; return 3 when one is off by more than the tolerance."""
    known = {row["name"]: row["value"] for row in baseline.get("rows", [])}
    comparable = baseline.get("environment") == environment()
    changed = []
    for row in rows:
        before = known.get(row.name)
        change = 0.0 if before is None else row.value / before - 1
        print(f"{row.name:45} {row.value:9.0f} {'' if before is None else f'{change:+8.1%}'}")
        if abs(change) > TOLERANCE:
            changed.append(row.name)
    if not comparable:
        print(f"not compared: the baseline is of {baseline.get('environment')}, this is {environment()}")
        return 0
    for name in changed:
        print(f"more than {TOLERANCE:.0%} off the baseline: {name}; a commit that means it writes a new baseline")
    return 3 if changed else 0


def _instructions(path: Path) -> int:
    found = _TOTAL.search(path.read_text())
    if found is None:
        raise SystemExit(f"{path} holds no total")
    return int(found.group(1))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.instructions", description=__doc__)
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--calls", type=int, default=200, help="N; N and 2N statements are run")
    parser.add_argument("--frameworks", nargs="+", default=frameworks())
    parser.add_argument("--write-baseline", action="store_true", help="make these figures the committed ones")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
