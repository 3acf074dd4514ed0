"""Groups B and C of the public failure cases through real calls: results, counts, refusals cold and warm."""

from __future__ import annotations

import enum
from itertools import product
from typing import Any

import numpy as np
import pytest

import darter as dt

pytestmark = pytest.mark.usefixtures("fresh_store")


class Color(enum.IntEnum):
    RED = 1
    BLUE = 2


@dt.kernel
def copy_kernel(x: dt.Tensor, o: dt.Tensor, rows: dt.Int64, columns: dt.Int64):
    i = dt.block_idx.x
    j = dt.block_idx.y * 64 + dt.thread_idx.x
    if j < columns:
        o[i, j] = x[i, j]


@dt.jit
def copy(x: dt.Tensor["m", "n"], o: dt.Tensor["m", "n"]):
    copy_kernel(x, o, x.shape[0], x.shape[1]).launch(grid=(x.shape[0], dt.cdiv(x.shape[1], 64)), block=64)


@dt.kernel
def store_kernel(o: dt.Tensor, v):
    o[0] = v


@dt.kernel
def sum_kernel(b, A: dt.Constexpr, c, d, E: dt.Constexpr, o: dt.Tensor):
    o[0] = b * 1000 + c * 100 + d


def compiles(function: Any) -> int:
    return int(function.cache_info()["compiles"])


def test_B01_B02_columns_and_broadcasts_in_any_order_of_calls() -> None:
    plain, broadcast = np.arange(32.0).reshape(4, 8), np.broadcast_to(np.arange(8.0), (4, 8))
    for x in (broadcast, plain, broadcast, np.ones((512, 1)), np.ones((600, 1)), plain.T, plain[:, ::2]):
        o = np.zeros(x.shape)
        copy(x, o)
        np.testing.assert_array_equal(o, x)


def test_B06_none_is_told_from_a_tensor() -> None:
    @dt.kernel
    def kernel(o: dt.Tensor, bias: dt.Tensor | None):
        if bias is None:
            o[0] = -1.0
        else:
            o[0] = bias[0]

    @dt.jit
    def function(o: dt.Tensor, bias: dt.Tensor | None = None):
        kernel(o, bias).launch(grid=1, block=1)

    o = np.zeros(1)
    for bias, expected in ((None, -1.0), (np.full(1, 7.0), 7.0), (None, -1.0)):
        function(o, bias)
        assert o[0] == expected
    assert compiles(function) == 2


def test_B07_C03_one_variant_for_every_value() -> None:
    @dt.jit
    def function(o: dt.Tensor, n: dt.Int64):
        store_kernel(o, n).launch(grid=1, block=1)

    o = np.zeros(1, np.int64)
    for n in (42, 0, 1, 2, 15, 16, 17, -1):
        function(o, n)
        assert o[0] == n
    assert compiles(function) == 1


def test_B08_equal_values_of_different_types_are_different_variants() -> None:
    @dt.kernel
    def kernel(o: dt.Tensor, TAG: dt.Constexpr[str]):
        o[0] = 1.0

    @dt.jit
    def function(o: dt.Tensor, C: dt.Constexpr):
        kernel(o, "tag").launch(grid=1, block=1)

    for count, value in enumerate((1, True, 1.0, np.int64(1), Color.RED, (1,), (True,)), 1):
        function(np.zeros(1), value)
        assert compiles(function) == count


def test_B11_keywords_bind_by_name() -> None:
    @dt.kernel
    def kernel(o: dt.Tensor, n: dt.Constexpr[int], m: dt.Constexpr[int]):
        o[0] = n * 10.0 + m

    @dt.jit
    def function(o: dt.Tensor, n: dt.Constexpr[int], m: dt.Constexpr[int]):
        kernel(o, n, m).launch(grid=1, block=1)

    o = np.zeros(1)
    function(o, n=8, m=4)
    function(m=4, n=8, o=o)
    assert (o[0], compiles(function)) == (84.0, 1)
    function(o, m=8, n=4)
    assert o[0] == 48.0
    function(o, 8, 4)
    assert (o[0], compiles(function)) == (84.0, 2)


def test_B13_compiled_functions_check_dtypes_too() -> None:
    @dt.jit
    def function(o: dt.Tensor[dt.i64, "n"]):
        store_kernel(o, 1).launch(grid=1, block=1)

    compiled = dt.compile(function, np.zeros(8, np.int64))
    for call in (function, compiled):
        for _ in range(2):
            with pytest.raises(TypeError, match="argument 'o'"):
                call(np.zeros(8, np.int32))
            call(np.zeros(8, np.int64))


