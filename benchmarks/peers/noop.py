"""The kernel that does nothing, as PTX and as CUDA C++, for the peers that take either."""

from __future__ import annotations


def ptx(parameters: int) -> bytes:
    """Return PTX of ``noop``, an entry of so many 64-bit parameters."""
    listed = ", ".join(f".param .u64 p{i}" for i in range(parameters))
    return f".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry noop({listed}) {{ ret; }}\n\0".encode()


def source(pointers: int, integers: int) -> str:
    """Return CUDA C++ of ``noop``."""
    listed = [f"float* t{i}" for i in range(pointers)] + [f"long long n{i}" for i in range(integers)]
    return f'extern "C" __global__ void noop({", ".join(listed)}) {{}}'
