"""Programs beside the package are found from any folder, and what is loaded already is used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import darter
from darter.cli.beside import folder_beside, module_beside

SOURCE = str(Path(darter.__file__).parents[1])


def test_a_program_is_found_from_any_folder(tmp_path: Path) -> None:
    text = (
        "from darter.cli.beside import module_beside\n"
        "module = module_beside('benchmarks.hotpath_replay.bench_hotpath')\n"
        "print(module.__name__, module.__file__)"
    )
    environ = {"PYTHONPATH": SOURCE, "PYTHONSAFEPATH": "1"}
    command = [sys.executable, "-c", text]
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=True)
    name, file = done.stdout.split()
    assert name == "benchmarks.hotpath_replay.bench_hotpath"
    assert Path(file).is_relative_to(folder_beside("benchmarks"))


def test_what_is_loaded_is_used() -> None:
    import benchmarks.hotpath_replay.window as window

    assert module_beside("benchmarks.hotpath_replay.window") is window


@pytest.mark.parametrize("name", ["benchmarks.no_such_benchmark", "no_such_folder.x"])
def test_what_is_not_there_is_not_found(name: str) -> None:
    with pytest.raises(ModuleNotFoundError):
        module_beside(name)
