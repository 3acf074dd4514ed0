"""Row kernels for Triton, one row a program: what ``darter bench kernels`` compares softmax and RMS norm with."""

import triton
import triton.language as tl

WARPS = (4, 8, 16)
"""The numbers of warps a program that are tried; the best one counts."""


@triton.jit
def softmax_kernel(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    values = tl.load(x + row * columns + offsets, mask=mask, other=float("-inf")).to(tl.float32)
    weights = tl.exp(values - tl.max(values, axis=0))
    result = weights / tl.sum(weights, axis=0)
    tl.store(out + row * columns + offsets, result.to(out.dtype.element_ty), mask=mask)


@triton.jit
def rmsnorm_kernel(x, w, out, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    values = tl.load(x + row * columns + offsets, mask=mask, other=0.0).to(tl.float32)
    weights = tl.load(w + offsets, mask=mask, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(values * values, axis=0) / columns + eps)
    tl.store(out + row * columns + offsets, (values * scale * weights).to(out.dtype.element_ty), mask=mask)


def softmax(x, out, warps):
    """Launch the softmax of the rows of ``x`` into ``out``."""
    rows, columns = x.shape
    softmax_kernel[(rows,)](x, out, columns, BLOCK=triton.next_power_of_2(columns), num_warps=warps)


def rmsnorm(x, w, out, eps, warps):
    """Launch the RMS norm of the rows of ``x`` into ``out``."""
    rows, columns = x.shape
    rmsnorm_kernel[(rows,)](x, w, out, columns, eps, BLOCK=triton.next_power_of_2(columns), num_warps=warps)
