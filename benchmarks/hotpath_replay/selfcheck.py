"""Whether the comparison can be believed: a tree against itself, again and again, then against a slower copy of itself.

``make bench-matrix``, or ``python -m benchmarks.hotpath_replay.selfcheck [--runs 20]``; minutes.  Exit status 1 when a
run against itself did not exit with 0, or the copy was not named slower in every row of plain calls.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path

from benchmarks.hotpath_replay import matrix
from benchmarks.hotpath_replay.canary import make_canary
from benchmarks.hotpath_replay.trees import ROOT


def main() -> int:
    """Run everything; print a line for each run."""
    parser = argparse.ArgumentParser(prog="selfcheck", description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--tree", type=Path, default=ROOT, help="what is compared (this checkout)")
    parser.add_argument("--pairs", default="5")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="darter-selfcheck-") as folder:
        good = [_against_itself(options, Path(folder) / "matrix.json", number) for number in range(options.runs)]
        canary = Path(folder) / "canary"
        make_canary(canary)
        status, output = _run(["--original", options.tree, "--fixed", canary, "--pairs", options.pairs])
        named = {line.split(": ")[1] for line in output.splitlines() if line.startswith("slower: ")}
        rows = {line.split()[0] for line in output.splitlines() if line.startswith("replay/") and "/jit " in line}
        print(f"against the canary: exit {status}, {len(named)} of {len(rows)} rows named slower")
    print(f"against itself: {sum(good)} of {len(good)} runs exit 0 with instructions equal within 0.2 %")
    return 0 if all(good) and status == matrix.SLOWER and named == rows else 1


def _against_itself(options: argparse.Namespace, file: Path, number: int) -> bool:
    status, output = _run(
        ["--original", options.tree, "--fixed", options.tree, "--pairs", options.pairs, "--json", file]
    )
    rows = json.loads(file.read_text())["rows"] if status in (0, matrix.SLOWER) else []
    counted = [row["instructions"] for row in rows if "instructions" in row]
    off = max((abs(fixed / original - 1) for original, fixed in counted), default=0.0)
    print(f"run {number + 1}: exit {status}; instructions of {len(counted)} rows, at most {off:.3%} apart", flush=True)
    if status:
        print(output)
    return status == 0 and off <= 0.002


def _run(arguments: list[object]) -> tuple[int, str]:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        status = matrix.main([*map(str, arguments), "--", "--windows", "8"])
    return status, output.getvalue()


if __name__ == "__main__":
    sys.exit(main())
