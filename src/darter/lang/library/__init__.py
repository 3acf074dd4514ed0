"""The device library: what is commonly composed, written in darter itself; code generation knows none of it."""

from darter.lang.library.reductions import (
    block_all,
    block_any,
    block_max,
    block_min,
    block_reduce,
    block_sum,
    group_reduce,
    warp_max,
    warp_min,
    warp_reduce,
    warp_sum,
)
from darter.lang.library.rows import group_scale, reciprocal_rms, rms_norm_row, softmax_row
from darter.lang.library.scans import block_scan, block_scan_exclusive, warp_scan, warp_scan_exclusive
from darter.lang.library.tiles import each, fold, on_gpu, row_plan

__all__ = [
    "block_all",
    "block_any",
    "block_max",
    "block_min",
    "block_reduce",
    "block_scan",
    "block_scan_exclusive",
    "block_sum",
    "each",
    "fold",
    "group_reduce",
    "group_scale",
    "on_gpu",
    "reciprocal_rms",
    "rms_norm_row",
    "row_plan",
    "softmax_row",
    "warp_max",
    "warp_min",
    "warp_reduce",
    "warp_scan",
    "warp_scan_exclusive",
    "warp_sum",
]
