"""Kernels and launchers with one mistake each; the messages stand in kernel_errors.txt."""

# ruff: noqa: F841, SIM105, PERF401

from __future__ import annotations

import time

import numpy as np

import darter.lang as dt
from darter.dtypes import BFloat16, Float8E4M3FN, Float32, Int32, Int64, UInt32
from darter.lang.kernel_function import KernelFunction as kernel
from darter.signature.annotations import Constexpr, Tensor

table = [1.0, 2.0]


class Config:
    def __init__(self):
        self.size = 4


@kernel
def unknown_name(x):
    x[0] = undefned + 1


@kernel
def unknown_function_of_dt(x):
    x[0] = dt.sqr(x[0])


@kernel
def bound_on_one_path(x):
    if x[0] > 0:
        v = 1.0
    x[0] = v


@kernel
def used_before_assignment(x):
    x[0] = total
    total = 1.0


@kernel
def signed_and_unsigned(x):
    x[0] = Float32(UInt32(1) + dt.thread_idx.x)


@kernel
def int_does_not_fit(x):
    x[0] = Float32(dt.thread_idx.x + 5_000_000_000)


@kernel
def store_needs_a_cast(x):
    x[dt.thread_idx.x] = dt.thread_idx.x


@kernel
def float8_needs_a_cast(x):
    x[0] = Float8E4M3FN(x[0]) + 1


@kernel
def carried_type_changes(x):
    i = dt.thread_idx.x
    for _ in range(4):
        i = i * 0.5
    x[0] = Float32(i)


@kernel
def branches_do_not_go_together(x):
    x[0] = x[0] if x[0] > 0 else None


@kernel
def container_changed_in_a_loop(x):
    found = []
    for i in range(4):
        found.append(x[i])


@kernel
def captured_list_changed(x):
    table.append(3.0)


@kernel
def list_indexed_at_run_time(x):
    x[0] = table[dt.thread_idx.x]


@kernel
def array_indexed_at_run_time(x):
    a = dt.array(Float32, 4, 0.0)
    x[0] = a[dt.thread_idx.x]


@kernel
def wrong_number_of_indices(x):
    x[0, 1] = 0.0


@kernel
def negative_index(x):
    x[-1] = 0.0


@kernel
def a_slice(x):
    x[0:4] = 0.0


@kernel
def float_index(x):
    x[x[0]] = 1.0


@kernel
def with_statement(x):
    with open("f"):
        pass


@kernel
def try_statement(x):
    try:
        x[0] = 1.0
    except ValueError:
        pass


@kernel
def a_generator(x):
    x[0] = generated()


def generated():
    yield 1


@kernel
def global_statement(x):
    global table
    table = 1


@kernel
def raise_at_run_time(x):
    if x[0] < 0:
        raise ValueError("negative")


@kernel
def unknown_builtin_module(x):
    x[0] = time.time()


@kernel
def math_of_an_integer(x):
    x[0] = dt.exp(dt.thread_idx.x)


@kernel
def static_exception(x, n=0):
    x[0] = 1.0 / (2 - len(table))


@kernel
def runtime_shape_of_shared(x):
    s = dt.shared(Float32, x.shape[0])


@kernel
def unbounded_recursion(x):
    x[0] = endless(x[0])


def endless(v):
    return endless(v) + 1


@kernel
def unknown_attribute(x):
    x[0] = Float32(x.shpe[0])


@kernel
def kernel_calls_kernel(x):
    negative_index(x)


@kernel
def wrong_arguments_of_an_intrinsic(x):
    x[0] = dt.fma(x[0], 1.0)


@kernel
def helper_with_wrong_arguments(x):
    x[0] = endless(x[0], 2)


@kernel
def unicode_before_the_mistake(x):
    x[0] = len("été") + ñandú


@kernel
def mixes_bfloat16_and_static(x):
    x[0] = BFloat16(1) + 2.0


@kernel
def function_of_numpy(x):
    x[0] = np.exp(x[0])


@kernel
def name_of_another_language(x):
    dt.syncthreads()


@kernel
def iterates_over_a_tensor(x):
    for v in x:
        x[0] = v


@kernel
def value_returned(x):
    return x[0]


@kernel
def fixed(x: Tensor[Float32, 8], n: Int32, C: Constexpr[int]):
    x[0] = Float32(n + C)


def launch_without_block(x: Tensor):
    negative_index(x).launch(grid=1)


def launch_forgotten(x: Tensor):
    negative_index(x)


def block_too_large(x: Tensor):
    fixed(x, 1, 2).launch(grid=1, block=2048)


def block_at_run_time(x: Tensor):
    fixed(x, 1, 2).launch(grid=1, block=x.shape[0])


def grid_of_floats(x: Tensor):
    fixed(x, 1, 2).launch(grid=x.shape[0] / 2, block=32)


def constexpr_at_run_time(x: Tensor):
    fixed(x, 1, x.shape[0]).launch(grid=1, block=32)


def constexpr_of_the_wrong_type(x: Tensor):
    fixed(x, 1, True).launch(grid=1, block=32)


def scalar_out_of_range(x: Tensor):
    fixed(x, 2**40, 1).launch(grid=1, block=32)


def missing_argument(x: Tensor):
    fixed(x, 1).launch(grid=1, block=32)


def element_read_in_a_launcher(x: Tensor):
    fixed(x, x[0], 1).launch(grid=1, block=32)


def loop_in_a_launcher(x: Tensor):
    for i in range(x.shape[0]):
        fixed(x, i, 1).launch(grid=1, block=32)


def wrong_contract(x: Tensor[Int64, 8]):
    fixed(x, 1, 2).launch(grid=1, block=32)


def value_returned_by_a_launcher(x: Tensor):
    fixed(x, 1, 2).launch(grid=1, block=32)
    return x


def array_made_in_a_launcher(x: Tensor):
    fixed(np.zeros(8, np.float32), 1, 2).launch(grid=1, block=32)
