"""A launch from disk imports what it needs: a list, so that nothing comes to it by accident, and costs every process.

A module costs 0.1 to 0.3 ms, a dataclass 0.4.  Who adds one here says what the first launch of a process needs it for.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

LAUNCHER = """
import darter as dt

@dt.kernel
def add_kernel(x: dt.Tensor, y: dt.Tensor, out: dt.Tensor, n: dt.Int64, BLOCK: dt.Constexpr[int]):
    i = dt.block_idx.x * BLOCK + dt.thread_idx.x
    if i < n:
        out[i] = x[i] + y[i]

@dt.jit
def add(x: dt.Tensor["n"], y: dt.Tensor["n"], out: dt.Tensor["n"], lanes: dt.Int32 = 32, BLOCK: dt.Constexpr[int] = 64):
    n = x.shape[0]
    add_kernel(x, y, out, n, BLOCK).launch(grid=dt.cdiv(n, BLOCK), block=BLOCK)
"""

PROBE = """
import dataclasses, sys
import numpy as np
import darter
x, y, out = np.ones(100, np.float32), np.ones(100, np.float32), np.zeros(100, np.float32)
before, made = set(sys.modules) | {"added"}, []
make = dataclasses._process_class
dataclasses._process_class = lambda cls, *options: made.append(cls.__qualname__) or make(cls, *options)
import added
decorated = set(sys.modules)
added.add(x, y, out)
imported = sorted(set(sys.modules) - before)
assert (out == 2).all()
import json
late = sorted(name for name in set(sys.modules) - decorated if name.startswith("darter"))
hits = added.add.cache_info().disk_hits
print(json.dumps({"late": late, "disk_hits": hits, "modules": imported, "dataclasses": made}))
"""

NEEDED = """
    json_text later pipeline process_lock sha256 source source.digests source.lines target
    artifacts artifacts.artifact artifacts.directory artifacts.format artifacts.key artifacts.settings
    artifacts.store artifacts.toolchain
    backends backends.cpu backends.registry
    capture.acceptance capture.argument_roots capture.baseline capture.fingerprint capture.parameters capture.path
    capture.record capture.resolve capture.steps
    ir.places
    launch.counts launch.launcher launch.modules launch.parameters launch.request launch.variants
    signature.constexprs signature.contracts signature.describe signature.descriptor signature.facts
    signature.keyrecord signature.plan signature.planner signature.reader signature.scalars signature.scopes
    signature.structures signature.view
"""
"""What the first launch of a process imports of darter beyond what ``import darter`` does."""

LATE = "backends.cpu json_text source source.digests source.lines"
"""What of it is imported at the first call only."""

PYTHON = {"_json", "_sha256", "_sha2"}
"""What it may import of Python, if nobody else has."""


def _first_launch(tmp_path: Path) -> dict[str, list[str]]:
    tmp_path.joinpath("added.py").write_text(LAUNCHER)
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": path, "DARTER_CACHE_DIR": str(tmp_path / "store")}
    for _ in range(2):
        command = [sys.executable, "-c", PROBE]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120)
    answer: dict[str, list[str]] = json.loads(done.stdout)
    assert answer["disk_hits"] == 1
    return answer


def test_a_launch_from_disk_imports_what_it_needs_and_makes_no_dataclass(tmp_path: Path) -> None:
    found = _first_launch(tmp_path)
    needed = {f"darter.{name}" for name in NEEDED.split()}
    assert set(found["modules"]) - needed - PYTHON == set()
    assert found["dataclasses"] == []


def test_the_launch_itself_imports_next_to_nothing(tmp_path: Path) -> None:
    """The first launcher of a process has done it; the backend alone is known only when the arguments are."""
    late = set(_first_launch(tmp_path)["late"])
    assert late <= {f"darter.{name}" for name in LATE.split()}
