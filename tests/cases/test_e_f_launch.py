"""Groups E and F of the public failure cases that need no GPU: what a warm launch does, threads, lifetimes; and B and C
cases that show in real calls only."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
import threading
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import darter as dt

pytestmark = pytest.mark.usefixtures("fresh_store")


@dt.kernel
def scale_kernel(x: dt.Tensor, o: dt.Tensor, n: dt.Int64, F: dt.Constexpr):
    i = dt.block_idx.x * 64 + dt.thread_idx.x
    if i < n:
        o[i] = x[i] * F


def make_scale() -> Any:
    @dt.jit
    def scale(x: dt.Tensor["n"], o: dt.Tensor["n"], F: dt.Constexpr = 2.0):
        n = x.shape[0]
        scale_kernel(x, o, n, F).launch(grid=dt.cdiv(n, 64), block=64)

    return scale


@dt.kernel
def widen_kernel(x: dt.Tensor, o: dt.Tensor, n: dt.Int64):
    i = dt.block_idx.x * 64 + dt.thread_idx.x
    if i < n:
        o[i] = dt.Float32(x[i])


@dt.jit
def widen(x: dt.Tensor["n"], o: dt.Tensor["n"]):
    widen_kernel(x, o, x.shape[0]).launch(grid=dt.cdiv(x.shape[0], 64), block=64)


@dt.kernel
def copy2_kernel(x: dt.Tensor, o: dt.Tensor):
    j = dt.thread_idx.x
    while j < x.shape[1]:
        o[dt.block_idx.x, j] = x[dt.block_idx.x, j]
        j += 64


@dt.jit
def copy2(x: dt.Tensor["m", "n"], o: dt.Tensor["m", "n"]):
    copy2_kernel(x, o).launch(grid=x.shape[0], block=64)


def arrays(count: int = 100) -> tuple[Any, Any]:
    return np.arange(count, dtype=np.float32), np.zeros(count, np.float32)


def run_python(code: str, **environment: str) -> str:
    found = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    return subprocess.check_output([sys.executable, "-c", textwrap.dedent(code)], env=found, text=True)


# -- B and C ----------------------------------------------------------------------------------------------------------


def test_B10_C13_options_are_keyed_and_belong_to_their_view() -> None:
    scale = make_scale()
    x, o = arrays()
    scale(x, o)
    fast = scale.with_options(fast_math=True)
    fast(x, o)
    scale(x, o)
    assert fast.cache_info()["compiles"] == 1
    assert scale.cache_info()["compiles"] == 1
    assert scale.with_options(fast_math=True).explain(x, o) == "memory hit"
    assert scale.with_options(max_registers=32).explain(x, o) == "compile"


def test_B03_C04_the_key_of_a_call_can_be_asked_for() -> None:
    scale, again = make_scale(), make_scale()
    x, o = arrays()
    key = scale.cache_key(x, o)
    assert len(key) == 64
    assert again.cache_key(x=x, o=o) == key
    others = {scale.cache_key(x, o, F=factor) for factor in (2, 2.0, 4.0, True)}
    assert len(others) == 4
    assert key in others
    assert scale.with_options(fast_math=True).cache_key(x, o) != key
    assert scale.cache_info()["compiles"] == 0


@pytest.mark.parametrize("shape", [(128, 0), (0, 128), (1, 1024), (1, 1), (3, 1)])
def test_B17_empty_and_single_axes_are_served(shape: tuple[int, int]) -> None:
    x, o = np.ones(shape, np.float32), np.zeros(shape, np.float32)
    copy2(x, o)
    assert (o == 1).all()


def test_B17_strides_of_single_axes_make_no_variant() -> None:
    launcher = copy2.with_options()
    wide = np.arange(16, dtype=np.float32).reshape(4, 4)
    odd = np.lib.stride_tricks.as_strided(wide, (1, 4), (12345 * 4, 4))
    for x in (wide[:1], odd, wide[:1].copy()):
        o = np.zeros((1, 4), np.float32)
        launcher(x, o)
        assert (o == wide[:1]).all()
    assert launcher.cache_info()["variants"] == 1


def test_B19_float8_encodings_of_one_width_are_types_of_their_own() -> None:
    launcher = widen.with_options()
    codes = np.arange(256, dtype=np.uint8)
    kinds = (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2fnuz)
    for kind in kinds:
        o = np.zeros(256, np.float32)
        launcher(codes.view(kind), o)
        np.testing.assert_array_equal(o, codes.view(kind).astype(np.float32))
    assert launcher.cache_info()["variants"] == 4


def test_B20_tensors_that_require_grad_are_read_on_every_path() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    scale = make_scale()
    x = torch.nn.Parameter(torch.arange(100, dtype=torch.float32))
    for argument in (x, x, x.detach(), dt.from_dlpack(x)):
        o = torch.zeros(100)
        scale(argument, o)
        assert torch.equal(o, x.detach() * 2)
    with torch.no_grad():
        scale(x, o)
    assert o.grad_fn is None


def test_C11_variants_are_counted_and_a_limit_warns_once_and_names_the_cause() -> None:
    scale = make_scale()
    x, o = arrays()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for factor in range(70):
            scale(x, o, F=float(factor))
    said = [str(warning.message) for warning in seen if warning.category is dt.VariantsWarning]
    assert len(said) == 1
    assert "'F'" in said[0]
    assert scale.cache_info()["variants"] == 70
    scale.clear()
    assert scale.cache_info()["variants"] == 0


# -- E ----------------------------------------------------------------------------------------------------------------


@pytest.mark.skipif("DARTER_VERIFY_KEYS" in os.environ, reason="comparing both keys of a call is Python")
def test_E01_E04_a_warm_launch_runs_no_python() -> None:
    scale = make_scale()
    x, o = arrays()
    scale(x, o)
    frames: list[Any] = []
    sys.setprofile(lambda frame, event, argument: frames.append((event, argument)))
    try:
        scale(x, o)
        scale(x=x, o=o)
    finally:
        sys.setprofile(None)
    assert [event for event, _ in frames if event in ("call", "return")] == []


def test_E06_launches_hold_no_arguments() -> None:
    scale = make_scale()
    x, o = arrays()
    scale(x, o)
    scale(x, o)
    gone = weakref.ref(x)
    del x
    assert gone() is None


def test_E06_storage_that_is_swapped_in_place_is_read_again() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    scale = make_scale()
    x, o = torch.arange(100, dtype=torch.float32), torch.zeros(100)
    scale(x, o)
    other = torch.arange(300, dtype=torch.float32)[1:]
    x.set_(other.untyped_storage(), 1, (100,), (2,))
    scale(x, o)
    assert torch.equal(o, other[:200:2] * 2)


def test_E06_storage_that_is_shared_until_it_is_written_is_written_alone() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    scale = make_scale()
    original, o = torch.arange(100, dtype=torch.float32), torch.zeros(100)
    for _ in range(2):  # cold and warm
        scale(torch._lazy_clone(original), o)
        assert torch.equal(o, original * 2)
        clone = torch._lazy_clone(original)
        scale(o, clone)
        assert torch.equal(clone, original * 4)
        assert torch.equal(original, torch.arange(100, dtype=torch.float32))


def test_E07_a_hit_from_disk_imports_neither_compiler_nor_front_end(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        textwrap.dedent(
            """
            import sys
            import numpy as np
            import darter as dt

            @dt.kernel
            def k(o: dt.Tensor):
                o[dt.thread_idx.x] = 7.0

            @dt.jit
            def f(o: dt.Tensor):
                k(o).launch(grid=1, block=32)

            o = np.zeros(32, np.float32)
            f(o)
            assert (o == 7).all()
            print(f.cache_info()["disk_hits"], [m for m in sys.modules if m in ("llvmlite", "darter.frontend")])
            """
        )
    )
    command = f"import runpy; runpy.run_path({str(tmp_path / 'program.py')!r})"
    first, second = (run_python(command) for _ in range(2))
    assert first.startswith("0 ")
    assert second == "1 []\n"


# -- F ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", ["0", str(1 << 20)])
def test_F01_code_lives_as_long_as_it_can_be_called(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DARTER_CACHE_LIMIT", limit)
    scale = make_scale()
    x, o = arrays()
    compiled = dt.compile(scale, x, o)
    for _ in range(3):
        o[:] = 0
        scale(x, o)
        gc.collect()
        assert (o == x * 2).all()
    scale.clear()
    gc.collect()
    o[:] = 0
    compiled(x, o)
    assert (o == x * 2).all()


def test_F09_import_and_decoration_touch_neither_disk_nor_driver(tmp_path: Path) -> None:
    store = tmp_path / "store"
    out = run_python(
        """
        import darter as dt

        @dt.kernel
        def k(o: dt.Tensor): o[0] = 1.0

        @dt.jit
        def f(o: dt.Tensor): k(o).launch(grid=1, block=1)

        print("libcuda" in open("/proc/self/maps").read())
        """,
        DARTER_CACHE_DIR=str(store),
    )
    assert out == "False\n"
    assert not store.exists()


def in_threads(count: int, call: Callable[[int], None]) -> list[dt.DarterError]:
    """Run ``call(number)`` in threads that start together; returns what they raised."""
    start = threading.Barrier(count)
    failures: list[dt.DarterError] = []

    def body(number: int) -> None:
        start.wait()
        try:
            call(number)
        except dt.DarterError as error:
            failures.append(error)

    threads = [threading.Thread(target=body, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures


@pytest.mark.parametrize("switch_interval_s", [None, 1e-5])
def test_F11_cold_threads_compile_once(switch_interval_s: float | None) -> None:
    """Those that waited may be done before the one that compiled, which counts all the same."""
    scale = make_scale()
    pairs = [arrays() for _ in range(8)]
    # A factor of its own: a build for 2.0 may be in this process' memory already.
    factor = 0.375 if switch_interval_s is None else 0.625
    before = sys.getswitchinterval()
    sys.setswitchinterval(switch_interval_s or before)
    try:
        assert in_threads(8, lambda number: scale(*pairs[number], factor)) == []
    finally:
        sys.setswitchinterval(before)
    assert scale.cache_info()["compiles"] == 1
    for x, o in pairs:
        assert (o == x * factor).all()


def test_F11_G01_cold_threads_share_an_exception_and_nothing_is_kept() -> None:
    @dt.kernel
    def bad_kernel(o: dt.Tensor):
        o[0] = nowhere

    @dt.jit
    def bad(o: dt.Tensor):
        bad_kernel(o).launch(grid=1, block=1)

    o = np.zeros(1, np.float32)
    failures = in_threads(4, lambda number: bad(o))
    assert [type(error) for error in failures] == [dt.KernelNameError] * 4
    for _ in range(2):
        with pytest.raises(dt.KernelNameError, match="nowhere"):
            bad(o)
    assert o[0] == 0
    assert bad.cache_info()["variants"] == 0


def test_F12_launchers_load_in_parallel() -> None:
    launchers = [make_scale() for _ in range(4)]
    x, _ = arrays()
    outputs = [np.zeros_like(x) for _ in launchers]

    def call(number: int) -> None:
        for _ in range(5):
            launchers[number](x, outputs[number], F=float(number))

    assert in_threads(4, call) == []
    for number, o in enumerate(outputs):
        assert (o == x * number).all()


def test_F17_launchers_made_again_and_again_are_collected() -> None:
    x, o = arrays()

    def rounds(count: int) -> int:
        for _ in range(count):
            make_scale()(x, o)
        gc.collect()
        return len(gc.get_objects())

    rounds(20)
    before = rounds(20)
    assert rounds(200) - before < 50
