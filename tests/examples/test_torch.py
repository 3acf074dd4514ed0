"""The launchers on torch's CPU tensors, bf16 and fp8 among them: the memory is that of the arrays that are checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from examples.serving import softmax
from examples.serving.fused_compress_attn import make_fused_compress_attn
from examples.serving.qk_norm_rope_quant import make_qk_norm_rope_quant
from tests.examples.arrays import normal
from tests.examples.compress_case import Case, Geometry, plan_of
from tests.examples.on_cuda import plain_tensor
from tests.examples.test_qk_norm_rope_quant import Case as QkCase
from tests.examples.tolerances import BF16, check_bf16

pytest.importorskip("torch")


def call(launcher: Any, arguments: list[Any]) -> None:
    launcher(*(plain_tensor(value) if isinstance(value, np.ndarray) else value for value in arguments))


def test_rows() -> None:
    x = normal(0, 5, 130, dtype=BF16)
    out = np.zeros_like(x)
    call(softmax.make_softmax(130, "bf16"), [x, out, 5, None])
    check_bf16(out, softmax.reference(x))


@pytest.mark.parametrize("fp8", ["e4m3fn", "e4m3fnuz"])
def test_codes(fp8: str) -> None:
    case = QkCase(5, 2, True, fp8, 64, True)
    call(make_qk_norm_rope_quant(2, True, fp8, 64, True), case.arguments())
    case.check()
    g = Geometry(128, 64, 4, True, 8, 32, "fp8", fp8, True, True)
    fused = Case(g, plan_of(g, 5))
    call(make_fused_compress_attn(**g.options()), fused.fused())
    fused.check_cache()
