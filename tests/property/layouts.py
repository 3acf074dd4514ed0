"""Strategies of tensors: every dtype, rank, stride pattern and size, over a few bytes of memory.

Arrays are views by stride tricks: extents and offsets of any size cost nothing, and nobody reads an element.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

import darter.dtypes as dt

EDGE = 1 << 30
LARGE_EXTENTS = (EDGE - 1, EDGE, EDGE + 1, (1 << 31) - 1, 1 << 31, (1 << 31) + 8)
OFFSETS = (0, 0, 0, 0, 1, 2, 4, 8, 12, 16, 32)
"""How many bytes a base may lie past an aligned address; zero is as frequent as it is in life."""

dtypes = st.sampled_from(dt.ALL)

extents = st.one_of(
    st.integers(0, 1),
    st.integers(2, 9),
    st.sampled_from((16, 128)),
)

shapes = st.lists(extents, max_size=6).map(tuple)


def strides_of(rank: int) -> st.SearchStrategy[tuple[int, ...]]:
    """Strides in elements: broadcast, unit, small, vector-sized, about 2³⁰ bytes, of both signs."""
    one = st.one_of(
        st.just(0),
        st.just(1),
        st.integers(-5, 20),
        st.integers(-8, 8).map(lambda k: 16 * k),
        st.sampled_from(
            [sign * (EDGE // size + delta) for sign in (1, -1) for size in (1, 2, 4, 8) for delta in (-1, 0, 1)]
        ),
    )
    return st.lists(one, min_size=rank, max_size=rank).map(tuple)


def compact(shape: tuple[int, ...], order: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides, in elements, of a compact array whose axes lie in memory in ``order``, outermost first."""
    strides = [0] * len(shape)
    step = 1
    for axis in reversed(order):
        strides[axis] = step
        step *= max(shape[axis], 1)
    return tuple(strides)


@st.composite
def layouts(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and strides in elements: free ones, and what serving sees: permuted, channels last, broadcast, sliced."""
    shape = draw(shapes)
    if draw(st.booleans()):
        strides = draw(strides_of(len(shape)))
    else:
        strides = compact(shape, tuple(draw(st.permutations(range(len(shape))))))
    if shape and draw(st.booleans()):
        axis = draw(st.integers(0, len(shape) - 1))
        change = draw(st.sampled_from(("broadcast", "reverse", "step", "one", "empty", "large")))
        shape_list, stride_list = list(shape), list(strides)
        match change:
            case "broadcast":
                stride_list[axis] = 0
            case "reverse":
                stride_list[axis] = -stride_list[axis]
            case "step":
                stride_list[axis] *= 2
            case "one":
                shape_list[axis] = 1
            case "empty":
                shape_list[axis] = 0
            case _:
                # One extent of this size and no other element, or NumPy calls the array too large.
                shape_list = [min(extent, 1) for extent in shape_list]
                shape_list[axis] = draw(st.sampled_from(LARGE_EXTENTS))
                stride_list[axis] = draw(st.sampled_from((0, 0, stride_list[axis])))
        shape, strides = tuple(shape_list), tuple(stride_list)
    return shape, strides


def carrier(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return NumPy's own unsigned type of the same size, for stride tricks that ml_dtypes' types do not take."""
    return np.dtype(f"u{dtype.itemsize}")


def restrided(array: np.ndarray[Any, Any], shape: Sequence[int], strides_bytes: Sequence[int]) -> np.ndarray[Any, Any]:
    """Return a view of ``array``'s base address with another shape and other strides."""
    view = np.lib.stride_tricks.as_strided(array.view(carrier(array.dtype)), tuple(shape), tuple(strides_bytes))
    return view.view(array.dtype)


def array_over(
    raw: np.ndarray[Any, Any], dtype: np.dtype[Any], offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> np.ndarray[Any, Any]:
    """Return an array whose element 0 lies ``offset`` bytes past a 64-byte boundary of ``raw``; strides in elements."""
    start = -raw.ctypes.data % 64 + offset
    base = raw[start : start + dtype.itemsize].view(dtype)
    return restrided(base, shape, [stride * dtype.itemsize for stride in strides])


@st.composite
def numpy_arrays(draw: st.DrawFn) -> np.ndarray[Any, Any]:
    """NumPy arrays with a base that their item size divides."""
    dtype = draw(dtypes).numpy()
    shape, strides = draw(layouts())
    offset = draw(st.sampled_from(OFFSETS)) // dtype.itemsize * dtype.itemsize
    array = array_over(np.zeros(256, np.uint8), dtype, offset, shape, strides)
    if draw(st.booleans()):
        array.flags.writeable = False
    return array


@st.composite
def torch_tensors(draw: st.DrawFn) -> Any:
    """Torch tensors, which have no negative strides."""
    import torch

    dtype = draw(dtypes)
    shape, strides = draw(layouts())
    signed = np.dtype(f"i{dtype.size_bytes}")
    offset = draw(st.sampled_from(OFFSETS)) // dtype.size_bytes * dtype.size_bytes
    array = array_over(np.zeros(256, np.uint8), signed, offset, shape, tuple(map(abs, strides)))
    tensor = torch.from_numpy(array).view(getattr(torch, dtype.numpy_name))
    if dtype.is_float and not dtype.is_float8 and draw(st.booleans()):
        tensor.requires_grad_()
    return tensor


def numpy_refusals() -> list[Any]:
    """Return NumPy arrays that no launch can take: subclasses, dtypes, byte order, alignment, strides."""
    import ml_dtypes

    bytes_ = np.zeros(256, np.uint8)
    aligned = bytes_[-bytes_.ctypes.data % 64 :]
    return [
        np.ma.array([1, 2]),
        np.zeros((1, 1)).view(np.matrix),
        np.rec.array([1.0]),
        *(np.zeros(3, code) for code in (">f4", ">i2", "O", "U4", "S4", "V4", "c8", "M8[s]", "m8[s]", "g")),
        np.zeros(3, [("a", "f4")]),
        np.zeros(3, ml_dtypes.int4),
        np.zeros(3, ml_dtypes.float8_e4m3),
        aligned[1:9].view("f4"),
        aligned[4:12].view("f8"),
        np.lib.stride_tricks.as_strided(aligned[:4].view("f4"), (3,), (5,)),
        np.lib.stride_tricks.as_strided(aligned[:4].view("f4"), (3, 2), (-2, 4)),
    ]


def torch_refusals() -> list[Any]:
    """Return torch tensors whose memory is not their value, or that have none."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    class Subclass(torch.Tensor):
        pass

    plain, complex64 = torch.ones(4, 4), torch.zeros(3, dtype=torch.complex64)
    freed = torch.ones(5)
    freed.untyped_storage().resize_(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with FakeTensorMode():
            fake = torch.ones(3)
        beta = [
            torch.quantize_per_tensor(plain, 0.1, 0, torch.quint8),
            torch.quantize_per_channel(plain, torch.ones(4), torch.zeros(4, dtype=torch.int64), 0, torch.qint8),
            plain.to_sparse_csr(),
            plain.to_sparse_bsr((2, 2)),
            torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
            torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged),
        ]
    return [
        fake,
        *beta,
        torch.ones(3, device="meta"),
        torch.ones(0, device="meta"),
        plain.to_sparse(),
        plain.to_mkldnn(),
        complex64,
        complex64.conj(),
        complex64.conj().imag,
        torch._efficientzerotensor(3),
        freed,
        plain.as_subclass(Subclass),
        torch.nn.parameter.UninitializedParameter(),
        torch.zeros(3, dtype=torch.uint8).view(torch.bits8),
    ]
