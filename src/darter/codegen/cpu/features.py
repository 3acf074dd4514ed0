"""What a CPU target can do: the features of its x86-64 level, and those named beyond it."""

from __future__ import annotations

from darter.errors import CompileError
from darter.target import Target

_V3 = frozenset({"avx", "avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "sse4.1", "sse4.2", "popcnt"})
_V4 = _V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
_LEVELS = {"x86-64-v3": _V3, "x86-64-v4": _V4}
NEEDED = frozenset({"avx2", "fma"})
"""Without fused multiply-adds and AVX2, LLVM would call library functions for them, which nothing provides."""


def features_of(target: Target) -> frozenset[str]:
    """Return the features that code for ``target`` may use, by LLVM's names; ``CompileError`` below x86-64-v3."""
    named = {word[1:] for word in target.features.split(",") if word.startswith("+")}
    features = _LEVELS.get(target.arch, frozenset()) | named
    missing = NEEDED - features
    if missing:
        raise CompileError(
            f"the CPU backend needs x86-64-v3; this target ({target.arch}) lacks {', '.join(sorted(missing))}"
        )
    return frozenset(features)
