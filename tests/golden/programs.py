"""Launchers whose IR is printed in printed_ir.txt."""

from __future__ import annotations

import darter.lang as dt
from darter.dtypes import Float32, Int64
from darter.lang.kernel_function import KernelFunction as kernel
from darter.signature.annotations import Constexpr, Stream, Tensor


@kernel
def add_kernel(x: Tensor, y: Tensor, out: Tensor, n: Int64, BLOCK: Constexpr[int]):
    i = dt.block_idx.x * BLOCK + dt.thread_idx.x
    if i < n:
        out[i] = x[i] + y[i]


def vector_add(x: Tensor["n"], y: Tensor["n"], out: Tensor["n"], BLOCK: Constexpr[int] = 256, stream: Stream = None):
    n = x.shape[0]
    add_kernel(x, y, out, n, BLOCK).launch(grid=dt.cdiv(n, BLOCK), block=BLOCK, stream=stream)


@kernel
def first_negative(x: Tensor, y: Tensor, out: Tensor):
    found = 0
    if x.shape[0] == 0:
        return
    for i in range(x.shape[0]):
        if x[i] < 0:
            break
        found += 1
    out[dt.thread_idx.x] = Float32(found)


def search(x: Tensor, y: Tensor, out: Tensor):
    if y.shape[0] < 2:
        raise ValueError(f"{y.shape[0]} is too short")
    first_negative(x, y, out).launch(grid=1, block=32)


@kernel
def total(x: Tensor, y: Tensor, out: Tensor):
    acc = dt.array(Float32, 2, 0.0)
    for i in range(dt.thread_idx.x * 2, x.shape[0], 64):
        a, b = x.load(i, width=2)
        acc[0] += a
        acc[1] += b
    out[dt.thread_idx.x] = acc[0] + acc[1]


def sums(x: Tensor, y: Tensor, out: Tensor):
    total(x, y, out).launch(grid=1, block=32)
