"""Group A of the public failure cases: something that compiled code depends on has changed.

Each case is a program on disk, run in processes of its own or imported, edited and called again.  "Must miss" stands
next to its twin, "must hit from another process".
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import textwrap
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import darter as dt

KERNEL = """
import numpy as np
import darter as dt

@dt.kernel
def fill_kernel(o: dt.Tensor, n: dt.Int64):
    i = dt.block_idx.x * 32 + dt.thread_idx.x
    if i < n:
        o[i] = {value}

@dt.jit
def fill(o: dt.Tensor):
    n = o.shape[0]
    fill_kernel(o, n).launch(grid=dt.cdiv(n, 32), block=32)

def run(launcher=None, *arguments):
    o = np.zeros(3, np.float32)
    (launcher or fill)(o, *arguments)
    return o[0].item()
"""

Write = Callable[..., types.ModuleType]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh_store: Path) -> Iterator[Write]:
    """Write modules (name=text) and import the first one; the store is this test's own."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    written: list[str] = []

    def load(**texts: str) -> types.ModuleType:
        for name, text in texts.items():
            (tmp_path / f"{name}.py").write_text(textwrap.dedent(text))
            written.append(name)
        importlib.invalidate_caches()
        for name in texts:
            sys.modules.pop(name, None)
        return importlib.import_module(next(iter(texts)))

    yield load
    for name in written:
        sys.modules.pop(name, None)


@pytest.fixture
def process(tmp_path: Path) -> Callable[..., tuple[float, int]]:
    """Run ``a_main`` in a process of its own; returns what it wrote, and how often the front end ran."""

    def run(**environment: str) -> tuple[float, int]:
        code = "import a_main; print(a_main.run(), a_main.fill.cache_info()['compiles'])"
        found = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]), **environment}
        found["PYTHONDONTWRITEBYTECODE"] = "1"
        out = subprocess.check_output([sys.executable, "-c", code], env=found, cwd=tmp_path, text=True)
        value, compiles = out.split()
        return float(value), int(compiles)

    return run


def _expect_drift(call: Callable[[], Any], *parts: str) -> None:
    for _ in range(2):  # it does not wear off
        with pytest.raises(dt.CaptureDriftError) as error:
            call()
        assert all(part in str(error.value) for part in parts), str(error.value)


def test_A01_a_helper_that_is_swapped_out_is_drift(write: Write) -> None:
    module = write(
        a_main=KERNEL.format(value="helper()") + "\ndef helper():\n    return 1.0\n\ndef other():\n    return 2.0\n"
    )
    original = module.helper
    assert module.run() == 1
    module.helper = module.other
    _expect_drift(module.run, "global 'helper'", "function helper", "function other")
    module.helper = original
    assert module.run() == 1
    module.helper = module.other
    module.fill.accept_drift()
    assert module.run() == 2


def test_A01_recompile_finds_the_earlier_code_again(write: Write) -> None:
    text = KERNEL.replace("@dt.jit", '@dt.jit(on_drift="recompile")').format(value="VALUE") + "\nVALUE = 1.0\n"
    module = write(a_main=text)
    for value in (1.0, 2.0, 1.0, 2.0, 1.0):
        module.VALUE = value
        assert module.run() == value
    assert module.fill.cache_info()["compiles"] == 2


@pytest.mark.parametrize("edit", ["return 2.0", "return 1.0 + 1.0", "x = 2.0\n    return x"])
def test_A02_an_edited_helper_misses_in_the_next_process_and_its_twin_hits(
    write: Write, process: Callable[..., tuple[float, int]], edit: str
) -> None:
    text = KERNEL.format(value="helper()") + "\ndef helper():\n    {}\n"
    write(a_main=text.format("return 1.0"))
    assert process() == (1, 1)
    assert process(PYTHONHASHSEED="7") == (1, 0)
    write(a_main=text.format(edit))
    assert process() == (2, 1)
    write(a_main=text.format(edit).replace("def helper():", "def helper():  # a comment"))
    assert process() == (2, 0)


