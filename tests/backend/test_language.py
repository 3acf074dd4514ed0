"""Every feature of the kernel language through ``@dt.kernel`` and ``@dt.jit``, on each backend."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

import darter as dt

N = 128
BLOCK = 64

FLOAT8 = {
    dt.e4m3fn: ml_dtypes.float8_e4m3fn,
    dt.e5m2: ml_dtypes.float8_e5m2,
    dt.e4m3fnuz: ml_dtypes.float8_e4m3fnuz,
    dt.e5m2fnuz: ml_dtypes.float8_e5m2fnuz,
}
OTHERS = {
    dt.Bool: np.bool_, dt.i8: np.int8, dt.i16: np.int16, dt.i32: np.int32, dt.i64: np.int64, dt.u8: np.uint8,
    dt.u16: np.uint16, dt.u32: np.uint32, dt.u64: np.uint64, dt.f16: np.float16, dt.bf16: ml_dtypes.bfloat16,
    dt.f32: np.float32, dt.f64: np.float64,
}  # fmt: skip

pytestmark = pytest.mark.usefixtures("backend")


def launcher(kernel: Any, *, grid: int = 1, block: int = N, shared: int = 0) -> Any:
    """Return a launcher of ``kernel(x, out)``."""

    @dt.jit(on_drift="recompile")
    def launch(x: dt.Tensor, out: dt.Tensor):
        kernel(x, out).launch(grid=grid, block=block, shared=shared)

    return launch


def result(kernel: Any, x: Any, out: Any, **options: int) -> Any:
    launcher(kernel, **options)(x, out)
    return out


# -- memory -----------------------------------------------------------------------------------------------------------


@dt.kernel
def reverse(x: dt.Tensor, out: dt.Tensor):
    tile = dt.shared(dt.f32, (2, N // 2))
    i = dt.thread_idx.x
    tile[i // 64, i % 64] = x[i]
    dt.barrier()
    last = dt.block_dim.x - 1 - i
    out[i] = tile[last // 64, last % 64]


@dt.kernel
def running_sum(x: dt.Tensor, out: dt.Tensor):
    sums = dt.dynamic_shared(dt.f32)
    i = dt.thread_idx.x
    sums[i] = x[i]
    step = 1
    while step < x.shape[0]:  # the same for the whole block, so barriers may stand in it
        dt.barrier()
        below = sums[i - step] if i >= step else 0.0
        dt.barrier()
        sums[i] = sums[i] + below
        step *= 2
    out[i] = sums[i]


@dt.kernel
def doubled_by_eights(x: dt.Tensor, out: dt.Tensor):
    i = dt.thread_idx.x * 8
    if i < x.shape[0]:
        values = x.load(i, width=8)
        for j in dt.static_range(8):
            values[j] = values[j] * 2
        out.store(i, values)


@dt.kernel
def permuted(x: dt.Tensor, out: dt.Tensor):
    i = dt.thread_idx.x
    at = dt.i32(x[i])
    out[at] = dt.f32(x[at])


def test_static_shared_memory() -> None:
    x = np.arange(N, dtype=np.float32)
    np.testing.assert_array_equal(result(reverse, x, np.zeros_like(x)), x[::-1])


def test_dynamic_shared_memory_and_barriers_in_a_uniform_loop() -> None:
    x = np.arange(N, dtype=np.float32)
    np.testing.assert_array_equal(result(running_sum, x, np.zeros_like(x), shared=4 * N), np.cumsum(x))


@pytest.mark.parametrize("kind", [ml_dtypes.bfloat16, np.float32, np.int8])
@pytest.mark.parametrize("start", [0, 1])
def test_vector_loads_and_stores_of_aligned_and_other_memory(kind: Any, start: int) -> None:
    x = (np.arange(N + 1) % 60).astype(kind)[start : start + N - 8]
    out = np.zeros(N, kind)
    result(doubled_by_eights, x, out)
    np.testing.assert_array_equal(out, np.concatenate([x + x, np.zeros(8, kind)]))


def test_gather_and_scatter() -> None:
    x = np.random.default_rng(0).permutation(N).astype(np.float32)
    np.testing.assert_array_equal(result(permuted, x, np.zeros_like(x)), x)


# -- threads together -------------------------------------------------------------------------------------------------


@dt.kernel
def warp_operations(x: dt.Tensor, out: dt.Tensor):
    i = dt.thread_idx.x
    v = x[i]
    out[0, i] = dt.shuffle_xor(v, 1)
    out[1, i] = dt.shuffle_up(v, 1)
    out[2, i] = dt.shuffle_down(v, 1)
    out[3, i] = dt.shuffle_idx(v, 3)
    out[4, i] = dt.i32(dt.vote_any(v == 5))
    out[5, i] = dt.i32(dt.vote_all(v < 32))
    out[6, i] = dt.i32(dt.ballot(v % 2 == 0) & 0xFF)


@dt.kernel
def reductions(x: dt.Tensor, out: dt.Tensor):
    i = dt.thread_idx.x
    v = x[i]
    out[0, i] = dt.warp_sum(v)
    out[1, i] = dt.warp_max(v)
    out[2, i] = dt.block_sum(v)
    out[3, i] = dt.block_min(v)
    out[4, i] = dt.warp_scan(v)
    out[5, i] = dt.warp_scan_exclusive(v)
    out[6, i] = dt.block_scan(v)
    out[7, i] = dt.block_scan_exclusive(v)
    out[8, i] = dt.i32(dt.block_any(v == 200))
    out[9, i] = dt.i32(dt.block_all(v >= 0))


def test_shuffles_and_votes() -> None:
    x = np.arange(N, dtype=np.int32)
    out = result(warp_operations, x, np.zeros((7, N), np.int32))
    warps = x.reshape(-1, 32)
    expected = [
        warps ^ 1,
        np.concatenate([warps[:, :1], warps[:, :-1]], 1),
        np.concatenate([warps[:, 1:], warps[:, -1:]], 1),
        np.repeat(warps[:, 3:4], 32, 1),
        np.repeat((warps == 5).any(1, keepdims=True), 32, 1),
        np.repeat((warps < 32).all(1, keepdims=True), 32, 1),
        np.full_like(warps, 0x55),
    ]
    np.testing.assert_array_equal(out, [each.ravel() for each in expected])


def test_reductions_and_scans_of_the_device_library() -> None:
    x = np.random.default_rng(0).integers(0, 100, N).astype(np.int32)
    out = result(reductions, x, np.zeros((10, N), np.int32))
    warps, ones = x.reshape(-1, 32), np.ones(N, np.int32)
    inclusive = np.cumsum(warps, 1)
    expected = [
        np.repeat(warps.sum(1), 32), np.repeat(warps.max(1), 32), x.sum() * ones, x.min() * ones,
        inclusive.ravel(), (inclusive - warps).ravel(), np.cumsum(x), np.cumsum(x) - x, 0 * ones, ones,
    ]  # fmt: skip
    np.testing.assert_array_equal(out, expected)


@dt.kernel
def counted(x: dt.Tensor, out: dt.Tensor):
    v = x[dt.block_idx.x * dt.block_dim.x + dt.thread_idx.x]
    dt.atomic_add(out, v, 1)
    dt.atomic_max(out, 16, v, order="acq_rel", scope="device")
    dt.atomic_min(out, 17, v, order="release", scope="system")
    if dt.atomic_cas(out, 18, 0, 7, order="acquire", scope="device") == 0:
        dt.atomic_add(out, 19, 1)
    inside = dt.shared(dt.i32, 1)
    if dt.thread_idx.x == 0:
        inside[0] = 0
    dt.barrier()
    dt.atomic_add(inside, 0, v, scope="block")
    dt.barrier()
    if dt.thread_idx.x == 0:
        dt.atomic_add(out, 20, inside[0])


def test_atomics_with_order_and_scope() -> None:
    x = np.random.default_rng(0).integers(0, 16, 4 * BLOCK).astype(np.int32)
    out = np.zeros(21, np.int32)
    out[17] = 99
    result(counted, x, out, grid=4, block=BLOCK)
    expected = [*np.bincount(x, minlength=16), x.max(), x.min(), 7, 1, x.sum()]
    np.testing.assert_array_equal(out, expected)


# -- numbers ----------------------------------------------------------------------------------------------------------


@dt.kernel
def cast(x: dt.Tensor, out: dt.Tensor):
    i = dt.thread_idx.x
    out[i] = out.dtype(x[i])


@pytest.mark.parametrize("dtype", FLOAT8, ids=lambda dtype: dtype.name)
def test_float8_conversions_saturate_and_come_back(dtype: Any) -> None:
    kind = FLOAT8[dtype]
    largest = float(ml_dtypes.finfo(kind).max)
    x = np.linspace(-1.5 * largest, 1.5 * largest, N).astype(np.float32)
    x[:4] = math.inf, -math.inf, math.nan, -0.0
    narrow = result(cast, x, np.zeros(N, kind))
    expected = np.clip(x, -largest, largest).astype(kind)
    same = (narrow.view(np.uint8) == expected.view(np.uint8)) | (np.isnan(x) & np.isnan(narrow.astype(np.float32)))
    assert same.all()
    np.testing.assert_array_equal(result(cast, narrow, np.zeros(N, np.float32)), narrow.astype(np.float32))


@pytest.mark.parametrize("source", OTHERS, ids=lambda dtype: dtype.name)
def test_every_type_becomes_every_other(source: Any, backend: str) -> None:
    x = (np.arange(BLOCK) % 100).astype(OTHERS[source])
    for target in list(OTHERS)[:: 1 if backend == "interpreter" else 3]:
        found = result(cast, x, np.zeros(BLOCK, OTHERS[target]), block=BLOCK)
        np.testing.assert_array_equal(found, x.astype(OTHERS[target]), err_msg=target.name)


@pytest.mark.parametrize(
    "operation",
    [
        lambda a, b: a + b,
        lambda a, b: a / b,
        lambda a, b: a < b,
        lambda a, b: a**b,
        lambda a, b: -a,
        lambda a, b: a % b,
    ],
)
def test_float8_values_are_cast_before_anything_is_computed(operation: Any) -> None:
    @dt.kernel
    def k(x: dt.Tensor, out: dt.Tensor):
        out[0] = dt.f32(operation(x[0], x[1]))

    with pytest.raises(dt.KernelTypeError, match="float8 values must be cast first"):
        result(k, np.ones(2, FLOAT8[dt.e4m3fn]), np.ones(1, np.float32), block=1)


@dt.kernel
def mathematics(x: dt.Tensor, out: dt.Tensor):
    i = dt.thread_idx.x
    v = x[i]
    results = (
        dt.exp(v), dt.exp2(v), dt.log(v), dt.log2(v), dt.sqrt(v), dt.rsqrt(v), dt.tanh(v), dt.erf(v), dt.sin(v),
        dt.cos(v), dt.pow(v, 1.5), dt.fma(v, v, 1.0), dt.floor(v), dt.ceil(v), dt.trunc(v), dt.rint(v), dt.abs(-v),
        dt.where(v > 1, v, 0.5), dt.min(v, 1.0), dt.max(v, 1.0, 2.0),
    )  # fmt: skip
    for row in dt.static_range(len(results)):
        out[row, i] = results[row]


fast_mathematics = dt.kernel(fast_math=True)(mathematics.__wrapped__)


@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
@pytest.mark.parametrize("kernel", [mathematics, fast_mathematics], ids=["exact", "fast"])
def test_mathematics(kind: Any, kernel: Any) -> None:
    x = np.linspace(0.1, 5, BLOCK).astype(kind)
    out = result(kernel, x, np.zeros((20, BLOCK), kind), block=BLOCK)
    v = x.astype(np.float64)
    expected = [
        np.exp(v), np.exp2(v), np.log(v), np.log2(v), np.sqrt(v), 1 / np.sqrt(v), np.tanh(v),
        [math.erf(e) for e in v], np.sin(v), np.cos(v), v**1.5, v * v + 1, np.floor(v), np.ceil(v), np.trunc(v),
        np.rint(v), v, np.where(v > 1, v, 0.5), np.minimum(v, 1), np.maximum(v, 2),
    ]  # fmt: skip
    tolerance = 3 * float(ml_dtypes.finfo(kind).eps)
    np.testing.assert_allclose(out.astype(np.float64), expected, rtol=tolerance, atol=tolerance)


@dt.kernel
def weak_numbers(x: dt.Tensor, out: dt.Tensor):
    i = dt.thread_idx.x
    chosen = 0.1 if i % 2 == 0 else 0.3
    total = 0
    for _ in range(3):
        total = total + x[i] * chosen
    total = total + dt.where(i % 2 == 0, 0.7, 1)
    out[i] = (total + 1) / 3


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_python_numbers_take_the_type_that_they_meet(kind: Any) -> None:
    x = np.arange(BLOCK).astype(kind)
    chosen = np.where(np.arange(BLOCK) % 2 == 0, kind(0.1), kind(0.3)).astype(kind)
    term = x * chosen
    more = np.where(np.arange(BLOCK) % 2 == 0, kind(0.7), kind(1)).astype(kind)
    expected = (term + term + term + more + kind(1)) / kind(3)
    np.testing.assert_array_equal(result(weak_numbers, x, np.zeros_like(x), block=BLOCK), expected)


@dt.kernel
def chosen_integer(x: dt.Tensor, out: dt.Tensor):
    i = dt.thread_idx.x
    out[i] = (1 if x[i] > 3 else -1) + x[i]
    out[i + BLOCK] = 300 if x[i] > 3 else 1


def test_a_chosen_integer_takes_the_type_that_it_meets_or_is_refused() -> None:
    x = np.arange(BLOCK, dtype=np.int16)
    out = result(chosen_integer, x, np.zeros(2 * BLOCK, np.int16), block=BLOCK)
    np.testing.assert_array_equal(out[:BLOCK], x + np.where(x > 3, 1, -1))
    np.testing.assert_array_equal(out[BLOCK:], np.where(x > 3, 300, 1))
    with pytest.raises(dt.KernelValueError, match="Python int 300 does not fit i8"):
        result(chosen_integer, x.astype(np.int8), np.zeros(2 * BLOCK, np.int8), block=BLOCK)


# -- control flow -----------------------------------------------------------------------------------------------------


@dt.kernel
def control_flow(x: dt.Tensor, out: dt.Tensor):
    i = dt.thread_idx.x
    if i >= 60:
        return
    total = 0
    for j in range(i):
        if j == 7:
            continue
        if j > 20:
            break
        total += j
    v, steps = x[i], 0
    while v != 1:
        v = v // 2 if v % 2 == 0 else 3 * v + 1
        steps += 1
        if steps > 100:
            break
    out[0, i] = dt.i64(total)
    out[1, i] = dt.i64(steps)


def _steps(v: int) -> int:
    steps = 0
    while v != 1 and steps <= 100:
        v = v // 2 if v % 2 == 0 else 3 * v + 1
        steps += 1
    return steps


def test_branches_loops_and_early_exits() -> None:
    x = np.arange(1, BLOCK + 1)
    out = result(control_flow, x, np.full((2, BLOCK), -1), block=BLOCK)
    sums = [sum(j for j in range(min(i, 21)) if j != 7) for i in range(60)]
    np.testing.assert_array_equal(out[0], sums + [-1] * 4)
    np.testing.assert_array_equal(out[1], [_steps(int(v)) for v in x[:60]] + [-1] * 4)


class Affine(NamedTuple):
    scale: dt.Float32
    shift: dt.Float32


@dataclass(frozen=True)
class Point:
    x: Any
    y: Any

    def turned(self):
        return Point(self.y, -self.x)


@dt.kernel
def structs(x: dt.Tensor, out: dt.Tensor, affine: Affine):
    i = dt.thread_idx.x
    point = Point(x[i], affine.scale)
    if i % 2 == 0:
        point = point.turned()
    values = dt.array(dt.f32, 2, 0.0)
    values[0] = point.x
    values[1] = point.y * affine.shift
    out[i] = values[0] + values[1]


@dt.jit
def launch_structs(x: dt.Tensor, out: dt.Tensor, affine: Affine):
    structs(x, out, affine).launch(grid=1, block=BLOCK)


def test_structs_and_register_arrays() -> None:
    x = np.arange(BLOCK, dtype=np.float32)
    out = np.zeros_like(x)
    launch_structs(x, out, Affine(2.0, 3.0))
    np.testing.assert_array_equal(out, np.where(np.arange(BLOCK) % 2 == 0, 2 - 3 * x, x + 6))


class Tiles:
    """A user's own argument: how a row is cut, and a table that goes with it."""

    __jit_fields__ = ("table",)
    table: dt.Tensor

    def __init__(self, width: int, table: Any) -> None:
        self.width, self.table = width, table

    def __cache_signature__(self) -> Any:
        return ("tiles", self.width)


