"""Compiled casts give the interpreter's bits for every code of the narrow floats, every midpoint and its neighbours."""

from __future__ import annotations

import numpy as np
import pytest

from darter import dtypes as dt
from darter.ir import nodes as n, numbers
from tests.ir_builder import Builder, pointer_type
from tests.property.compiled import CompiledKernels
from tests.property.generated import register_word
from tests.property.test_conversions import NARROW, midpoints

BLOCKS = (1, 256)
"""Threads of a block: of one, whose values are all scalars in the code, and of vectors."""


def _kernel(source: dt.ScalarType, threads: int) -> n.Kernel:
    """Return a kernel that casts each element of its first buffer to every type, one buffer per type."""
    b = Builder()
    x = n.Value(pointer_type(source), "x")
    outs = [n.Value(pointer_type(target), target.name) for target in dt.ALL]
    first = b.mul(b.index(n.Index.BLOCK_IDX), b.const(dt.Int64, threads))
    place = b.add(first, b.cast(dt.Int64, b.index(n.Index.THREAD_IDX)))
    value = b.load(x, place)
    for out, target in zip(outs, dt.ALL, strict=True):
        b.store(out, place, b.cast(target, value))
    return n.Kernel(f"from_{source.name}", (x, *outs), b.block, (threads, 1, 1), 32)


def _values(source: dt.ScalarType) -> np.ndarray:
    """Return all values of a type of up to 16 bits; of wider ones those where a conversion could go wrong."""
    if source is dt.Bool:
        values = np.array([False, True])
    elif source.bits <= 16:
        values = np.arange(1 << source.bits, dtype=f"u{source.size_bytes}").view(numbers.storage(source))
    elif source.is_float:
        kind = source.numpy_name
        # Of the many midpoints of f16 and bf16 a part, the interpreter's own test has them all.
        points = np.concatenate([midpoints(dtype)[:: 1 if dtype.is_float8 else 13] for dtype in NARROW])
        with np.errstate(all="ignore"):
            powers = np.array([sign * 2.0**k for k in range(130) for sign in (1, -1)], kind)
            exact = np.concatenate([points, powers]).astype(kind)
            around = [exact, np.nextafter(exact, kind_inf(kind)), np.nextafter(exact, -kind_inf(kind))]
        around.append(np.random.default_rng(3).integers(0, 256, 1 << 14, np.uint8).view(kind))
        values = np.concatenate(around)
    else:
        near = [m << k for k in range(source.bits) for m in (1, 3, 129, 257, 1025, 2049, (1 << 24) + 1, (1 << 25) + 3)]
        near = [sign * (v + d) for v in near for d in (-1, 0, 1) for sign in (1, -1)] + [source.min, source.max]
        values = np.array([v for v in near if source.min <= v <= source.max], numbers.storage(source))
    return np.resize(values, -(-len(values) // max(BLOCKS)) * max(BLOCKS))


def kind_inf(kind: str) -> np.floating:
    return np.dtype(kind).type(np.inf)


def _wrong(source: dt.ScalarType, target: dt.ScalarType, values: np.ndarray, found: np.ndarray) -> list[str]:
    expected = numbers.cast(values, source, target)
    differs = expected.view(f"u{target.size_bytes}") != found.view(f"u{target.size_bytes}")
    if target.is_float:
        differs &= ~(np.isnan(numbers.widen(expected, target)) & np.isnan(numbers.widen(found, target)))
    return [
        f"{source.name} {register_word(values, place):#x} to {target.name}: "
        f"{register_word(found, place):#x}, not {register_word(expected, place):#x}"
        for place in np.flatnonzero(differs)[:3]
    ]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> CompiledKernels:
    kernels = [_kernel(source, threads) for threads in BLOCKS for source in dt.ALL]
    return CompiledKernels(kernels, tmp_path_factory.mktemp("conversions"))


@pytest.mark.parametrize("threads", BLOCKS)
@pytest.mark.parametrize("source", dt.ALL, ids=[dtype.name for dtype in dt.ALL])
def test_casts_to_every_type(compiled: CompiledKernels, source: dt.ScalarType, threads: int) -> None:
    values = _values(source)
    outs = [np.zeros(len(values), numbers.storage(target)) for target in dt.ALL]
    words = [values.ctypes.data, *(out.ctypes.data for out in outs)]
    number = BLOCKS.index(threads) * len(dt.ALL) + dt.ALL.index(source)
    compiled.run(number, words, (len(values) // threads, 1, 1), 0)
    with np.errstate(all="ignore"):
        wrong = [_wrong(source, target, values, out) for target, out in zip(dt.ALL, outs, strict=True)]
    assert [line for lines in wrong for line in lines] == []