def test_B14_scalars_arrive_as_what_they_are() -> None:
    @dt.jit
    def function(o: dt.Tensor, v):
        store_kernel(o, v).launch(grid=1, block=1)

    for value in (5.0, np.float32(5), np.float64(5)):
        o = np.zeros(1, np.float64 if isinstance(value, np.float64) else np.float32)
        function(o, value)
        assert o[0] == 5
    whole = np.zeros(1, np.int64)
    function(whole, 5)
    truth = np.zeros(1, np.bool_)
    for value in (True, np.bool_(1)):
        truth[0] = False
        function(truth, value)
        assert (whole[0], truth[0]) == (5, np.True_)
    for _ in range(2):
        with pytest.raises(TypeError, match="argument 'v'"):
            function(whole, 1j)


def test_B16_extents_beyond_32_bits_reach_the_kernel() -> None:
    @dt.jit
    def function(x: dt.Tensor, o: dt.Tensor):
        store_kernel(o, x.shape[0]).launch(grid=1, block=1)

    o = np.zeros(1, np.int64)
    for extent in (8, (1 << 31) + 8, 9):
        function(np.lib.stride_tricks.as_strided(np.zeros(1), (extent,), (0,)), o)
        assert o[0] == extent


def test_B22_structure_is_checked_at_every_level() -> None:
    @dt.kernel
    def kernel(o: dt.Tensor, x: dt.Tensor):
        o[0] = x[0]

    @dt.jit
    def function(pair, o: dt.Tensor):
        kernel(o, pair[1]).launch(grid=1, block=1)

    x, y, o = np.full(1, 1.0), np.full(1, 2.0), np.zeros(1)
    compiled = dt.compile(function, (x, y), o)
    compiled((x, y), o)
    assert o[0] == 2.0
    for wrong in ((x, y, x), ((x,), y), (x,)):
        with pytest.raises(dt.DarterError):
            compiled(wrong, o)
    function((x, y, x), o)
    assert (o[0], compiles(function)) == (2.0, 2)


def test_B23_packing_follows_the_signature() -> None:
    @dt.jit
    def function(b, A: dt.Constexpr, c, d, E: dt.Constexpr, o: dt.Tensor):
        sum_kernel(b, A, c, d, E, o).launch(grid=1, block=1)

    o = np.zeros(1, np.int64)
    for b, c, d in product((1, 2, 16), repeat=3):
        function(b, 5, c, d, 7, o)
        assert o[0] == b * 1000 + c * 100 + d
    assert compiles(function) == 1


def test_C01_C08_C10_what_makes_no_new_variant() -> None:
    @dt.jit
    def function(o: dt.Tensor, MAXLEN: dt.Constexpr, stream: dt.Stream = None):
        store_kernel(o, 1).launch(grid=1, block=1, stream=stream)

    o = np.zeros(1, np.int64)
    for _ in range(2):
        with pytest.raises(TypeError, match=r"argument 'MAXLEN'.*x\.item\(\)"):
            function(o, np.array(128))
    for stream in (None, 0, 12345):
        function(o, 128, stream)
    assert (compiles(function), function.cache_info()["variants"]) == (1, 1)


def test_B03_values_that_a_launcher_makes_for_one_launch_are_told_apart() -> None:
    """Their addresses come back from one launch to the next, so no kernel may be found by them."""

    @dt.kernel
    def of_set(o: dt.Tensor, place: dt.Int32, SET: dt.Constexpr):
        o[place] = dt.Float32(sum(SET))

    @dt.kernel
    def of_complex(o: dt.Tensor, place: dt.Int32, NUMBER: dt.Constexpr):
        o[place] = dt.Float32(NUMBER.imag)

    @dt.jit
    def function(o: dt.Tensor):
        for i in dt.static_range(16):
            of_set(o, i, frozenset((i, 10 * i))).launch(grid=1, block=1)
        for i in dt.static_range(16):
            of_complex(o, 16 + i, complex(0, i)).launch(grid=1, block=1)

    o = np.zeros(32, np.float32)
    function(o)
    assert o.tolist() == [11.0 * i for i in range(16)] + [1.0 * i for i in range(16)]


@pytest.mark.parametrize("value", [2, np.int64(2), np.uint8(2), Color.BLUE], ids=repr)
def test_B08_integers_of_every_kind_serve_where_integers_do(value: Any) -> None:
    @dt.kernel
    def kernel(o: dt.Tensor, C: dt.Constexpr):
        held = dt.shared(dt.f32, C)
        held[dt.thread_idx.x] = (3.0, 5.0, 7.0)[C]
        for _ in range(C):
            o[dt.thread_idx.x] = o[dt.thread_idx.x] + held[dt.thread_idx.x]
        if dt.thread_idx.x == 0:
            o[C] = 1.0 if isinstance(C, int) else -1.0

    @dt.jit
    def function(o: dt.Tensor, C: dt.Constexpr):
        kernel(o, C).launch(grid=C, block=C)

    o = np.zeros(4, np.float32)
    function(o, value)
    assert o.tolist() == [28.0, 28.0, 1.0 if isinstance(value, int) else -1.0, 0.0]
