"""What every call promises, seen from outside: refusals leave nothing, a warm call costs nothing but time, all kinds of
parameters bind and key as declared."""

from __future__ import annotations

import gc
import os
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import darter as dt

pytestmark = pytest.mark.usefixtures("fresh_store")


@dt.kernel
def fill_kernel(o: dt.Tensor, v: dt.Float32, n: dt.Int64):
    i = dt.block_idx.x * 32 + dt.thread_idx.x
    if i < n:
        o[i] = v


def broken_helper(table: tuple[int, ...]) -> int:
    return table[3]


def grid_of_a_float(o: dt.Tensor):
    fill_kernel(o, 1.0, 4).launch(grid=1.5, block=32)


def block_over_the_limit(o: dt.Tensor):
    fill_kernel(o, 1.0, 4).launch(grid=1, block=2048)


def unsupported_syntax(o: dt.Tensor):
    with o:
        fill_kernel(o, 1.0, 4).launch(grid=1, block=32)


def helper_that_raises(o: dt.Tensor):
    fill_kernel(o, broken_helper((1, 2)), 4).launch(grid=1, block=32)


def unknown_name(o: dt.Tensor):
    nowhere(o).launch(grid=1, block=32)


def negative_grid(o: dt.Tensor):
    fill_kernel(o, 1.0, 4).launch(grid=-1, block=32)


def endless_range(o: dt.Tensor):
    for _ in range(10**30):
        fill_kernel(o, 1.0, 4).launch(grid=1, block=32)


def written(store: Path) -> list[Path]:
    """Return the files of the store that keep a build: lock files are empty, and notes are about the machine."""
    return [
        path for path in store.rglob("*") if path.is_file() and path.stat().st_size > 0 and path.parent.name != "notes"
    ]


REFUSED: list[tuple[Callable[..., None], str]] = [
    (grid_of_a_float, "grid"),
    (block_over_the_limit, "1024"),
    (unsupported_syntax, "with"),
    (helper_that_raises, "broken_helper"),
    (unknown_name, "nowhere"),
    (endless_range, "range has more than 1048576 items"),
    (negative_grid, "grid"),
]


@pytest.mark.parametrize(("function", "said"), REFUSED, ids=[function.__name__ for function, _ in REFUSED])
def test_code_that_cannot_be_compiled_is_refused_each_time_and_leaves_nothing(
    function: Callable[..., None], said: str, fresh_store: Path
) -> None:
    launcher, o = dt.jit(function), np.zeros(4, np.float32)
    for _ in range(2):
        with pytest.raises(dt.DarterError, match=said) as raised:
            launcher(o)
        assert Path(__file__).name in str(raised.value)
    assert launcher.cache_info()["variants"] <= (function is negative_grid)
    if function is not negative_grid:  # a grid is checked at the launch; the code around it is good
        assert written(fresh_store) == []
    assert (o == 0).all()


# -- launchers that launch nothing ------------------------------------------------------------------------------------


@dt.jit
def launches_nothing(o: dt.Tensor["n"], n: dt.Int64):
    if n < 0:
        raise ValueError(f"n is {n}")


@dt.jit
def launches_if_told(o: dt.Tensor["n"], ON: dt.Constexpr[bool]):
    if ON:
        fill_kernel(o, 1.0, o.shape[0]).launch(grid=1, block=32)


