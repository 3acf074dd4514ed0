"""The layers of the tree: import-linter holds them; here its contract is checked to cover the whole tree."""

from __future__ import annotations

import ast
import graphlib
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "darter"


def _layers() -> set[str]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    rows = contracts[0]["layers"]
    return {name.strip().strip("()") for row in rows for name in row.split(":")}


def test_every_part_of_the_tree_has_its_layer() -> None:
    parts = {p.stem for p in SOURCE.glob("*.py")} | {p.parent.name for p in SOURCE.glob("*/__init__.py")}
    # __init__ holds public names only, __main__ is `python -m darter`; neither can be imported from below.
    expected = {f"darter.{part}" for part in parts - {"__init__", "__main__"}}
    assert expected - _layers() == set()


def test_no_modules_import_each_other() -> None:
    """Nor do three in a circle, nor for type checkers or inside functions only."""
    modules = {_module_name(path): path for path in SOURCE.rglob("*.py") if path.stem != "__main__"}
    del modules["darter"]  # `from darter import _native`; the public names import what they stand for
    graph = {name: _imports(path, modules) - {name} for name, path in modules.items()}
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def _module_name(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")


def _imports(path: Path, modules: dict[str, Path]) -> set[str]:
    named: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            named.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            named.update(name if name in modules else node.module or "" for name in inner)
    return named & modules.keys()


def test_every_exception_is_in_errors() -> None:
    """A class that derives from an exception stands in errors.py and nowhere else."""
    strays = []
    for path in SOURCE.rglob("*.py"):
        if path.name == "errors.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.ClassDef):
                continue
            names = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
            if any(name.endswith(("Error", "Exception", "Warning")) for name in names):
                # Private control flow (a break out of the interpreter's recursion) is no error that anybody sees.
                if node.name.startswith("_"):
                    continue
                strays.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}")
    assert strays == []
