"""Types of operations, weak numbers, and static Python inside kernels."""

from __future__ import annotations

import dataclasses
import enum
import math
import operator
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

import darter.lang as dt
from darter.dtypes import BFloat16, Bool, Float16, Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt32, UInt64
from darter.errors import KernelTypeError, StaticEvaluationError
from darter.ir import nodes as n
from darter.lang.kernel_function import KernelFunction as kernel
from darter.signature.annotations import Constexpr
from tests.unit.frontend import harness

run, launcher, traced = harness.run, harness.launcher, harness.traced

ONE = np.float32(1)


def check(body, expected, out=None):
    """Run ``body`` in one thread and compare what it stores; bodies take ``out``."""
    array = np.zeros(len(expected), np.float64) if out is None else out
    run(launcher(kernel(body), block=1), array)
    np.testing.assert_array_equal(array, np.array(expected, array.dtype))


def test_promotion():
    def body(out):
        b = Bool(dt.thread_idx.x == 0)
        types = (
            (Int32(1) + Int64(2)).dtype == Int64,
            (Int32(1) + Float16(2)).dtype == Float16,
            (Float16(1) + BFloat16(2)).dtype == Float32,
            (Float32(1) * 2).dtype == Float32,
            (Int32(1) * 2.0).dtype == Float32,
            (Int32(7) / 2).dtype == Float32,
            (Int64(7) / Int64(2)).dtype == Float64,
            (Int8(7) // 2).dtype == Int8,
            (b + 1).dtype == Int32,
            (b & True).dtype == Bool,
            (BFloat16(1) + 0.5).dtype == BFloat16,
            (dt.thread_idx.x + dt.block_idx.x).dtype == Int64,
            (UInt8(1) << 3).dtype == UInt8,
            (-b).dtype == Int32,
            dt.exp(Float16(0)).dtype == Float16,
            dt.where(b, 1, Float32(2)).dtype == Float32,
        )
        for i in dt.static_range(len(types)):
            out[i] = Float64(types[i])

    check(body, [1] * 16)


def test_floor_division_and_remainder_and_powers():
    def body(out):
        t = dt.thread_idx.x
        out[0] = Float64((t - 7) // 2)
        out[1] = Float64((t - 7) % 3)
        out[2] = Float64(Float32(-7.5) // 2)
        out[3] = Float64(Float32(-7.5) % 2)
        out[4] = Float64((t + 3) ** 4)
        out[5] = Float64(Float32(3) ** 2)
        out[6] = 2**-1
        out[7] = Float64(abs(t - 3))

    check(body, [-4, 2, -4, 0.5, 81, 9, 0.5, 3])


def test_comparisons_chain_and_booleans():
    def body(out):
        t = dt.thread_idx.x
        out[0] = Float64(-1 < t < 1)
        out[1] = Float64(0 < t < 1)
        out[2] = Float64(not (t == 1))  # noqa: SIM201
        out[3] = Float64((t == 0 and t < 5) or t > 9)
        out[4] = Float64(~Bool(t == 0))
        out[5] = 1.0 if (1 < 2 < 3) and "a" in "abc" and 3 not in (1, 2) else 0.0

    check(body, [1, 0, 1, 1, 0, 1])


def test_casts_wrap_saturate_and_nan_is_zero():
    def body(out):
        t = dt.thread_idx.x
        f = Float32(t)
        out[0] = Float64(UInt8(300))
        out[1] = Float64(Int8(f + 300))
        out[2] = Float64(Int32(f + math.inf))
        out[3] = Float64(Int32(f + math.nan))
        out[4] = Float64(UInt32(-1))
        out[5] = Float64(dt.bitcast(f + 1, UInt32))
        out[6] = Float64(UInt64(t + 5))
        out[7] = Float64(Int16(40000))

    check(body, [44, 127, 2**31 - 1, 0, 2**32 - 1, 0x3F800000, 5, 40000 - 65536])


class Color(enum.IntEnum):
    RED = 1
    BLUE = 2


@dataclasses.dataclass(frozen=True)
class Shape:
    m: int
    n: int = 4

    @property
    def size(self):
        return self.m * self.n

    def doubled(self):
        return Shape(self.m * 2, self.n)


TABLE = {"a": 1, "b": [2, 3]}


def test_static_python_runs_at_compile_time():
    def body(out):
        def inner(x, *rest, scale=2, **named):
            return x * scale + sum(rest) + len(named)

        first, *others = [i * i for i in range(5) if i % 2 == 0]
        shape = Shape(3)
        pairs = {name: value for value, name in enumerate(("x", "y"))}
        total = 0
        for name, value in pairs.items():
            total += value if name != "x" else 10
        words = sorted(("b", "a", "c"), key=lambda w: -ord(w))
        results = (
            inner(1, 2, 3, scale=10, u=1),
            first + sum(others),
            shape.size + shape.doubled().m,
            total,
            TABLE["b"][1] + TABLE.get("zz", 7),
            Color.BLUE + 1,
            math.floor(2.7) + operator.add(1, 2),
            len(f"{shape.m:04d}-{words[0]!r}"),
            max(3, *others) + min((1, 2)),
            int("12") + divmod(7, 2)[1] + (1 if isinstance(shape, Shape) else 0),
            [*range(4)][-1] + "abc".index("c") + (4).bit_length(),
            sum(a * b for a, b in zip((1, 2), (3, 4), strict=True)),
        )
        for i, r in enumerate(results):
            out[i] = r

    check(body, [16, 20, 18, 11, 10, 3, 5, 8, 17, 14, 8, 11])


def test_a_static_while_loop_unrolls():
    def body(out):
        n, steps = 100, 0
        while n > 1:
            n //= 2
            steps += 1
        acc = dt.array(Float64, steps, 1.0)
        out[0] = sum(acc)

    check(body, [6])


def test_lists_change_after_an_early_return():
    def helper(t, out):
        found = []
        if t > 5:
            return
        for i in dt.static_range(3):
            found.append(i + t)  # noqa: PERF401
        out[0] = Float64(sum(found))

    def body(out):
        helper(dt.thread_idx.x, out)

    check(body, [3])


def test_numpy_scalars_keep_their_type():
    def body(out):
        out[0] = Float64((dt.thread_idx.x + ONE).dtype == Float32)

    check(body, [1])


def test_min_max_any_all_and_minmax_of_sequences():
    def body(out):
        t = dt.thread_idx.x
        values = [t + 3, t + 1, t + 2]
        out[0] = Float64(max(values))
        out[1] = Float64(min(*values, 9))
        out[2] = Float64(any(v > 2 for v in values))
        out[3] = Float64(all(v > 2 for v in values))
        out[4] = Float64(max(t, 0.5))

    check(body, [3, 1, 1, 0, 0.5])


def test_static_snapshots_of_arrays():
    coefficients = np.array([1.5, 2.5])

    def body(out):
        c = dt.static(coefficients)
        for i in dt.static_range(len(c)):
            out[i] = c[i]

    check(body, [1.5, 2.5])


def test_bfloat16_rounds_after_each_operation():
    def body(out):
        v = BFloat16(1) + BFloat16(0.0078125)
        out[0] = v + BFloat16(0.001)

    out = np.zeros(1, ml_dtypes.bfloat16)
    check(body, [ml_dtypes.bfloat16(1.0078125) + ml_dtypes.bfloat16(0.001)], out)


def test_printing_and_assertions_take_f_strings():
    @kernel
    def k(x):
        t = dt.thread_idx.x
        dt.print(f"t={t}", "v:", x[t], 3)
        dt.assert_(x[t] >= 0, f"negative at {t}")  # noqa: PT009

    (block,) = [kernel.body for kernel in traced(launcher(k), np.zeros(32, np.float32)).kernels]
    assert [node.pieces for node in block.nodes if isinstance(node, n.Print)] == [("t=", " v: ", " 3")]
    assert [node.message for node in block.nodes if isinstance(node, n.Assert)] == ["negative at {}"]


def test_a_match_of_different_kinds_is_refused_where_it_is_read():
    @kernel
    def k(x):
        v = 1.0
        if x[0] > 0:
            v = Int32(1)
        x[0] = Float32(v)

    with pytest.raises(NameError, match="an i32 value on one path"):
        traced(launcher(k), np.zeros(1, np.float32))


def test_calling_a_kernel_or_an_intrinsic_from_python_says_what_to_do():
    @kernel
    def k(x):
        x[0] = 1.0

    with pytest.raises(KernelTypeError, match=r"launch\(grid"):
        k(1)
    with pytest.raises(KernelTypeError, match="outside of kernel code"):
        dt.barrier()
    with pytest.raises(KernelTypeError, match="outside of kernel code"):
        dt.thread_idx.x
    assert dt.cdiv(7, 2) == 4
    assert list(dt.static_range(1, 4)) == [1, 2, 3]


def test_a_snapshot_of_what_has_no_content_is_refused_at_the_line():
    @kernel
    def k(x):
        dt.static(math)
        x[0] = 1.0

    with pytest.raises(StaticEvaluationError, match=r"dt\.static\(math\)"):
        traced(launcher(k), np.zeros(1, np.float32))


def test_backend_is_a_static_string_in_kernels_and_launchers():
    @kernel
    def k(out, EXPECTED: Constexpr):
        out[0] = 1.0 if dt.backend == EXPECTED else 2.0

    def launch(out):
        k(out, "cpu" if dt.backend == "cpu" else "cuda").launch(grid=1, block=1)

    for target in (harness.TARGET, harness.GPU):
        out = np.zeros(1, np.float32)
        module = run(launch, out, target=target)
        assert out[0] == 1.0
        assert not any(isinstance(node, n.If) for node in module.kernels[0].body.nodes)


NOBODY = ()


def test_in_compares_run_time_numbers_with_items():
    def body(out):
        t = dt.thread_idx.x
        out[0] = Float64(t in (3, 0))
        out[1] = Float64(t not in [1, t])
        out[2] = Float64(t in range(1, 3))
        out[3] = Float64(0 in (t, 5))
        out[4] = Float64(t in NOBODY)

    check(body, [1, 0, 0, 1, 0])


@pytest.mark.parametrize("container", [5, "ab", {0: 1}])
def test_in_refuses_what_a_run_time_number_is_not_compared_with(container):
    @kernel
    def k(out):
        out[0] = Float64(dt.thread_idx.x in container)

    with pytest.raises(KernelTypeError, match="items of a tuple, list or range"):
        run(launcher(k, block=1), np.zeros(1))


def test_divmod_and_pow_take_run_time_numbers():
    def body(out):
        t = dt.thread_idx.x - 7
        out[0], out[1] = Float64(divmod(t, 3)[0]), Float64(divmod(t, 3)[1])
        out[2] = pow(Float64(t), 3)
        out[3], out[4] = divmod(9, 4)
        out[5] = pow(2, 5, 7)

    check(body, [-3, 2, -343, 2, 1, 4])


class Found(NamedTuple):
    value: Any
    place: Any = -1


NOT_FOUND = Found(0.0)


@dataclasses.dataclass(frozen=True)
class Count:
    of: Any
    found: Found = NOT_FOUND

    def with_one(self, value, place):
        return Count(self.of + 1, Found(value, place))


NOTHING = Count(0)


def test_a_struct_of_static_values_is_carried_and_merged():
    def body(out):
        best, count = Found(-1.0), NOTHING
        for j in range(5):
            value = Float64(j * 3 % 5)
            if value > best.value:
                best = Found(value, j)
            elif j == 4:
                count = count.with_one(value, j)
            if j == 0:
                best = Found(0.5)
        out[0], out[1] = best.value, Float64(best.place)
        out[2], out[3] = Float64(count.of), count.found.value

    check(body, [4, 3, 1, 2])


def test_the_class_of_a_tuple_of_run_time_values_is_known():
    def body(out):
        pair = (dt.thread_idx.x, 1)
        out[0] = isinstance(pair, tuple) and type(pair) is tuple and not isinstance([pair], tuple)

    check(body, [1])


@pytest.mark.parametrize("other", [np.float32, np.dtype("float32"), ml_dtypes.bfloat16])
@pytest.mark.parametrize("compares", ["==", "!=", "is", "in"])
def test_a_scalar_type_is_not_compared_with_another_librarys(compares, other):
    bodies = {
        "==": lambda x: x.dtype == other,
        "!=": lambda x: x.dtype != other,
        "is": lambda x: x.dtype is other,
        "in": lambda x: x.dtype in (Int32, other),
    }
    body = bodies[compares]

    @kernel
    def k(x):
        x[0] = 1.0 if body(x) else 2.0

    with pytest.raises(KernelTypeError, match=r"dt.Float32 is never equal(.|\n)*write dt\.(Float32|BFloat16)"):
        run(launcher(k, block=1), np.zeros(1, np.float32))


def test_bits_are_counted():
    def body(out):
        t = dt.thread_idx.x + 12
        out[0], out[1], out[2] = Float64(dt.popcount(t)), Float64(dt.clz(t)), Float64(dt.ctz(t))
        out[3], out[4] = Float64(dt.clz(UInt8(t))), Float64(dt.ctz(Int64(t - 12)))
        out[5] = dt.popcount(7) if dt.popcount(t).dtype is Int32 else 0

    check(body, [2, 28, 2, 4, 64, 3])


@pytest.mark.parametrize("value", [5, 1.5, -1])
def test_bits_of_no_width_are_not_counted(value):
    def body(out):
        out[0] = Float64(dt.clz(value))

    with pytest.raises(KernelTypeError, match="counts bits of an integer of known width"):
        check(body, [0])