@pytest.mark.parametrize("interpret", ["0", "1"])
def test_a_launcher_without_a_launch_is_a_launcher(interpret: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DARTER_INTERPRET", interpret)
    o = np.zeros(4, np.float32)
    for _ in range(2):
        launches_nothing(o, 1)
        with pytest.raises(ValueError, match="n is -1"):
            launches_nothing(o, -1)
        launches_if_told(o, False)
        assert (o == 0).all()
    launches_if_told(o, True)
    assert (o == 1).all()


@dt.jit
def does_nothing(): ...


@dt.jit
def does_nothing_of(CHOICE: dt.Constexpr):
    return


@pytest.mark.parametrize("interpret", ["0", "1"])
def test_a_launcher_with_nothing_to_do_or_to_be_given_does_nothing(
    interpret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DARTER_INTERPRET", interpret)
    for _ in range(2):
        does_nothing()
        does_nothing_of("anything")
    dt.compile(does_nothing)()
    with pytest.raises(TypeError, match="does_nothing"):
        does_nothing(1)


def test_a_launcher_without_a_launch_hits_the_disk() -> None:
    o = np.zeros(4, np.float32)
    launchers = [launches_nothing.with_options(on_drift=drift) for drift in ("raise", "recompile")]
    for _ in range(2):  # other tests may have left a build in memory, which this test's store never saw
        launchers[0].clear()
        launchers[0](o, 1)
    launchers[0].clear()
    launchers[1](o, 1)
    assert launchers[1].cache_info()["disk_hits"] == 1


@dt.jit
def fill_grid(o: dt.Tensor, x: dt.Int64, y: dt.Int64, z: dt.Int64):
    fill_kernel(o, 1.0, 4).launch(grid=(x, y, z), block=32)


@pytest.mark.parametrize("grid", [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_a_grid_with_a_zero_launches_nothing(grid: tuple[int, int, int]) -> None:
    o = np.zeros(4, np.float32)
    fill_grid(o, *grid)
    fill_grid(o, *grid)
    assert (o == 0).all()
    fill_grid(o, 1, 1, 1)
    assert (o == 1).all()


def test_compile_never_launches() -> None:
    o = np.zeros(4, np.float32)
    compiled = dt.compile(fill_grid, o, 1, 1, 1)
    fill_grid.warm(o, 1, 1, 1)
    assert (o == 0).all()
    compiled(o, 1, 1, 1)
    assert (o == 1).all()


# -- what a warm call costs besides time ------------------------------------------------------------------------------


def warm_calls() -> tuple[Callable[[], None], list[Any]]:
    o = np.zeros(4, np.float32)
    tensors = [o]
    if "torch" in sys.modules:
        import torch

        tensors.append(torch.zeros(4))

    def call() -> None:
        for tensor in tensors:
            fill_grid(tensor, 1, 1, 1)
            fill_grid(o=tensor, x=1, y=1, z=1)

    return call, tensors


@pytest.mark.skipif("DARTER_VERIFY_KEYS" in os.environ, reason="comparing both keys of a call is Python")
def test_a_warm_call_allocates_nothing() -> None:
    call, _ = warm_calls()
    for _ in range(100):
        call()
    gc.collect()
    blocks = []
    for _ in range(5):
        before = sys.getallocatedblocks()
        for _ in range(200):
            call()
        blocks.append(sys.getallocatedblocks() - before)
    assert min(blocks) <= 2  # the loop's own numbers
    tracemalloc.start()
    try:
        call()
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        fill_grid(call.__closure__[0].cell_contents[0], 1, 1, 1)  # type: ignore[index]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak - before < 64


def test_a_warm_call_holds_no_reference() -> None:
    call, tensors = warm_calls()
    call()
    before = [sys.getrefcount(tensor) for tensor in tensors]
    for _ in range(100):
        call()
    assert [sys.getrefcount(tensor) for tensor in tensors] == before


# -- kinds of parameters ----------------------------------------------------------------------------------------------


class Scale:
    """A user's own argument: its ``factor`` is compiled in, its ``shift`` is passed."""

    __jit_fields__: ClassVar[tuple[str, ...]] = ("shift",)
    shift: dt.Float32

    def __init__(self, factor: int, shift: float) -> None:
        self.factor, self.shift = factor, shift

    def __cache_signature__(self) -> int:
        return self.factor


@dt.jit
def fill_by_argument(o: dt.Tensor["n"], scale: Scale):
    fill_kernel(o, scale.shift, o.shape[0]).launch(grid=1, block=32)


def test_a_jit_argument_keys_by_its_signature_and_passes_its_fields() -> None:
    o = np.zeros(4, np.float32)
    for factor, shift in ((1, 2.0), (1, 3.0), (2, 4.0)):
        fill_by_argument(o, Scale(factor, shift))
        assert (o == shift).all()
    assert fill_by_argument.cache_info()["variants"] == 2

    class Stranger:
        pass

    for _ in range(2):
        with pytest.raises(dt.ArgumentTypeError, match="argument 'scale'"):
            fill_by_argument(o, Stranger())


@dt.kernel
def convert_kernel(o: dt.Tensor, v: dt.Float32, T: dt.Constexpr):
    o[dt.thread_idx.x] = dt.Float32(T(v))


@dt.jit
def convert(o: dt.Tensor, v: dt.Float32, T: type[dt.Scalar]):
    convert_kernel(o, v, T).launch(grid=1, block=4)


def test_a_type_parameter_is_compiled_in() -> None:
    o = np.zeros(4, np.float32)
    for dtype, expected in ((dt.i32, 2.0), (dt.f32, 2.75), (dt.i32, 2.0)):
        convert(o, 2.75, dtype)
        assert (o == expected).all()
    assert convert.cache_info()["variants"] == 2
    for wrong in (int, 3, None, np.float32):
        with pytest.raises(dt.ArgumentTypeError, match="argument 'T'"):
            convert(o, 2.75, wrong)


@dt.jit
def fill_optional(
    o: dt.Tensor["n"],
    other: dt.Tensor["n"] | None = None,
    /,
    value: dt.Float32 = 5.0,
    *,
    twice: dt.Constexpr[bool] = False,
):
    fill_kernel(o, value, o.shape[0]).launch(grid=1, block=32)
    if other is not None:
        fill_kernel(other, value, o.shape[0]).launch(grid=1, block=32)
    if twice:
        fill_kernel(o, value + value, o.shape[0]).launch(grid=1, block=32)


def test_defaults_keywords_and_optional_arguments_bind_as_in_python() -> None:
    a, b = np.zeros(4, np.float32), np.zeros(4, np.float32)
    for _ in range(2):
        fill_optional(a)
        assert (a == 5).all()
        assert (b == 0).all()
    fill_optional(a, b, 6.0)
    assert (b == 6).all()
    fill_optional(a, value=7.0, twice=True)
    assert (a == 14).all()
    assert fill_optional.cache_info()["variants"] == 3
    for args, kwargs in (((), {}), ((a,), {"o": a}), ((a, None, 1.0, True), {}), ((a,), {"nought": 1})):
        with pytest.raises(dt.ArgumentTypeError, match=r"fill_optional\(\)"):
            fill_optional(*args, **kwargs)


class Base:
    value: dt.Constexpr[int] = 3

    def factor(self) -> int:
        return 1

    @dt.jit
    def fill(self, o: dt.Tensor["n"]):
        fill_kernel(o, self.value * self.factor(), o.shape[0]).launch(grid=1, block=32)

    @dt.jit
    def __call__(self, o: dt.Tensor["n"]):
        fill_kernel(o, -self.value, o.shape[0]).launch(grid=1, block=32)


class Derived(Base):
    def factor(self) -> int:
        return 10


def test_inherited_methods_are_keyed_by_the_class_of_self() -> None:
    o = np.zeros(4, np.float32)
    for _ in range(2):
        for owner, expected in ((Base(), 3), (Derived(), 30)):
            owner.fill(o)
            assert (o == expected).all()
            type(owner).fill(owner, o)
            owner(o)
            assert (o == -3).all()
    assert Base.fill.cache_info()["variants"] == 2


def test_options_make_a_view_and_change_nothing() -> None:
    o = np.zeros(4, np.float32)
    fill_grid(o, 1, 1, 1)
    view = fill_grid.with_options(fast_math=True)
    before = fill_grid.cache_info()
    view(o, 1, 1, 1)
    assert view is not fill_grid
    assert view.cache_info()["compiles"] == 1
    assert fill_grid.cache_info() == before