def test_A04_helpers_behind_an_alias_and_a_static_branch_are_captured(write: Write) -> None:
    module = write(
        a_main=KERNEL.format(value="picked()")
        + """
MODE = "one"
def one():
    return 1.0
def two():
    return 2.0
def picked():
    f = one if MODE == "one" else two
    return f()
"""
    )
    assert module.run() == 1
    module.one = module.two
    _expect_drift(module.run, "global 'one' in a_main.py:27")


def test_A05_A06_a_captured_variable_is_not_the_global_of_the_same_name(write: Write) -> None:
    factory = """
N = 1.0

def make(N):
    @dt.kernel
    def kernel(o: dt.Tensor, n: dt.Int64):
        i = dt.block_idx.x * 32 + dt.thread_idx.x
        if i < n:
            o[i] = 9.0 if N is None else N
    @dt.jit
    def launcher(o: dt.Tensor):
        n = o.shape[0]
        kernel(o, n).launch(grid=dt.cdiv(n, 32), block=32)
    return launcher
"""
    module = write(a_main=KERNEL.format(value="N") + factory)
    for _ in range(2):
        made = [module.make(captured) for captured in (2.0, 3.0, None)]
        assert [module.run(launcher) for launcher in made] == [2, 3, 9]
    assert module.run() == 1
    module.N = 5.0  # no launcher of the factory reads it
    assert [module.run(launcher) for launcher in made] == [2, 3, 9]
    _expect_drift(module.run, "global 'N'", "1.0 -> 5.0")


@pytest.mark.parametrize("call", ["m.magic()", "f()"])
def test_A08_A14_a_reloaded_module_is_noticed_and_an_unchanged_reload_is_not(write: Write, call: str) -> None:
    helper = "def magic():\n    return SCALE * {}\n\nSCALE = 1.0\n"
    main = KERNEL.replace("    i = dt", "    f = m.magic\n    i = dt", 1).format(value=call)
    module = write(a_main="import a_helper as m\n" + main, a_helper=helper.format("1.0"))
    assert module.run() == 1
    importlib.reload(module.m)
    assert module.run() == 1
    assert module.fill.cache_info()["compiles"] == 1
    Path(module.m.__file__).write_text(helper.format("2.0"))
    importlib.reload(module.m)
    _expect_drift(module.run, "magic", "a_helper.py")


def test_A14_an_imported_constant_counts_across_files(write: Write, process: Callable[..., tuple[float, int]]) -> None:
    main = "from a_helper import VALUE\n" + KERNEL.format(value="VALUE")
    write(a_main=main, a_helper="VALUE = 1.0\n")
    assert process() == (1, 1)
    assert process() == (1, 0)
    write(a_main=main, a_helper="VALUE = 2.0\n")
    assert process() == (2, 1)
    write(a_main=main, a_helper="UNRELATED = 3\nVALUE = 1.0\n")
    assert process() == (1, 0)


def test_A09_an_override_in_a_subclass_has_a_baseline_of_its_own(write: Write) -> None:
    module = write(
        a_main=KERNEL.format(value="1.0")
        + """
G1, G2 = 1.0, 2.0

@dt.kernel
def method_kernel(o: dt.Tensor, n: dt.Int64, v: dt.Float32):
    i = dt.block_idx.x * 32 + dt.thread_idx.x
    if i < n:
        o[i] = v

class Base:
    def h(self):
        return G1
    @dt.jit
    def k(self, o: dt.Tensor):
        n = o.shape[0]
        method_kernel(o, n, self.h()).launch(grid=dt.cdiv(n, 32), block=32)

class Sub(Base):
    def h(self):
        return G2
"""
    )
    base, sub = module.Base(), module.Sub()
    assert (module.run(base.k), module.run(sub.k)) == (1, 2)
    module.G2 = 9.0
    assert module.run(base.k) == 1

    with pytest.raises(dt.CaptureDriftError, match=r"2\.0 -> 9\.0"):
        module.run(sub.k)
    assert module.run(base.k) == 1