def tile_sum(tiles, x, i):
    total = tiles.table[i]
    for j in dt.static_range(tiles.__cache_signature__()[1]):
        total = total + x[i + j]
    return total


@dt.kernel
def tiled(x: dt.Tensor, out: dt.Tensor, tiles: Tiles):
    i = dt.thread_idx.x * tiles.__cache_signature__()[1]
    if i < x.shape[0]:
        out[i] = tile_sum(tiles, x, i)


@dt.jit
def launch_tiled(x: dt.Tensor, out: dt.Tensor, tiles: Tiles):
    width = tiles.__cache_signature__()[1]
    tiled(x, out, tiles).launch(grid=1, block=BLOCK // width)


def test_kernels_read_the_signature_of_a_users_argument() -> None:
    x = np.arange(BLOCK, dtype=np.float32)
    for width in (2, 4):
        out = np.zeros_like(x)
        launch_tiled(x, out, Tiles(width, np.full_like(x, 100)))
        np.testing.assert_array_equal(out[::width], x.reshape(-1, width).sum(1) + 100)


# -- what the device tells --------------------------------------------------------------------------------------------


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
    assert f"test_language.py:{line}" in str(caught.value)
    assert "out[i] = x[i + 1]" in str(caught.value)
    np.testing.assert_array_equal(out[:31], x[1:])


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
        result(dt.kernel(noalias=("y",))(cast.__wrapped__), x, x.copy())
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
    assert "test_language.py:" in text
    assert f"    {line}\n" in text
    assert "^" in text
