"""What ``darter demo`` runs: launchers of ``examples/``, arrays for them, and numpy's answers to check against."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

Array = Any
Arrays = dict[str, Array]
"""Arguments by parameter name."""

SMALL = (4, 128)
"""Rows and columns of the arrays whose calls are timed: so few that the host's work is most of a call."""


@dataclass(frozen=True, slots=True)
class DemoCase:
    """One launcher.

    ``pick`` takes the launcher from the example's module, ``make(rows, columns)`` returns its arguments, and
    ``reference(arguments)`` what some of them must hold after the call, computed by numpy from what they hold before.
    The two agree within ``tolerance``, relative and absolute.
    """

    title: str
    module: str
    pick: Callable[[ModuleType], Any]
    make: Callable[[int, int], Arrays]
    reference: Callable[[Arrays], Arrays]
    tolerance: float


def demo_cases() -> list[DemoCase]:
    """Return the cases in the order that they are shown in."""
    return [
        DemoCase("vector add", "vector_add", lambda m: m.add, _make_add, _add, 0.0),
        DemoCase("strided, broadcast views", "strided", lambda m: m.scale_shift, _make_strided, _scale_shift, 1e-6),
        DemoCase("SwiGLU, bf16", "swiglu", lambda m: m.swiglu, _make_swiglu, _swiglu, 8e-3),
        DemoCase("two kernels: RMS norm", "residual_norm", lambda m: m.residual_norm, _make_norm, _norm, 1e-4),
        DemoCase("method kernel", "scaled_layer", lambda m: m.ScaledLayer(1.5, 0.25), _make_layer, _layer, 0.0),
        DemoCase("contracts: rotary", "contracts", lambda m: m.rotate, _make_rotate, _rotate, 1e-5),
    ]


def to_torch(arguments: Arrays) -> Arrays:
    """Return the same arrays as torch tensors that share their memory; anything else stays."""
    import torch

    def convert(value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        if value.dtype.name == "bfloat16":
            return torch.from_numpy(value.view(np.int16)).view(torch.bfloat16)
        return torch.from_numpy(value)

    return {name: convert(value) for name, value in arguments.items()}


def _random(*shape: int) -> Array:
    return np.random.default_rng(0).standard_normal(shape, np.float32)


def _make_add(rows: int, columns: int) -> Arrays:
    x = _random(rows * columns)
    return {"x": x, "y": x[::-1].copy(), "out": np.empty_like(x)}


def _add(arguments: Arrays) -> Arrays:
    return {"out": arguments["x"] + arguments["y"]}


def _make_strided(rows: int, columns: int) -> Arrays:
    """A transposed array, a row and a column that are broadcast (stride 0), and every second column of an output."""
    return {
        "x": _random(columns, rows).T,
        # Not np.broadcast_to, whose views are read-only: torch warns about those.
        "scale": np.lib.stride_tricks.as_strided(_random(columns), (rows, columns), (0, 4)),
        "shift": np.lib.stride_tricks.as_strided(_random(rows), (rows, columns), (4, 0)),
        "out": np.empty((rows, 2 * columns), np.float32)[:, ::2],
    }


def _scale_shift(arguments: Arrays) -> Arrays:
    return {"out": arguments["x"] * arguments["scale"] + arguments["shift"]}


def _bf16(array: Array) -> Array:
    import ml_dtypes

    return array.astype(ml_dtypes.bfloat16)


def _make_swiglu(rows: int, columns: int) -> Arrays:
    gate = _bf16(_random(rows, columns))
    return {"gate": gate, "up": gate[::-1].copy(), "out": np.empty_like(gate)}


def _swiglu(arguments: Arrays) -> Arrays:
    gate, up = arguments["gate"].astype(np.float32), arguments["up"].astype(np.float32)
    return {"out": _bf16(gate / (1 + np.exp(-gate)) * up)}


def _make_norm(rows: int, columns: int) -> Arrays:
    x = _random(rows, columns)
    return {
        "x": x,
        "residual": x * np.float32(0.5),
        "weight": _random(columns),
        "inverse_rms": np.empty(rows, np.float32),
        "out": np.empty_like(x),
    }


def _norm(arguments: Arrays) -> Arrays:
    total = arguments["x"] + arguments["residual"]
    inverse = 1 / np.sqrt(np.mean(total.astype(np.float64) ** 2, axis=1) + 1e-6)
    return {"residual": total, "out": total * inverse[:, None].astype(np.float32) * arguments["weight"]}


def _make_layer(rows: int, columns: int) -> Arrays:
    x = _random(rows * columns)
    return {"x": x, "out": np.empty_like(x)}


def _layer(arguments: Arrays) -> Arrays:
    return {"out": np.clip(arguments["x"], np.float32(-1.5), np.float32(1.5)) * np.float32(0.25)}


def _make_rotate(rows: int, columns: int) -> Arrays:
    """Heads of 128 elements; as many of them as the columns have room for, at least one."""
    heads = max(1, columns // 128)
    angle = np.arange(rows, dtype=np.float32)[:, None] * np.exp(-np.arange(64, dtype=np.float32) / 8)
    q = _random(rows, heads, 128)
    return {"q": q, "cos": np.cos(angle), "sin": np.sin(angle), "out": np.empty_like(q)}


def _rotate(arguments: Arrays) -> Arrays:
    q, cos, sin = arguments["q"], arguments["cos"][:, None], arguments["sin"][:, None]
    a, b = q[..., :64], q[..., 64:]
    return {"out": np.concatenate((a * cos - b * sin, a * sin + b * cos), axis=-1)}
