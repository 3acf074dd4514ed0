"""Group A on every way to call: compiled functions, views, methods, launchers in launchers; every level cleared."""

from __future__ import annotations

import importlib
import itertools
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import darter as dt

TEXT = """
import darter as dt

SCALE = 2.0
BIAS = 0.0

@dt.kernel
def fill_kernel(o: dt.Tensor, n: dt.Int64, BIASED: dt.Constexpr):
    i = dt.block_idx.x * 32 + dt.thread_idx.x
    if i < n:
        o[i] = SCALE + BIAS if BIASED else SCALE

@dt.jit
def fill(o: dt.Tensor, BIASED: dt.Constexpr = False):
    fill_kernel(o, o.shape[0], BIASED).launch(grid=1, block=32)

@dt.jit
def middle(o: dt.Tensor, BIASED: dt.Constexpr = False):
    fill(o, BIASED)

@dt.jit
def outer(o: dt.Tensor, BIASED: dt.Constexpr = False):
    middle(o, BIASED)
"""

_numbers = itertools.count()


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh_store: Path) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    name = f"drift_calls_{next(_numbers)}"
    (tmp_path / f"{name}.py").write_text(TEXT)
    importlib.invalidate_caches()
    yield importlib.import_module(name)
    sys.modules.pop(name, None)


def run(launcher: Any, *arguments: Any) -> float:
    o = np.zeros(3, np.float32)
    launcher(o, *arguments)
    return float(o[0])


def drifts(launcher: Any, *arguments: Any) -> str:
    o = np.full(3, 77, np.float32)
    with pytest.raises(dt.CaptureDriftError) as error:
        launcher(o, *arguments)
    assert (o == 77).all()
    return str(error.value)


@pytest.mark.parametrize("on_drift", ["raise", "recompile"])
def test_a_compiled_function_is_guarded_and_never_compiles(module: Any, on_drift: str) -> None:
    launcher = module.fill.with_options(on_drift=on_drift)
    compiled = dt.compile(launcher, np.zeros(3, np.float32))
    assert run(compiled) == 2
    module.SCALE = 3.0
    for _ in range(2):
        assert "global 'SCALE'" in drifts(compiled)
    launcher.accept_drift()
    assert run(launcher) == 3
    assert "2.0 -> 3.0" in drifts(compiled)  # it stays what it was compiled as
    module.SCALE = 2.0
    assert run(compiled) == 2
    assert launcher.cache_info().compiles == 2


def test_drift_that_one_variant_read_does_not_stop_another(module: Any) -> None:
    assert (run(module.fill, False), run(module.fill, True)) == (2, 2)
    module.BIAS = 1.0
    assert run(module.fill, False) == 2
    assert "global 'BIAS'" in drifts(module.fill, True)
    assert run(module.fill, False) == 2
    module.BIAS = 0.0
    assert run(module.fill, True) == 2
    assert module.fill.cache_info().compiles == 2


@pytest.mark.parametrize("name", ["fill", "middle", "outer"])
def test_launchers_that_call_launchers_are_guarded_to_the_kernel(module: Any, name: str) -> None:
    launcher = getattr(module, name)
    assert run(launcher) == 2
    module.SCALE = 5.0
    assert "global 'SCALE'" in drifts(launcher)
    module.SCALE = 2.0
    assert run(launcher) == 2
    kernel = module.fill_kernel
    module.fill_kernel = _other_kernel(module)
    assert "fill_kernel" in drifts(launcher)
    module.fill_kernel = kernel
    assert run(launcher) == 2


def _other_kernel(module: Any) -> Any:
    return module.fill_kernel.with_options(type(module.fill_kernel.options)(fast_math=True))


def test_on_drift_for_the_process_and_for_one_function(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    strict = module.fill.with_options(on_drift="raise")
    assert run(module.fill) == run(strict) == 2
    monkeypatch.setattr(dt.config, "on_drift", "recompile")
    module.SCALE = 4.0
    assert run(module.fill) == 4
    assert "2.0 -> 4.0" in drifts(strict)
    module.SCALE = 2.0
    compiles = module.fill.cache_info().compiles
    assert run(module.fill) == 2
    assert module.fill.cache_info().compiles == compiles


def test_a_view_has_baselines_of_its_own(module: Any) -> None:
    view = module.fill.with_options(fast_math=True)
    assert run(module.fill) == run(view) == 2
    module.SCALE = 4.0
    view.accept_drift()
    assert run(view) == 4
    drifts(module.fill)
    module.SCALE = 2.0
    assert run(module.fill) == 2
    drifts(view)


def test_A11_a_replaced_code_object_is_drift_at_every_level(module: Any, tmp_path: Path) -> None:
    compiled = dt.compile(module.fill, np.zeros(3, np.float32))
    assert run(module.fill) == 2
    (tmp_path / "other_fill.py").write_text(TEXT.replace("= SCALE + BIAS if BIASED else SCALE", "= 9.0"))
    other = importlib.import_module("other_fill")
    function, code = module.fill_kernel.__wrapped__, module.fill_kernel.__wrapped__.__code__
    function.__code__ = other.fill_kernel.__wrapped__.__code__
    for call in (module.fill, compiled, module.fill):
        assert "code" in drifts(call)
    module.fill.accept_drift()
    assert run(module.fill) == 9
    function.__code__ = code
    assert run(compiled) == 2
    drifts(module.fill)
    module.fill.clear()
    assert run(module.fill) == 2
    del sys.modules["other_fill"]


def test_A11_toggled_instrumentation_reaches_every_level(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = dt.compile(module.fill, np.zeros(3, np.float32))
    for value, compiles in (("1", 2), ("0", 2), ("1", 2)):
        monkeypatch.setenv("DARTER_INTERPRET", value)
        assert run(module.fill) == 2
        assert module.fill.cache_info().compiles == compiles
        states = {type(state) for _, chain in module.fill._states() for state in chain}
        assert len(states) == 1
    assert "DARTER_INTERPRET" in drifts(compiled)
    monkeypatch.delenv("DARTER_INTERPRET")
    assert run(compiled) == 2
    assert os.environ.get("DARTER_INTERPRET") is None


def test_A11_clear_leaves_nothing_that_answers(module: Any) -> None:
    assert run(module.fill) == 2
    module.fill.clear()
    assert module.fill._states() == []
    assert module.fill.explain(np.zeros(3, np.float32)) == "disk hit"
    module.SCALE = 6.0  # no baseline is left that this would differ from
    assert run(module.fill) == 6
    module.SCALE = 2.0
    module.fill.clear()
    assert run(module.fill) == 2
    assert module.fill.cache_info().compiles == 2
