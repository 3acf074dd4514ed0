"""The calls of one window, in the order that the layers of a model make them, and the arguments of each.

81 layers: every one calls ``qk_norm_rope_quant``; 40 of them then ``fused_compress_attn`` in two geometries, the 41
between them ``hca_compress_forward`` and ``hca_norm_rope_scatter``.  Steps of decoding and chunks of prefill alternate
over the layers, so that a launcher sees several specialisations: rows that begin aligned or not, weights of two types.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.hotpath_replay.arrays import Array, Arrays
from benchmarks.hotpath_replay.launchers import BLOCK_TOKENS, FUSED, HEADS, RATIO

LAYERS = 81
HEAD_SIZE = 512
ROTATED = 64
POSITIONS = 8192
SEQUENCES = 64
SOFTMAX_CALLS = 81
"""Calls of each softmax beside the window: as many as of the most frequent launcher in it."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call: which launcher (a key of ``launchers.NAMES``), with which arguments, all positional."""

    launcher: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Batch:
    """What one step of serving computes on: new tokens of several sequences, ``offset`` elements into their rows."""

    tokens: int
    sequences: int
    offset: int


BATCHES = (Batch(1, 1, 0), Batch(256, 4, 0), Batch(16, 16, 4), Batch(1024, 2, 0), Batch(64, 64, 0))
"""Decoding with 1, 16 and 64 sequences, prefill chunks of 256 and 1024 tokens; one whose rows begin unaligned."""


@dataclass(frozen=True, slots=True)
class Shared:
    """Arrays that all layers use."""

    cos: Array
    sin: Array
    slots: Array
    blocks: Array
    states: dict[str, tuple[Array, Array]]
    caches: dict[str, Array]
    scale: Array


def window_calls(make: Arrays) -> list[Call]:
    """Return the 243 calls of a window."""
    shared = _shared(make)
    batches = [_batch_arrays(make, batch) for batch in BATCHES]
    calls: list[Call] = []
    for layer in range(LAYERS):
        calls += _layer_calls(make, layer, shared, batches[layer % len(batches)])
    return calls


def softmax_calls(make: Arrays) -> list[Call]:
    """Return the calls of the two softmax launchers, in place."""
    calls = []
    for name, size in (("softmax_8192", 8192), ("softmax_256", 256)):
        matrix = make.empty((size, size), "f32")
        calls += [Call(name, (matrix, matrix, size, None))] * SOFTMAX_CALLS
    return calls


def _layer_calls(make: Arrays, layer: int, shared: Shared, batch: dict[str, Any]) -> Iterator[Call]:
    weights = [make.empty((HEAD_SIZE,), "bf16") for _ in range(2)]
    tokens = batch["tokens"]
    q, kv, kv_stride = batch["q"], batch["kv"], batch["kv_stride"]
    pointers = (q, kv, *weights, shared.cos, shared.sin, batch["positions"], batch["q_out"], batch["kv_out"])
    yield Call("qk", (*pointers, None, None, kv_stride, tokens, None))
    if layer % 2:
        for name, geometry in FUSED.items():
            yield Call(name, _fused_arguments(make, layer, name, geometry[0], shared, batch))
        return
    kv_in, score_in, stride = batch["forward"]
    states = _state_arguments(shared, "forward")
    ape = make.empty((RATIO, HEAD_SIZE), "f32")
    compressed, plan, count = batch["compressed"], batch["plan"], batch["plan_rows"]
    inputs = (kv_in, stride, score_in, stride, plan)
    yield Call("forward", (*inputs, *states, shared.slots, ape, compressed, HEAD_SIZE, count, None))
    norm = make.empty((HEAD_SIZE,), _weight_type(layer))
    cache = shared.caches["scatter"]
    blocks = (cache, BLOCK_TOKENS * HEAD_SIZE, HEAD_SIZE, shared.blocks, _BLOCKS)
    yield Call("scatter", (compressed, HEAD_SIZE, plan, norm, shared.cos, shared.sin, *blocks, count, None))


