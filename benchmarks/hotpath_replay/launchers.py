"""The launchers that a window calls, by name: with empty bodies, or the real ones of ``examples/serving``."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.hotpath_replay.noop_launchers import noop_launcher

HEADS = 16
FUSED = {
    "fused_512": (512, 64, 4, True, 8, 32, "bf16", "e4m3fn", False, False),
    "fused_128": (128, 64, 4, True, 8, 32, "fp8", "e4m3fn", True, True),
}
"""``make_fused_compress_attn``'s arguments of the two geometries, by the name that a window calls them under."""

RATIO = 128
"""Tokens that an hca launcher compresses into one, and the length of its ring of states."""

BLOCK_TOKENS = 32

NAMES = {
    "qk": "qk_norm_rope_quant",
    "fused_512": "fused_compress_attn",
    "fused_128": "fused_compress_attn",
    "forward": "hca_compress_forward",
    "scatter": "hca_norm_rope_scatter",
    "softmax_8192": "softmax_8192",
    "softmax_256": "softmax_256",
}
"""The row that a launcher's calls count in."""

Launcher = Callable[..., Any]


def launchers(bodies: str) -> dict[str, Launcher]:
    """Return a launcher for each key of ``NAMES``; ``bodies`` is "noop" or "real"."""
    real = _real()
    return real if bodies == "real" else {name: noop_launcher(launcher) for name, launcher in real.items()}


def _real() -> dict[str, Launcher]:
    def make(module: str) -> Launcher:
        launcher: Launcher = getattr(importlib.import_module(f"examples.serving.{module}"), f"make_{module}")
        return launcher

    fused = make("fused_compress_attn")
    return {
        "qk": make("qk_norm_rope_quant")(H=HEADS, quant=False, fp8="e4m3fn", group=128, q_weighted=True),
        **{name: fused(*geometry) for name, geometry in FUSED.items()},
        "forward": make("hca_compress_forward")(D=512, ratio=RATIO, S=RATIO),
        "scatter": make("hca_norm_rope_scatter")(D=512, RD=64, ratio=RATIO, k_per_block=BLOCK_TOKENS),
        "softmax_8192": make("softmax")(8192, "f32"),
        "softmax_256": make("softmax")(256, "f32"),
    }


def empty_twins(made: Mapping[str, Launcher]) -> dict[str, Launcher]:
    """Return for each launcher an empty Python function with the same parameters."""
    return {name: _empty_twin(launcher) for name, launcher in made.items()}


def _empty_twin(launcher: Launcher) -> Launcher:
    parameters = ", ".join(
        name if parameter.default is inspect.Parameter.empty else f"{name}={parameter.default!r}"
        for name, parameter in inspect.signature(launcher).parameters.items()
    )
    namespace: dict[str, Any] = {}
    exec(f"def empty({parameters}): pass", namespace)  # noqa: S102 - the parameters' names are all that varies
    twin: Launcher = namespace["empty"]
    return twin
