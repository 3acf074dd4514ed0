"""Tensors on which the native reader finds out where this torch keeps what a launch reads.

torch promises nothing about the inside of its objects, so nothing is assumed: a place counts as found only if it holds,
in every probe, what torch itself says of that probe, and no other place does.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from darter.dtypes import Float32, Int16, Scalar


class Probe(NamedTuple):
    """A tensor and what torch says of it; addresses and offsets in bytes, ``offset`` in elements."""

    tensor: Any
    impl: int  # address of the TensorImpl
    keys: int  # the raw dispatch key set
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: type[Scalar] | None  # None: no dtype that darter takes
    storage: int  # address of the StorageImpl
    data: int  # of the storage
    offset: int


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
        (plain.t(), Float32),
        (plain[1:, 2:], Float32),
        (shorts, Int16),
        (shorts[3:], Int16),
        (torch.nn.Parameter(plain), Float32),
        (complex_numbers.conj(), None),
        (lent[2:18].view(2, 1, 4, 2), Float32),
    )
    return tuple(_probe(torch, tensor, dtype) for tensor, dtype in ordinary), _copies_on_write(torch)


def _probe(torch: Any, tensor: Any, dtype: type[Scalar] | None) -> Probe:
    storage = tensor.untyped_storage()
    return Probe(
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
