"""A copy of a checkout whose warm call is slower by a known time: what the comparison must notice.

``python -m benchmarks.hotpath_replay.canary FOLDER`` makes one.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from benchmarks.hotpath_replay.trees import ROOT

CANARY_NS = 200

_ENTRY = re.compile(r"^PyObject\* call_function\(PyObject\* self,[^;{]*\{\n", re.MULTILINE)

_BUSY = f"""  // A dependent chain of one addition and one store for each turn: about five cycles.
  for (volatile int turn = 0; turn < {CANARY_NS * 3 // 5};) turn = turn + 1;
"""

_COPIED = ("src", "native", "examples", "benchmarks", "CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE")


def make_canary(folder: Path) -> None:
    """Copy this checkout's sources to ``folder``, with about 200 ns of busy work at the entry of the warm call.

    Raises:
        LookupError: the entry is not where it was.
    """
    ignored = shutil.ignore_patterns("__pycache__", "*.so")
    for name in _COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        else:
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    file = folder / "native" / "jit" / "jit_function.cpp"
    text, count = _ENTRY.subn(lambda match: match[0] + _BUSY, file.read_text())
    if count != 1:
        raise LookupError(f"{file} has {count} definitions of call_function, where the warm call begins; expected 1")
    file.write_text(text)


if __name__ == "__main__":
    make_canary(Path(sys.argv[1]))
