"""Every launcher of ``examples/`` as the front end makes it for a CUDA device: the demo's and the serving ones."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from darter.cli.demo_cases import DemoCase, demo_cases
from darter.ir.nodes import Module
from examples.scaled_layer import ScaledLayer
from examples.serving import rmsnorm, softmax
from examples.serving.fused_compress_attn import make_fused_compress_attn
from examples.serving.hca_compress_forward import make_hca_compress_forward
from examples.serving.hca_norm_rope_scatter import make_hca_norm_rope_scatter
from examples.serving.qk_norm_rope_quant import make_qk_norm_rope_quant
from tests.examples.arrays import normal
from tests.examples.compress_case import Case, Geometry, plan_of
from tests.examples.test_qk_norm_rope_quant import Case as QkCase
from tests.examples.tolerances import BF16
from tests.unit.frontend import harness

_GEOMETRY = Geometry(128, 64, 4, True, 8, 32, "fp8", "e4m3fnuz", True, True)


def _demo(case: DemoCase) -> Module:
    module = importlib.import_module(f"examples.{case.module}")
    launcher, arguments = case.pick(module), case.make(4, 128)
    if isinstance(launcher, ScaledLayer):
        call = ScaledLayer.__dict__["__call__"].__wrapped__
        return harness.traced(call, launcher, *arguments.values(), owner=ScaledLayer, target=harness.GPU)
    return _traced(launcher, *arguments.values())


def _traced(launcher: Any, *arguments: Any) -> Module:
    return harness.traced(launcher.__wrapped__, *arguments, target=harness.GPU)


def _rows(make: Callable[..., Any], N: int, dtype: str, *extra: Any) -> Module:
    x = normal(0, 3, N, dtype=np.float32 if dtype == "f32" else BF16)
    return _traced(make(N, dtype), x, *extra, x, 3, None)


def _qk() -> Module:
    case = QkCase(3, 2, True, "e4m3fn", 32, True)
    return _traced(make_qk_norm_rope_quant(2, True, "e4m3fn", 32, True), *case.arguments())


def _fused() -> Module:
    case = Case(_GEOMETRY, plan_of(_GEOMETRY, 6), BF16, pad=2)
    return _traced(make_fused_compress_attn(**_GEOMETRY.options()), *case.fused())


def _compress() -> Module:
    g = Geometry(130, 20, 20, False, 21, 7)
    return _traced(make_hca_compress_forward(D=g.D, ratio=g.ratio, S=g.S), *Case(g, plan_of(g, 5)).compress())


def _scatter() -> Module:
    g = Geometry(512, 64, 128, False, 128, 4)
    launcher = make_hca_norm_rope_scatter(D=g.D, RD=g.RD, ratio=g.ratio, k_per_block=g.k_per_block)
    case = Case(g, plan_of(g, 5))
    case.compress()
    return _traced(launcher, *case.scatter())


_MAKERS: dict[str, Callable[[], Module]] = {
    **{case.module: functools.partial(_demo, case) for case in demo_cases()},
    "softmax_8192_bf16": functools.partial(_rows, softmax.make_softmax, 8192, "bf16"),
    "softmax_50000_f32": functools.partial(_rows, softmax.make_softmax, 50000, "f32"),
    "rmsnorm_bf16": functools.partial(_rows, rmsnorm.make_rmsnorm, 8192, "bf16", normal(1, 8192, dtype=BF16)),
    "qk_norm_rope_quant": _qk,
    "fused_compress_attn": _fused,
    "hca_compress_forward": _compress,
    "hca_norm_rope_scatter": _scatter,
}
NAMES = tuple(_MAKERS)


@functools.cache
def module_of(name: str) -> Module:
    """Return the verified module of one launcher."""
    return _MAKERS[name]()
