"""The folders of native/ stand in layers, listed in native/DESIGN.md: one includes only what stands below it."""

from __future__ import annotations

import re
from pathlib import Path

NATIVE = Path(__file__).parents[2] / "native"


def _layers() -> list[str]:
    """Folders, top to bottom."""
    rows = re.findall(r"^\| (`\w+/`(?:, `\w+/`)*) \|", (NATIVE / "DESIGN.md").read_text(), re.MULTILINE)
    return [name for row in rows for name in re.findall(r"\w+", row)]


def test_every_folder_has_its_layer() -> None:
    assert sorted(_layers()) == sorted(path.name for path in NATIVE.iterdir() if path.is_dir())


def test_a_folder_includes_only_what_stands_below_it() -> None:
    floor = {name: -number for number, name in enumerate(_layers())}
    upwards = [
        f"{path.relative_to(NATIVE)} includes {included}/"
        for path in sorted(NATIVE.glob("*/*.[ch]pp"))
        for included in re.findall(r'^#include "(\w+)/', path.read_text(), re.MULTILINE)
        if floor[included] > floor[path.parent.name]
    ]
    assert upwards == []


def test_includes_name_the_folder() -> None:
    """``#include "key/words.hpp"``, from the same folder too: a file is found by one name everywhere."""
    bare = [
        f"{path.relative_to(NATIVE)}: {included}"
        for path in sorted(NATIVE.rglob("*.[ch]pp"))
        for included in re.findall(r'^#include "([^"/]+)"', path.read_text(), re.MULTILINE)
        if included != "structmember.h"  # CPython's; it wants Python.h before it, and <...> would be sorted first
    ]
    assert bare == []
