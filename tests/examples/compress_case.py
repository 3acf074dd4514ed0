"""Arguments for the compressed-attention launchers: any geometry, plan and strides; and the check of a call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from examples.serving import cache as norms, window
from tests.examples.arrays import normal, tables
from tests.examples.tolerances import BF16, CODES, LARGEST, check_bf16, check_codes, check_f32, check_scales

Array = Any
SKIPPED = (2**31 - 1, -(2**31), -1, 12345)
"""A plan row to be skipped, whose other fields hold anything."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """The options of ``make_fused_compress_attn``, by its names."""

    D: int = 512
    RD: int = 64
    ratio: int = 4
    overlap: bool = True
    S: int = 8
    k_per_block: int = 32
    cache: str = "bf16"
    fp8: str = "e4m3fn"
    pow2: bool = False
    preshuffle: bool = False

    @property
    def K(self) -> int:
        """Tokens of a window."""
        return self.ratio * (1 + self.overlap)

    @property
    def W(self) -> int:
        """Channels of an entry."""
        return self.D * (1 + self.overlap)

    def options(self) -> dict[str, Any]:
        """Return the options by name."""
        return {name: getattr(self, name) for name in self.__slots__}


def plan_of(geometry: Geometry, rows: int, seed: int = 0, longest: int = 700, sequences: int = 3) -> Array:
    """Return a plan of ``rows`` active rows that meets every wl, pos 0 and ring wrap, with rows to skip amid them.

    Rows of one sequence have windows of their own, so that no two share a destination.
    """
    random, K = np.random.default_rng(seed), geometry.K
    chosen = [0, 1, K - 1, K]
    plan, taken = [], set()
    while len(plan) < rows:
        number, b = len(plan), int(random.integers(sequences))
        pos = int(random.integers(longest)) if number % 4 or number > 8 else int(random.integers(2 * K))
        if number == 0:
            pos = 0
        if (b, pos // geometry.ratio) in taken:
            continue
        taken.add((b, pos // geometry.ratio))
        wl = chosen[number % 4] if number < 8 else int(random.integers(K + 1))
        plan.append((int(random.integers(2 * K + 40)), b, pos, wl))
    for place in range(1, rows, 3):
        plan.insert(place + place // 3, SKIPPED)
    return np.array(plan, np.int32).reshape(-1, 4)


@dataclass
class Case:
    """Arrays for one call: ``pad`` is added to every stride; the plan has ``beyond`` rows over its capacity."""

    geometry: Geometry
    plan: Array
    weight_dtype: Any = np.float32
    pad: int = 0
    beyond: int = 0
    seed: int = 0
    longest: int = 704
    arrays: dict[str, Array] = field(init=False)

    def __post_init__(self) -> None:
        g, seed = self.geometry, self.seed
        rows = 2 * g.K + 40
        random = np.random.default_rng(seed)
        self.sequences, self.columns = 3, self.longest // g.ratio // g.k_per_block + 1
        blocks = self.sequences * self.columns + 2
        cos, sin = tables(self.longest, g.RD // 2)
        element: Any = BF16 if g.cache == "bf16" else CODES[g.fp8]
        token = g.D + (0 if g.preshuffle else self.pad)
        self.arrays = {
            "kv_in": normal(seed + 1, rows, g.W + self.pad, dtype=BF16),
            "score_in": 3 * normal(seed + 2, rows, g.W + 2 * self.pad, dtype=BF16),
            "kv_state": normal(seed + 3, 5, g.S, g.W + self.pad),
            "score_state": 3 * normal(seed + 4, 5, g.S + bool(self.pad), g.W),
            "state_slot_mapping": random.permutation(5)[: self.sequences].astype(np.int32),
            "ape": normal(seed + 5, g.ratio, g.W),
            "rms_weight": normal(seed + 6, g.D, dtype=self.weight_dtype),
            "cos": cos,
            "sin": sin,
            "kv_cache": np.full((blocks, g.k_per_block * token + self.pad), 1, element),
            "cache_scale": np.full((blocks, g.k_per_block + self.pad), 7, np.float32),
            "block_table": random.permutation(blocks)[:-2].reshape(self.sequences, self.columns).astype(np.int32),
            "kv_compressed": np.full((len(self.plan), g.D + self.pad), 7, np.float32),
        }  # fmt: skip
        self.token_stride = token
        self.flat: dict[str, Array] = {}
        self.strides = {
            "kv_in": (g.W + self.pad,),
            "score_in": (g.W + 2 * self.pad,),
            "kv_state": (g.S * (g.W + self.pad), g.W + self.pad),
            "score_state": ((g.S + bool(self.pad)) * g.W, g.W),
            "kv_cache": (g.k_per_block * token + self.pad, 0 if g.preshuffle else token),
            "cache_scale": (g.k_per_block + self.pad,),
            "block_table": (self.columns,),
            "kv_compressed": (g.D + self.pad,),
        }

    # -- calls --------------------------------------------------------------------------------------------------------

    def _given(self, name: str) -> list[Any]:
        """Return a tensor, and after it its strides; ``flat`` holds tensors that stand for others."""
        return [self.flat.get(name, self.arrays[name]), *self.strides.get(name, ())]

    def _all(self, *names: str) -> list[Any]:
        return [argument for name in names for argument in self._given(name)]

    @property
    def capacity(self) -> int:
        """Rows of the plan that a call looks at."""
        return len(self.plan) - self.beyond

    def fused(self) -> list[Any]:
        """Return the arguments of ``fused_compress_attn``."""
        scale = self._given("cache_scale") if self.geometry.cache == "fp8" else [None, 0]
        return [
            *self._all("kv_in", "score_in"), self.plan,
            *self._all("kv_state", "score_state", "state_slot_mapping", "ape", "rms_weight", "cos", "sin", "kv_cache"),
            *scale, *self._given("block_table"), self.capacity, None,
        ]  # fmt: skip

    def compress(self) -> list[Any]:
        """Return the arguments of ``hca_compress_forward``."""
        return [
            *self._all("kv_in", "score_in"), self.plan,
            *self._all("kv_state", "score_state", "state_slot_mapping", "ape", "kv_compressed"), self.capacity, None,
        ]  # fmt: skip

    def scatter(self) -> list[Any]:
        """Return the arguments of ``hca_norm_rope_scatter``."""
        return [
            *self._given("kv_compressed"), self.plan,
            *self._all("rms_weight", "cos", "sin", "kv_cache", "block_table"), self.capacity, None,
        ]  # fmt: skip

    # -- checks -------------------------------------------------------------------------------------------------------

    def _exact(self) -> tuple[Array, Array, Array]:
        """Return the active rows' numbers in the plan, and z and y of all rows below the capacity."""
        g, a, plan = self.geometry, self.arrays, self.plan[: self.capacity]
        z = window.reference(
            a["kv_in"], a["score_in"], plan, a["kv_state"], a["score_state"], a["state_slot_mapping"], a["ape"],
            g.D, g.ratio, g.overlap, g.S,
        )  # fmt: skip
        y = norms.reference_norm(z, plan, a["rms_weight"], a["cos"], a["sin"], g.ratio)
        return np.flatnonzero(plan[:, 2] >= 0), z, y

    def check_compressed(self) -> None:
        """Check z, and that nothing else was written."""
        active, z, _ = self._exact()
        found = self.arrays["kv_compressed"]
        if len(active):
            check_f32(found[active, : self.geometry.D], z[active])
        rest = found.copy()
        rest[active, : self.geometry.D] = 7
        assert (rest == 7).all()

    def check_cache(self) -> None:
        """Check the cache and its scales, and that nothing else was written."""
        g = self.geometry
        active, _, y = self._exact()
        plan = self.plan[: self.capacity]
        phys, j = norms.reference_place(plan, self.arrays["block_table"], g.ratio, g.k_per_block)
        phys, j, y = phys[active], j[active], y[active]
        d = np.arange(g.D)
        if g.preshuffle:
            within = (j[:, None] // 16) * 16 * g.D + (d // 16) * 256 + (j[:, None] % 16) * 16 + d % 16
        else:
            within = j[:, None] * self.token_stride + d
        found, scales = self.arrays["kv_cache"], self.arrays["cache_scale"]
        written = found[phys[:, None], within]
        if g.cache == "bf16":
            check_bf16(written, y)
        elif len(active):
            exact = np.maximum(np.abs(y).max(axis=-1), 1e-4) / LARGEST[g.fp8]
            check_scales(scales[phys, j], exact, g.pow2)
            check_codes(written, y / scales[phys, j][:, None].astype(np.float64), g.fp8)
            scales = scales.copy()
            scales[phys, j] = 7
        rest = found.astype(np.float32)
        rest[phys[:, None], within] = 1
        assert (rest == 1).all()
        assert (scales == 7).all()
