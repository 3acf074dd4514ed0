"""Tensors on which the native reader finds out where this torch keeps what a launch reads.

torch promises nothing about the inside of its objects, so nothing is assumed: a place counts as found only if it holds,
in every probe, what torch itself says of that probe, and no other place does.
"""

from __future__ import annotations

import sys
from typing import Any

from darter.dtypes import Float32, Int16, Scalar

Probe = tuple[Any, int, int, tuple[int, ...], tuple[int, ...], type[Scalar] | None, int, int, int]
"""A tensor and what torch says of it: the address of the TensorImpl, the raw dispatch key set, sizes, strides, the
dtype (None: none that darter takes), the address of the StorageImpl, that of the storage's data, the offset in
elements."""


def probes() -> tuple[tuple[Probe, ...], tuple[tuple[Any, int], ...]]:
    """Return ordinary tensors, and copy-on-write ones as (tensor, address of the StorageImpl).

    All are small and on the CPU, whatever the default device is. Copy-on-write tensors share memory until one of them
    is written; their address must be asked for, because asking makes the copy. Both tuples are empty where a dispatch
    mode turns tensors into something else, the second one where torch has no such tensors.
    """
    torch: Any = sys.modules["torch"]
    plain = torch.empty((3, 5), dtype=torch.float32, device="cpu")
    if type(plain) is not torch.Tensor or plain.is_meta:
        return (), ()
    shorts = torch.empty((7, 2), dtype=torch.int16, device="cpu")
    complex_numbers = torch.empty((2, 2), dtype=torch.complex64, device="cpu")
    lent = torch.frombuffer(bytearray(96), dtype=torch.float32)
    ordinary = (
        (plain, Float32),
        (plain.as_strided((5, 3), (1, 5)), Float32),  # each operation costs its first call, so all views are of one
        (plain.as_strided((2, 3), (5, 1), 7), Float32),
        (shorts, Int16),
        (shorts.as_strided((4, 2), (2, 1), 6), Int16),
        (torch.nn.Parameter(plain), Float32),
        (complex_numbers.conj(), None),
        (lent.as_strided((2, 1, 4, 2), (8, 8, 2, 1), 2), Float32),
    )
    return tuple(_probe(torch, tensor, dtype) for tensor, dtype in ordinary), _copies_on_write(torch)


def _probe(torch: Any, tensor: Any, dtype: type[Scalar] | None) -> Probe:
    storage = tensor.untyped_storage()
    return (
        tensor,
        tensor._cdata,
        torch._C._dispatch_keys(tensor).raw_repr(),
        tuple(tensor.size()),
        tuple(tensor.stride()),
        dtype,
        storage._cdata,
        storage.data_ptr(),
        tensor.storage_offset(),
    )


def _copies_on_write(torch: Any) -> tuple[tuple[Any, int], ...]:
    clone = getattr(torch, "_lazy_clone", None)
    if clone is None:
        return ()
    found = []
    for extent in (3, 40, 500):
        origin = torch.empty((extent,), dtype=torch.float32, device="cpu")
        found += [(each, each.untyped_storage()._cdata) for each in (origin, clone(origin))]
    return tuple(found)
