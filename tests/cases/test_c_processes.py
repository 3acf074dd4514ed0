"""C04, C06, C07, C14: one program has one primary key and one manifest, whatever process runs it and wherever."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import darter

DEFINITIONS = (
    "class Mode(enum.Enum):\n    FAST = 'fast'\n    SLOW = 'slow'\n",
    "@dataclasses.dataclass(frozen=True)\nclass Config:\n    block: int = 32\n"
    "    modes: frozenset = frozenset({'a', 'b', 'c'})\n",
    "class Holder:\n    def __init__(self):\n        self.scale = 2.0\n"
    "    def scaled(self, v):\n        return v * self.scale\n",
    "def helper(v, bias=1.0):\n    return v + bias + LIMITS['low']\n",
    "def other(v):\n    return v\n",
    "LIMITS = {'low': 1.0, 'high': 9.0, Mode.FAST: 3.0}\n",
    "HELPERS = [helper, functools.partial(helper, bias=3.0), lambda v: v]\n",
    "CONFIG = Config()\n",
    "HOLDER = Holder()\n",
    "@dt.kernel\ndef kernel(x: dt.Tensor, o: dt.Tensor, n: dt.Int64, M: dt.Constexpr, F: dt.Constexpr):\n"
    "    i = dt.block_idx.x * CONFIG.block + dt.thread_idx.x\n"
    "    if i < n:\n"
    "        v = HOLDER.scaled(HELPERS[0](x[i]) + HELPERS[1](x[i]))\n"
    "        if M is Mode.FAST and 'a' in CONFIG.modes:\n"
    "            v = v + LIMITS[M] + len(sorted(CONFIG.modes))\n"
    "        o[i] = F(v)\n",
    "@dt.jit\ndef launcher(x: dt.Tensor, o: dt.Tensor, M: dt.Constexpr, F: dt.Constexpr):\n"
    "    kernel(x, o, x.shape[0], M, F).launch(grid=1, block=CONFIG.block)\n",
)
IMPORTS = "import dataclasses, enum, functools\nimport darter as dt\n"
# Each definition after those that it uses; the two that nothing needs to follow move, and so do lines and addresses.
ORDERS = ((0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10), (2, 4, 1, 0, 8, 7, 5, 3, 6, 9, 10), (4, 3, 0, 5, 2, 1, 6, 8, 7, 10, 9))

RUN = """
import hashlib, os, pathlib, sys
import numpy as np
import program
from darter.artifacts.format import read_head

x, o = np.ones(4, np.float32), np.zeros(4, np.float32)
call = (x, o, program.Mode.FAST, program.other)
program.launcher(*call)
digest = hashlib.sha256()
entries = 0
for folder, _, names in sorted(os.walk(os.environ["DARTER_CACHE_DIR"])):
    for name in [] if folder.endswith(("locks", "notes")) else sorted(names):
        with open(os.path.join(folder, name), "rb") as stream:
            if stream.read(1):
                stream.seek(0)
                head = read_head(stream)
                digest.update(head.key + head.manifest)
                entries += 1
print(program.launcher.cache_key(*call), digest.hexdigest(), entries, o.tolist())
"""


def _run(folder: Path, number: int, package: Path) -> str:
    place = folder / f"process {number}"
    place.mkdir()
    order = ORDERS[number % len(ORDERS)]
    text = IMPORTS + "\n".join("\n" * (number % 4) + DEFINITIONS[index] for index in order)
    (place / "program.py").write_text(text)
    environment = {
        **os.environ,
        "PYTHONHASHSEED": str(number),
        "PYTHONPATH": os.pathsep.join([str(place), str(package)]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "DARTER_CACHE_DIR": str(place / "store"),
    }
    directory = place if number % 2 else folder
    done = subprocess.run(
        [sys.executable, "-c", RUN], env=environment, cwd=directory, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_C04_C06_C07_C14_eight_processes_make_one_key_and_one_manifest(tmp_path: Path) -> None:
    installed = Path(darter.__file__).parents[1]
    copied = tmp_path / "another place" / "lib"
    shutil.copytree(installed / "darter", copied / "darter", ignore=shutil.ignore_patterns("__pycache__"))
    with ThreadPoolExecutor(2) as pool:
        found = list(
            pool.map(lambda number: _run(tmp_path, number, copied if number % 3 == 0 else installed), range(8))
        )
    assert len(set(found)) == 1, found
    assert found[0].split()[2] == "1"
