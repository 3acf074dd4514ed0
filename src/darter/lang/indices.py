"""Where a thread stands: indices, dimensions, lanes and warps; and the target that it runs on."""

from __future__ import annotations

from typing import Any

from darter.lang.intrinsic import IndexVector, KernelConstant

thread_idx = IndexVector("thread_idx")
block_idx = IndexVector("block_idx")
block_dim = IndexVector("block_dim")
grid_dim = IndexVector("grid_dim")

# Any, because in a kernel they are numbers.
lane_id: Any = KernelConstant("lane_id")
warp_id: Any = KernelConstant("warp_id")
warp_size: Any = KernelConstant("warp_size")

# A string: what the code is compiled for, in kernels and in launchers.
backend: Any = KernelConstant("backend")