def _fused_arguments(
    make: Arrays, layer: int, name: str, channels: int, shared: Shared, batch: dict[str, Any]
) -> tuple[Any, ...]:
    kv_in, score_in, stride = batch[name]
    ape = make.empty((4, 2 * channels), "f32")
    norm = make.empty((channels,), _weight_type(layer))
    fp8 = name == "fused_128"
    cache = (shared.caches[name], BLOCK_TOKENS * channels, channels)
    scale = (shared.scale, BLOCK_TOKENS) if fp8 else (None, 0)
    inputs = (kv_in, stride, score_in, stride, batch["plan"], *_state_arguments(shared, name), shared.slots, ape, norm)
    return (*inputs, shared.cos, shared.sin, *cache, *scale, shared.blocks, _BLOCKS, batch["plan_rows"], None)


_BLOCKS = POSITIONS // 4 // BLOCK_TOKENS
"""Blocks of compressed tokens that a sequence may have."""


def _weight_type(layer: int) -> str:
    return "bf16" if layer % 4 < 2 else "f32"


def _state_arguments(shared: Shared, name: str) -> tuple[Any, ...]:
    kv, score = shared.states[name]
    strides = int(kv.shape[1] * kv.shape[2]), int(kv.shape[2])
    return (kv, *strides, score, *strides)


def _shared(make: Arrays) -> Shared:
    angles = [make.empty((POSITIONS, ROTATED // 2), "bf16") for _ in range(2)]
    # (ring length, channels) of each launcher's states
    rings = {"fused_512": (8, 1024), "fused_128": (8, 256), "forward": (RATIO, HEAD_SIZE)}
    states = {
        name: (make.empty((SEQUENCES, *ring), "f32"), make.empty((SEQUENCES, *ring), "f32"))
        for name, ring in rings.items()
    }
    blocks = SEQUENCES * _BLOCKS
    caches = {
        "fused_512": make.empty((blocks, BLOCK_TOKENS, 512), "bf16"),
        "fused_128": make.empty((blocks, BLOCK_TOKENS, 128), "e4m3fn"),
        "scatter": make.empty((blocks, BLOCK_TOKENS, HEAD_SIZE), "bf16"),
    }
    table = np.arange(blocks, dtype=np.int32).reshape(SEQUENCES, _BLOCKS)
    slots = make.copied(np.arange(SEQUENCES, dtype=np.int32)[::-1].copy())
    return Shared(*angles, slots, make.copied(table), states, caches, make.empty((blocks, BLOCK_TOKENS), "f32"))


def _batch_arrays(make: Arrays, batch: Batch) -> dict[str, Any]:
    """Return the arrays that depend on a batch, by name; inputs are (kv_in, score_in, row stride)."""
    tokens = batch.tokens
    plan = _plan(batch)
    joint = make.empty((tokens, HEAD_SIZE + 64), "bf16")
    arrays: dict[str, Any] = {
        "tokens": tokens,
        "q": make.empty((tokens, HEADS, HEAD_SIZE), "bf16"),
        "kv": joint[:, batch.offset : batch.offset + HEAD_SIZE],
        "kv_stride": HEAD_SIZE + 64,
        "positions": make.copied(np.arange(tokens, dtype=np.int64)),
        "q_out": make.empty((tokens, HEADS, HEAD_SIZE), "bf16"),
        "kv_out": make.empty((tokens, HEAD_SIZE), "bf16"),
        "plan": make.copied(plan),
        "plan_rows": len(plan),
        "compressed": make.empty((len(plan), HEAD_SIZE), "f32"),
    }
    for name, width in (("fused_512", 1024), ("fused_128", 256), ("forward", HEAD_SIZE)):
        # One projection gives both, side by side.
        both = make.empty((tokens, 2 * width + 8), "bf16")
        first = batch.offset
        arrays[name] = (both[:, first : first + width], both[:, first + width : first + 2 * width], 2 * width + 8)
    return arrays


def _plan(batch: Batch) -> np.ndarray:
    """Return rows (input row, sequence, position, entries from state): one for each whole group of 4 tokens or less."""
    each = batch.tokens // batch.sequences
    rows = []
    for sequence in range(batch.sequences):
        step = min(4, each)
        ends = range(step - 1, each, step)
        rows += [(sequence * each + last, sequence, 2048 - each + last, 0 if each > 1 else 4) for last in ends]
    return np.array(rows, np.int32)
