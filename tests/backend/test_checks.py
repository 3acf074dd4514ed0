"""What a kernel says and what is checked: prints, assertions, bounds, overlap, races, on each backend."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import darter as dt
from tests.backend.single_kernel import BLOCK, launcher, result

pytestmark = pytest.mark.usefixtures("backend")


@dt.kernel
def speaks(x: dt.Tensor, out: dt.Tensor):
    i = dt.thread_idx.x
    if i < 2:
        dt.print("thread", i, "holds", x[i])
        dt.print(f"a tenth of that is {x[i] * 0.1}")
    dt.assert_(x[i] < 100, f"{x[i]} is too large")  # noqa: PT009


def test_print_and_assert(capfd: pytest.CaptureFixture[str]) -> None:
    x = np.arange(32, dtype=np.float32)
    launch = launcher(speaks, block=32)
    launch(x, x)
    lines = capfd.readouterr().out.splitlines()
    assert sorted(lines) == [
        "a tenth of that is 0.0", "a tenth of that is 0.1", "thread 0 holds 0.0", "thread 1 holds 1.0"
    ]  # fmt: skip
    x[5] = 200
    with pytest.raises(dt.DeviceAssertError, match=r"kernel 'speaks': assertion failed: 200.0 is too large"):
        launch(x, x)


@dt.kernel
def one_too_far(x: dt.Tensor, out: dt.Tensor):
    i = dt.thread_idx.x
    out[i] = x[i + 1]


def test_bounds_checks_name_tensor_index_extent_and_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DARTER_BOUNDS_CHECK", "1")
    x = np.arange(32, dtype=np.float32)
    out = np.zeros_like(x)
    with pytest.raises(dt.DeviceAssertError) as caught:
        launcher(one_too_far, block=32)(x, out)
    line = one_too_far.__wrapped__.__code__.co_firstlineno + 3
    assert "'x', axis 0" in str(caught.value)
    assert "index 32, extent 32" in str(caught.value)
    assert f"test_checks.py:{line}" in str(caught.value)
    assert "out[i] = x[i + 1]" in str(caught.value)
    np.testing.assert_array_equal(out[:31], x[1:])


def _before(x, out, i):
    out[i] = (x.data_ptr() - 1)[i]


def _behind(x, out, i):
    out[i] = (x.data_ptr() + i * 2)[2]


def _wide_store(x, out, i):
    (out.data_ptr() + 32).store(i * 2, (1.0, 2.0))


def _of_other_elements(x, out, i):
    out[i] = dt.f32((x.data_ptr() + 1).cast(dt.u8)[i * 8 + 5])


def _atomic(x, out, i):
    dt.atomic_add(out.data_ptr() + 60, i, 1.0)


def _shared(x, out, i):
    dt.shared(dt.f32, 16).data_ptr()[i] = 1.0


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (_before, "'x'.*byte -4, of 0 to 256"), (_behind, "'x'.*byte 256, of 0 to 256"),
        (_wide_store, "'out'.*byte 256, of 0 to 256"), (_of_other_elements, "'x'.*byte 257, of 0 to 256"),
        (_atomic, "'out'.*byte 256, of 0 to 256"), (_shared, "shared memory.*byte 64, of 0 to 64"),
    ],
)  # fmt: skip
def test_pointers_are_checked_against_what_they_are_of(body: Any, found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    @dt.kernel
    def walks(x: dt.Tensor, out: dt.Tensor):
        body(x, out, dt.thread_idx.x)

    monkeypatch.setenv("DARTER_BOUNDS_CHECK", "1")
    x = np.arange(64, dtype=np.float32)
    with pytest.raises(dt.DeviceAssertError, match=f"pointer out of bounds: {found}"):
        launcher(walks, block=32)(x, x.copy())


def test_pointers_inside_of_strided_tensors_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    @dt.kernel
    def walks(x: dt.Tensor, out: dt.Tensor):
        i = dt.thread_idx.x
        out[i] = (x.data_ptr() - dt.u32(i) * 2)[0]

    monkeypatch.setenv("DARTER_BOUNDS_CHECK", "1")
    x = np.arange(64, dtype=np.float32)[::-2]
    out = np.zeros(32, np.float32)
    launcher(walks, block=32)(x, out)
    np.testing.assert_array_equal(out, x)


@dt.kernel
def counted_too_far(x: dt.Tensor, out: dt.Tensor):
    dt.atomic_add(out, dt.thread_idx.x, x[0])


@dt.kernel
def shared_too_far(x: dt.Tensor, out: dt.Tensor):
    tile = dt.shared(dt.f32, (4, 8))
    tile.store(0, dt.thread_idx.x * 2, [x[0], x[0]])


@pytest.mark.parametrize(
    ("kernel", "words"),
    [(counted_too_far, "'out', axis 0"), (shared_too_far, "shared memory, axis 1")],
)
def test_atomics_and_shared_memory_are_checked_too(kernel: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DARTER_BOUNDS_CHECK", "1")
    out = np.zeros(12, np.float32)
    with pytest.raises(dt.DeviceAssertError, match=f"index out of bounds: {words}"):
        result(kernel, np.ones(1, np.float32), out[:8], block=12)
    np.testing.assert_array_equal(out[8:], 0)


@dt.kernel(noalias=("out",))
def moved_on(x: dt.Tensor, out: dt.Tensor, factors: tuple[dt.Tensor]):
    i = dt.thread_idx.x
    if i < x.shape[0]:
        out[i] = x[i] * factors[0][0]


@dt.jit
def move_on(x: dt.Tensor, out: dt.Tensor, factors: tuple[dt.Tensor]):
    moved_on(x, out, factors).launch(grid=1, block=BLOCK)


def test_a_launch_refuses_what_overlaps_a_noalias_tensor() -> None:
    memory, factors = np.ones(4 * BLOCK, np.float32), (np.full(1, 2, np.float32),)
    move_on(memory[:BLOCK], memory[BLOCK : 2 * BLOCK], factors)
    move_on(memory[BLOCK - 1 :: -1], memory[2 * BLOCK : 3 * BLOCK], factors)
    np.testing.assert_array_equal(memory, np.repeat([1, 2, 2, 1], BLOCK).astype(np.float32))
    move_on(memory[:0], memory[:0], factors)
    for x, out in ((slice(0, BLOCK), slice(BLOCK - 1, 2 * BLOCK)), (slice(BLOCK, None, -1), slice(0, BLOCK))):
        with pytest.raises(dt.ArgumentValueError, match="argument 'out' of the kernel overlaps argument 'x'"):
            move_on(memory[x], memory[out], factors)
    with pytest.raises(dt.ArgumentValueError, match=r"overlaps argument 'factors\[0\]'"):
        move_on(memory[:BLOCK], memory[BLOCK : 2 * BLOCK], (memory[BLOCK : BLOCK + 1],))


def test_noalias_names_tensors_of_one_kernel() -> None:
    x = np.ones(BLOCK, np.float32)
    with pytest.raises(dt.KernelTypeError, match="noalias names 'y', which is no tensor of the kernel"):
        result(dt.kernel(noalias=("y",))(one_too_far.__wrapped__), x, x.copy())
    with pytest.raises(dt.SignatureError, match=r"names parameters of one kernel"):
        dt.jit(noalias=("x",))


@dt.kernel
def read_too_early(x: dt.Tensor, out: dt.Tensor):
    tile = dt.shared(dt.f32, 64)
    i = dt.thread_idx.x
    tile[i] = x[i]
    out[i] = tile[63 - i]


@dt.kernel
def read_unwritten(x: dt.Tensor, out: dt.Tensor):
    tile = dt.shared(dt.f32, 64)
    out[dt.thread_idx.x] = tile[dt.thread_idx.x]


@pytest.mark.parametrize(
    ("kernel", "error", "found", "line"),
    [
        (one_too_far, dt.DeviceAssertError, "index 64, extent 64", "out[i] = x[i + 1]"),
        (read_too_early, dt.KernelCheckError, "race", "tile[i] = x[i]"),
        (
            read_unwritten,
            dt.KernelCheckError,
            "read before it is written",
            "out[dt.thread_idx.x] = tile[dt.thread_idx.x]",
        ),
    ],
)
def test_the_interpreter_reports_what_a_run_would_hide(
    kernel: Any, error: type[Exception], found: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DARTER_INTERPRET", "1")
    x = np.arange(BLOCK, dtype=np.float32)
    with pytest.raises(error) as caught:
        result(kernel, x, np.zeros_like(x), block=BLOCK)
    text = str(caught.value)
    assert found in text
    assert "test_checks.py:" in text
    assert f"    {line}\n" in text
    assert "^" in text
