"""``explain``, the log of recompiles and the warning about variants, on real calls."""

from __future__ import annotations

import importlib
import itertools
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import darter as dt
from darter.errors import VariantsWarning

TEXT = """
import darter as dt

class cfg:
    BLOCK = 128

OTHER = 1.0

@dt.kernel
def fill_kernel(x: dt.Tensor, n: dt.Int64, N: dt.Constexpr):
    i = dt.block_idx.x * 32 + dt.thread_idx.x
    if i < n:
        x[i, 0] = dt.Float32(cfg.BLOCK + N)

@dt.jit(on_drift="{on_drift}")
def fill(x: dt.Tensor, N: dt.Constexpr = 0):
    fill_kernel(x, x.shape[0], N).launch(grid=1, block=32)

@dt.jit
def never(x: dt.Tensor):
    raise ValueError("it is not run")

class Layer:
    @dt.jit
    def fill(self, x: dt.Tensor):
        fill_kernel(x, x.shape[0], 0).launch(grid=1, block=32)
"""

_numbers = itertools.count()

Load = Callable[..., types.ModuleType]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh_store: Path) -> Iterator[Load]:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    # A name that no other test has: what this process has built under a name, it finds again.
    name = f"explained_{next(_numbers)}"

    def loaded(on_drift: str = "raise") -> types.ModuleType:
        (tmp_path / f"{name}.py").write_text(TEXT.format(on_drift=on_drift))
        importlib.invalidate_caches()
        sys.modules.pop(name, None)
        return importlib.import_module(name)

    yield loaded
    sys.modules.pop(name, None)


@pytest.fixture
def x() -> Any:
    return np.zeros((8, 8), np.float32)


def test_explain_tells_what_the_call_then_does(load: Load, x: Any) -> None:
    module = load()
    for outcome, counted in (("compile", "compiles"), ("memory hit", "memory_hits")):
        before = module.fill.cache_info()
        assert module.fill.explain(x).splitlines()[0] == outcome
        assert module.fill.cache_info() == before
        module.fill(x)
        assert getattr(module.fill.cache_info(), counted) == getattr(before, counted) + 1
    module.fill.clear()
    assert module.fill.explain(x) == "disk hit"
    module.fill(x)
    assert module.fill.cache_info().disk_hits == 1


def test_what_another_launcher_of_the_process_has_built_is_a_memory_hit(load: Load, x: Any) -> None:
    load().fill(x)
    again = load()
    assert again.fill.explain(x) == "memory hit"
    again.fill(x)
    assert again.fill.cache_info().memory_hits == 1


def test_explain_names_each_difference(load: Load, x: Any) -> None:
    module = load()
    module.fill(x)
    explained = lambda *arguments: module.fill.explain(*arguments).splitlines()  # noqa: E731
    assert explained(x.T) == ["compile", "argument 'x': unit-stride axis 1 -> 0"]
    assert explained(x.astype(np.float16)) == ["compile", "argument 'x': dtype float32 -> float16"]
    assert explained(x, 3) == ["compile", "constexpr 'N': 0 -> 3"]
    assert len(explained(x.T.astype(np.float16), 3)) == 4
    module.fill(x, 3)
    # Against the nearest key that there is.
    assert explained(x.T, 3) == ["compile", "argument 'x': unit-stride axis 1 -> 0"]


def test_drift_is_told_and_not_raised(load: Load, x: Any) -> None:
    module = load()
    module.fill(x)
    module.cfg.BLOCK = 256
    before = module.fill.cache_info()
    line = f"global 'cfg.BLOCK' in {module.__name__}.py:13: 128 -> 256"
    assert module.fill.explain(x).splitlines() == ["drift", line]
    assert module.fill.cache_info() == before
    with pytest.raises(dt.CaptureDriftError, match=r"cfg\.BLOCK"):
        module.fill(x)
    module.fill.accept_drift()
    assert module.fill.explain(x).startswith("compile")
    recompiling = module.fill.with_options(on_drift="recompile")
    assert recompiling.explain(x) == "compile"


def test_under_recompile_drift_is_a_compile_with_its_reason(load: Load, x: Any) -> None:
    module = load("recompile")
    module.fill(x)
    module.cfg.BLOCK = 256
    assert module.fill.explain(x).splitlines() == [
        "compile",
        f"global 'cfg.BLOCK' in {module.__name__}.py:13: 128 -> 256",
    ]
    module.fill(x)
    module.cfg.BLOCK = 128
    assert module.fill.explain(x) == "memory hit"


def test_explain_runs_and_loads_nothing(load: Load, x: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    module = load()
    for stage in ("darter.pipeline._compile", "darter.pipeline._Pipeline._load"):
        monkeypatch.setattr(stage, lambda *_: pytest.fail("explain went too far"))
    assert module.never.explain(x) == "compile"
    assert module.fill.explain(x) == "compile"
    assert module.Layer().fill.explain(x) == "compile"
    counted = module.fill.cache_info()
    assert (counted.compiles, counted.disk_hits, counted.memory_hits, counted.variants) == (0, 0, 0, 0)


def test_a_method_explains_for_its_object(load: Load, x: Any) -> None:
    module = load()
    layer = module.Layer()
    layer.fill(x)
    assert layer.fill.explain(x) == "memory hit"

    class Other(module.Layer):  # type: ignore[misc, name-defined]
        pass

    assert Other().fill.explain(x).startswith("compile\nargument 'self'")


def test_the_log_has_a_line_for_each_compile_but_the_first(
    load: Load, x: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DARTER_LOG", "recompiles")
    module = load("recompile")
    module.fill(x)
    module.fill(x)
    assert capsys.readouterr().err == ""
    module.fill(x.T)
    assert capsys.readouterr().err == "darter: fill: compile: argument 'x': unit-stride axis 1 -> 0\n"
    module.cfg.BLOCK = 256
    module.fill(x)
    line = f"global 'cfg.BLOCK' in {module.__name__}.py:13: 128 -> 256"
    assert capsys.readouterr().err == f"darter: fill: compile: {line}\n"
    module.fill.clear()
    module.fill(x)  # from disk: the front end does not run
    assert capsys.readouterr().err == ""


def test_too_many_variants_are_warned_about_once_and_by_name(
    load: Load, x: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("darter.launch.launcher.VARIANT_LIMIT", 3)
    module = load()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for value in range(6):
            module.fill(x, value)
    messages = [str(each.message) for each in caught if each.category is VariantsWarning]
    assert len(messages) == 1
    assert "more than 3 compiled variants" in messages[0]
    assert "constexpr 'N'" in messages[0]


def test_functions_made_at_each_call_do_not_pile_up(load: Load, monkeypatch: pytest.MonkeyPatch, x: Any) -> None:
    import weakref

    monkeypatch.setattr("darter.launch.launcher.FUNCTION_LIMIT", 4)
    text = TEXT.replace("cfg.BLOCK + N", "N()").replace("N: dt.Constexpr = 0", "N: dt.Constexpr")
    monkeypatch.setitem(globals(), "TEXT", text + "\ndef make(n):\n    def f(): return n\n    return f\n")
    module = load()
    kept = module.make(7.0)
    compiled = dt.compile(module.fill, x, kept)
    made = []
    for value in range(20):
        function = module.make(float(value % 2))
        made.append(weakref.ref(function))
        module.fill(x, function)
        assert x[0, 0] == value % 2
    module.fill(x, kept)
    assert x[0, 0] == 7
    compiled(x, kept)
    del function
    assert sum(each() is not None for each in made) <= 5
    assert module.fill.cache_info().compiles == 3
