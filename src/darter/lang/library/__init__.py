"""The device library: what is commonly composed, written in darter itself; code generation knows none of it."""

from darter.lang.library.reductions import (
    block_all,
    block_any,
    block_max,
    block_min,
    block_reduce,
    block_sum,
    warp_max,
    warp_min,
    warp_reduce,
    warp_sum,
)
from darter.lang.library.rows import group_scale, reciprocal_rms, softmax_row
from darter.lang.library.scans import block_scan, block_scan_exclusive, warp_scan, warp_scan_exclusive

__all__ = [
    "block_all",
    "block_any",
    "block_max",
    "block_min",
    "block_reduce",
    "block_scan",
    "block_scan_exclusive",
    "block_sum",
    "group_scale",
    "reciprocal_rms",
    "softmax_row",
    "warp_max",
    "warp_min",
    "warp_reduce",
    "warp_scan",
    "warp_scan_exclusive",
    "warp_sum",
]
