"""Bad arguments through real calls: a named error each time, cold and warm, and nothing left behind."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import darter as dt
from tests.property.layouts import numpy_refusals, torch_refusals

HAS_TORCH = importlib.util.find_spec("torch") is not None


@dt.kernel
def scale_kernel(x: dt.Tensor, o: dt.Tensor, n: dt.Int64, k: dt.Int32):
    i = dt.block_idx.x * 32 + dt.thread_idx.x
    if i < n:
        o[i] = x[i] * k


def launcher() -> Any:
    @dt.jit
    def scale(x: dt.Tensor["n"], o: dt.Tensor[dt.f32, "n"], k: dt.Int32 = 2):
        scale_kernel(x, o, x.shape[0], k).launch(grid=dt.cdiv(x.shape[0], 32), block=32)

    return scale


X, OUT = np.ones(4, np.float32), np.zeros(4, np.float32)


def readonly() -> Any:
    array = np.zeros(4, np.float32)
    array.flags.writeable = False
    return array


CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any], type[Exception], str]] = [
    ("no arguments", (), {}, TypeError, "missing"),
    ("too many", (X, OUT, 1, 2), {}, TypeError, "positional argument"),
    ("unknown keyword", (X, OUT), {"j": 1}, TypeError, "'j'"),
    ("twice", (X, OUT), {"x": X}, TypeError, "argument 'x'"),
    ("broken contract", (X, OUT[:3]), {}, ValueError, "argument 'o'"),
    ("wrong rank", (X[None], OUT), {}, TypeError, "argument 'x'"),
    ("wrong dtype", (X, OUT.astype("f8")), {}, TypeError, "argument 'o'"),
    ("out of range", (X, OUT, 2**31), {}, ValueError, "argument 'k'"),
    ("a float for an int", (X, OUT, 1.0), {}, TypeError, "argument 'k'"),
    ("a bool for an int", (X, OUT, True), {}, TypeError, "argument 'k'"),
    ("a list", ([1.0] * 4, OUT), {}, TypeError, "argument 'x'"),
    ("None", (None, OUT), {}, TypeError, "argument 'x'"),
    ("a read-only output", (X, readonly()), {}, (TypeError, ValueError), "argument 'o'"),  # type: ignore[list-item]
]


def check(apply: Any, args: tuple[Any, ...], kwargs: dict[str, Any], error: Any, said: str) -> None:
    with pytest.raises(error) as caught:
        apply(*args, **kwargs)
    assert isinstance(caught.value, dt.DarterError)
    assert said in str(caught.value)


@pytest.mark.parametrize(("args", "kwargs", "error", "said"), [call[1:] for call in CALLS], ids=[c[0] for c in CALLS])
def test_refused_cold_and_warm(fresh_store: Path, args: Any, kwargs: Any, error: Any, said: str) -> None:
    apply, out = launcher(), np.zeros(4, np.float32)
    check(apply, args, kwargs, error, said)
    apply(X, out)
    before = apply.cache_info()
    for _ in range(3):
        check(apply, args, kwargs, error, said)
    assert apply.cache_info()["variants"] == before["variants"]
    apply(X, out, 3)
    assert (out == 3).all()


@pytest.mark.usefixtures("fresh_store")
def test_every_array_that_is_no_plain_memory_is_refused_warm() -> None:
    apply, out = launcher(), np.zeros(4, np.float32)
    apply(X, out)
    for value in [*numpy_refusals(), *(torch_refusals() if HAS_TORCH else [])]:
        check(apply, (value, out), {}, (TypeError, ValueError), "argument 'x'")
        check(apply, (X, value), {}, (TypeError, ValueError), "argument 'o'")
        apply(X, out)
    assert apply.cache_info()["variants"] == 1