def test_A10_the_environment_is_live_and_what_means_the_same_hits(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DARTER_BOUNDS_CHECK", raising=False)
    module = write(a_main=KERNEL.format(value="1.0"))
    compiles = lambda: module.fill.cache_info()["compiles"]  # noqa: E731
    assert (module.run(), compiles()) == (1, 1)
    os.environ["DARTER_BOUNDS_CHECK"] = "1"
    assert (module.run(), compiles()) == (1, 2)
    os.environ["DARTER_BOUNDS_CHECK"] = "0"
    assert (module.run(), compiles()) == (1, 2)
    os.environ["DARTER_UNRELATED"] = "1"
    assert (module.run(), compiles()) == (1, 2)
    del os.environ["DARTER_UNRELATED"]


def test_A10_a_dict_bound_to_the_environment_is_live_too(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", dict(os.environ))

    @dt.jit
    def launcher(o: dt.Tensor):
        return

    o = np.zeros(4, np.float32)
    for value, compiles in (("0", 1), ("1", 2), ("0", 2)):
        os.environ["DARTER_BOUNDS_CHECK"] = value
        launcher(o)
        assert launcher.cache_info()["compiles"] == compiles


def test_A11_clearing_reaches_every_level(write: Write) -> None:
    module = write(a_main=KERNEL.format(value="1.0"))
    assert module.run() == 1
    before = module.fill.cache_info()
    module.fill.clear()
    assert module.run() == 1
    after = module.fill.cache_info()
    assert after["disk_hits"] + after["compiles"] == before["disk_hits"] + before["compiles"] + 1


def test_A15_an_edited_cell_runs_its_new_code(fresh_store: Path) -> None:
    import linecache

    namespace: dict[str, Any] = {}
    for value in ("1.0", "2.0", "1.0"):
        source = KERNEL.format(value=value)
        linecache.cache["<cell>"] = (len(source), None, source.splitlines(keepends=True), "<cell>")
        exec(compile(source, "<cell>", "exec"), namespace)
        assert namespace["run"]() == float(value)
    del linecache.cache["<cell>"]


def test_a_changed_default_of_a_helper_is_drift(write: Write) -> None:
    module = write(a_main=KERNEL.format(value="helper()") + "\ndef helper(a=1.0, *, b=1.0):\n    return a * b\n")
    assert module.run() == 1
    module.helper.__defaults__ = (2.0,)
    _expect_drift(module.run, "helper default 0", "1.0 -> 2.0")
    module.helper.__defaults__ = (1.0,)
    module.helper.__kwdefaults__["b"] = 4.0
    _expect_drift(module.run, "helper default b", "1.0 -> 4.0")
    module.helper.__kwdefaults__["b"] = 1.0
    assert module.run() == 1


def test_C06_a_helper_object_in_globals_hits_from_another_process(
    write: Write, process: Callable[..., tuple[float, int]]
) -> None:
    write(
        a_main=KERNEL.format(value="OBJECT.value() + CONFIG['x'] + HELPERS[0]()")
        + """
import functools

class Holder:
    def __init__(self):
        self.number = 1.0
    def value(self):
        return self.number

def zero():
    return 0.0

OBJECT = Holder()
CONFIG = {"x": 1.0, "y": object()}
HELPERS = [zero, functools.partial(zero)]
"""
    )
    assert process(PYTHONHASHSEED="0") == (2, 1)
    assert process(PYTHONHASHSEED="1") == (2, 0)
    assert process(PYTHONHASHSEED="2") == (2, 0)


def test_arrays_are_refused_by_name_and_leave_nothing(write: Write) -> None:
    module = write(a_main=KERNEL.format(value="TABLE[0]") + "\nTABLE = np.zeros(3, np.float32)\n")
    for _ in range(2):
        with pytest.raises(dt.CaptureRefusedError, match=r"'TABLE'.*dt\.static"):
            module.run()
    assert module.fill.cache_info()["variants"] == 0
    assert np.all(module.TABLE == 0)
