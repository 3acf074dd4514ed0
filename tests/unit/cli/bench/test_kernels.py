"""``darter bench kernels``: what it refuses, and how its ratios are made."""

from __future__ import annotations

import numpy as np
from typer.testing import CliRunner

from darter.cli.bench import cpu_kernels
from darter.cli.main import app


def test_a_backend_that_cannot_be_measured_is_refused() -> None:
    result = CliRunner().invoke(app, ["bench", "kernels", "--backend", "tpu"])
    assert result.exit_code == 2
    assert "cannot be measured" in result.output


def test_a_ratio_is_the_median_over_runs_that_followed_each_other() -> None:
    row = cpu_kernels._ratio("a/over_b", {"a": [1.0, 2.0, 9.0], "b": [2.0, 2.0, 3.0]}, "a", "b")
    assert (row.value, row.more["min_ratio"], row.more["other_ms"]["median"]) == (1.0, 0.5, 2.0)


def test_each_candidate_runs_once_a_round_in_turning_order() -> None:
    order: list[str] = []
    times = cpu_kernels._interleaved({name: lambda name=name: order.append(name) for name in ("a", "b")}, 2)
    assert order == ["a", "b", "b", "a"]
    assert {name: len(found) for name, found in times.items()} == {"a": 2, "b": 2}


def test_numpys_rows_are_a_softmax_whatever_is_taken_at_a_time() -> None:
    x = np.random.default_rng(0).standard_normal((10, 7), np.float32)
    expected = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    for rows in (1, 4, 16):
        out = np.empty_like(x)
        cpu_kernels._numpy_softmax(x, out, rows)()
        np.testing.assert_allclose(out, expected, rtol=1e-5)
