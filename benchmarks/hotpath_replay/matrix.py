"""Runs the replay with two trees in fresh processes, A B A B …, pinned to one CPU, and says which rows got slower.

Exit status: 0, 3 when a host row of plain calls got slower, 2 when something cannot be run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.hotpath_replay.comparison import Comparison
from benchmarks.hotpath_replay.trees import ROOT, Tree, default_cache, find_tree
from benchmarks.instructions import callgrind

SLOWER = 3
FAILED = 2
_UNITS = ("ns", "us")


def main(arguments: Sequence[str]) -> int:
    """Compare, print the table, write the JSON; return the exit status."""
    options, passed_on = _options(arguments)
    try:
        trees = [find_tree(path, options.cache) for path in (options.original, options.fixed)]
        for name, tree in zip(("original", "fixed"), trees, strict=True):
            print(f"{name}: {tree.path} ({tree.kind}; {tree.folder})")
        os.sched_setaffinity(0, {options.cpu})
        runs = _timed(trees, passed_on, options.pairs)
        counts = [_counted(tree, passed_on, options) for tree in trees]
    except (LookupError, RuntimeError) as error:
        print(f"run_matrix: {error}", file=sys.stderr)
        return FAILED
    found = _comparisons(runs, counts)
    print(_table(found, options.fail_above))
    if options.json is not None:
        options.json.write_text(json.dumps(_report(found, runs[0][0], options), indent=1) + "\n", encoding="utf-8")
    slower = [(each.row, why) for each in found if each.gated and (why := each.slower(options.fail_above))]
    for row, why in slower:
        print(f"slower: {row}: {why}")
    return SLOWER if slower else 0


def _timed(trees: Sequence[Tree], passed_on: Sequence[str], pairs: int) -> list[list[dict[str, Any]]]:
    """Return for each tree the reports of its runs; the order is A B A B …."""
    runs: list[list[dict[str, Any]]] = [[] for _ in trees]
    for number in range(pairs):
        for tree, reports in zip(trees, runs, strict=True):
            print(f"\rpair {number + 1} of {pairs}", end="", file=sys.stderr, flush=True)
            with tempfile.TemporaryDirectory(prefix="darter-replay-") as folder:
                file = Path(folder) / "rows.json"
                _run([tree.python, "-m", "benchmarks.hotpath_replay.bench_hotpath", *passed_on, "--json", file], tree)
                reports.append(json.loads(file.read_text()))
    print("\r", end="", file=sys.stderr)
    return runs


def _run(command: Sequence[Any], tree: Tree) -> None:
    done = subprocess.run(command, env=tree.environ(), cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{tree.path}: the replay failed with status {done.returncode}:\n{done.stderr[-4000:]}")


def _counted(tree: Tree, passed_on: Sequence[str], options: argparse.Namespace) -> dict[str, float]:
    """Return instructions per call by row; empty where they cannot be counted."""
    if not options.instructions or not callgrind.available() or "cuda" in passed_on:
        return {}
    command = [tree.python, "-m", "benchmarks.hotpath_replay.counted", *passed_on]
    print("counting instructions", end="", file=sys.stderr, flush=True)
    environ = {**tree.environ(), "PYTHONSAFEPATH": "1"}
    # valgrind's processor has fewer features than the host's, so that a first run compiles anew. What that leaves in
    # memory would set it apart, by up to 0.3 %, from a run that finds compiled code.
    primed = tree.store.with_name(
        f"{tree.store.name}-counted-{hashlib.sha256(repr(passed_on).encode()).hexdigest()[:16]}"
    )
    if not primed.exists():
        callgrind.count_batches(command, environ, tree.store)
        primed.touch()
    output, totals = callgrind.count_batches(command, environ, tree.store)
    print("\r", end="", file=sys.stderr)
    order = json.loads(output)
    return {
        name: (twice - once) / calls
        for (name, calls), once, twice in zip(order, totals[::2], totals[1::2], strict=True)
    }


def _comparisons(runs: list[list[dict[str, Any]]], counts: list[dict[str, float]]) -> list[Comparison]:
    """Return the rows that both trees have, in their order."""
    values: list[dict[str, list[float]]] = []
    least: list[dict[str, float]] = []
    units: dict[str, str] = {}
    for reports in runs:
        found: dict[str, list[float]] = {}
        shortest: dict[str, float] = {}
        for report in reports:
            for row in report["rows"]:
                if row["unit"] in _UNITS:
                    found.setdefault(row["name"], []).append(row["value"])
                    units[row["name"]] = row["unit"]
                    shortest[row["name"]] = min(row.get("min", row["value"]), shortest.get(row["name"], math.inf))
        values.append(found)
        least.append(shortest)
    original, fixed = values
    return [
        Comparison(
            name,
            units[name],
            tuple(original[name]),
            tuple(fixed[name]),
            counts[0].get(name),
            counts[1].get(name),
            (least[0][name], least[1][name]),
        )
        for name in original
        if name in fixed
    ]


def _table(found: Sequence[Comparison], fail_above: float) -> str:
    width = max((len(each.row) for each in found), default=0) + 2
    lines = [f"{'row':{width}}{'original → fixed':>22}  {'ratio':>6}  {'pairs':15}{'instructions per call':>24}"]
    for each in found:
        low, high = each.bounds
        a, b = (sorted(values)[len(values) // 2] for values in (each.original, each.fixed))
        counted = ""
        if each.instructions_ratio is not None:
            counted = f"{each.original_instructions:.0f} → {each.fixed_instructions:.0f}"
            counted += f" ({each.instructions_ratio - 1:+.2%})"
        verdict = "  SLOWER" if each.gated and each.slower(fail_above) else ""
        times = f"{a:.1f} → {b:.1f} {each.unit}"
        lines.append(
            f"{each.row:{width}}{times:>22}  {each.ratio:6.3f}  {f'{low:.2f} … {high:.2f}':15}{counted:>24}{verdict}"
        )
    return "\n".join(lines)


def _report(found: Sequence[Comparison], run: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """Return the comparison in the form that every benchmark writes."""
    rows = []
    for each in found:
        low, high = each.bounds
        row = {"name": f"matrix/{each.row}", "value": each.ratio, "unit": "ratio", "low": low, "high": high}
        row |= {"original": list(each.original), "fixed": list(each.fixed)}
        if each.instructions_ratio is not None:
            row |= {"instructions": [each.original_instructions, each.fixed_instructions]}
        rows.append(row)
    command = f"run_matrix.sh --original {options.original} --fixed {options.fixed}"
    return {"machine": run["machine"], "command": command, "rows": rows}


def _options(arguments: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return the matrix's own options, and the replay's, which come after ``--``."""
    own, passed_on = list(arguments), []
    if "--" in own:
        place = own.index("--")
        own, passed_on = own[:place], own[place + 1 :]
    parser = argparse.ArgumentParser(
        prog="run_matrix.sh", description=__doc__, epilog="Everything after -- goes to bench_hotpath.py."
    )
    parser.add_argument("--original", type=Path, required=True, help="an installed tree, a build tree or a checkout")
    parser.add_argument("--fixed", type=Path, default=ROOT, help="the same; by default this checkout")
    parser.add_argument("--pairs", type=int, default=7, help="runs of each (7)")
    parser.add_argument("--fail-above", type=float, default=1.10, help="a slower time below this ratio passes (1.10)")
    parser.add_argument("--no-instructions", dest="instructions", action="store_false", help="do not run valgrind")
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)), help="the CPU to run on")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="where builds are kept")
    parser.add_argument("--json", type=Path, help="write the comparison to this file")
    options = parser.parse_args(own)
    if options.pairs < 1:
        parser.error("--pairs must be 1 or more")
    if "--json" in passed_on:
        parser.error("--json goes before --")
    return options, passed_on


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
