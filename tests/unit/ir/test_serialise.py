"""Kernels survive the way to bytes and back; damaged bytes are refused as such."""

from __future__ import annotations

import pytest

from darter.errors import ArtifactError
from darter.ir import nodes as n
from darter.ir.printer import print_kernel
from darter.ir.serialise import kernels_from_bytes, kernels_to_bytes
from darter.ir.verify import verify_kernel
from tests.property.kernel_generator import generate


def _kernels() -> list[n.Kernel]:
    return [generate(seed, 30, 64 if seed % 2 else 32).kernel for seed in range(12)]


def test_kernels_come_back_as_they_were() -> None:
    kernels = _kernels()
    kernels[0].options = n.KernelOptions(fast_math=True, noalias=("x", "y"))
    back = kernels_from_bytes(kernels_to_bytes(kernels))
    assert [print_kernel(kernel) for kernel in back] == [print_kernel(kernel) for kernel in kernels]
    for kernel in back:
        verify_kernel(kernel)


def test_equal_kernels_give_equal_bytes() -> None:
    assert kernels_to_bytes(_kernels()) == kernels_to_bytes(_kernels())


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[1]", b"[1,[[1]]]", b"[2,[]]", b"\xff\xfe", b'[1,[["k",[{"value":3}],0,0,0,0]]]']
)
def test_damaged_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ArtifactError):
        kernels_from_bytes(data)
