"""``import darter`` is light: no LLVM, no framework, no disk, no driver."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

PROBE = """
import json, sys
import numpy
touched = []
WRITES_OR_LISTS = ("open", "os.mkdir", "os.listdir", "os.scandir", "os.rename", "os.remove", "socket.connect")
library = tuple(sys.argv[1:])
def audit(event, arguments):
    # Reading modules is what an import does; everything else that opens, lists or makes files is not.
    if event in WRITES_OR_LISTS:
        path = str(arguments[0])
        if not path.endswith((".py", ".pyc", ".so")) and not path.startswith(library):
            touched.append(f"{event} {path}")
before = set(sys.modules)
sys.addaudithook(audit)
import darter
print(json.dumps({"modules": sorted(set(sys.modules) - before), "touched": touched}))
"""


def _import_in_a_new_process(tmp_path: Path) -> dict[str, list[str]]:
    library = [os.path.realpath(entry) for entry in sys.path if entry] + [entry for entry in sys.path if entry]
    environment = {**os.environ, "HOME": str(tmp_path), "DARTER_CACHE_DIR": str(tmp_path / "store")}
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *library], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    answer: dict[str, list[str]] = json.loads(done.stdout)
    return answer


def test_import_loads_no_compiler_and_no_framework(tmp_path: Path) -> None:
    loaded = {name.partition(".")[0] for name in _import_in_a_new_process(tmp_path)["modules"]}
    assert "darter" in loaded
    assert loaded & {"llvmlite", "torch", "cupy", "typer", "rich", "platformdirs", "filelock", "numba"} == set()


def test_import_touches_no_disk(tmp_path: Path) -> None:
    assert _import_in_a_new_process(tmp_path)["touched"] == []
    assert list(tmp_path.iterdir()) == []
