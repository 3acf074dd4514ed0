"""A window's calls: how many, in which order, and that the empty launchers take what the real ones take."""

from __future__ import annotations

import inspect
from collections import Counter

import pytest

from benchmarks.hotpath_replay.arrays import arrays
from benchmarks.hotpath_replay.launchers import NAMES, empty_twins, launchers
from benchmarks.hotpath_replay.straight_line import straight_line
from benchmarks.hotpath_replay.window import SOFTMAX_CALLS, Call, softmax_calls, window_calls


@pytest.fixture(scope="module")
def window() -> list[Call]:
    return window_calls(arrays("numpy", "cpu"))


def test_a_window_has_the_calls_of_the_trace(window: list[Call]) -> None:
    assert Counter(NAMES[call.launcher] for call in window) == {
        "qk_norm_rope_quant": 81,
        "fused_compress_attn": 80,
        "hca_compress_forward": 41,
        "hca_norm_rope_scatter": 41,
    }


def test_layers_alternate_between_one_fused_kernel_in_two_geometries_and_two_kernels(window: list[Call]) -> None:
    order = [call.launcher for call in window]
    assert order[:6] == ["qk", "forward", "scatter", "qk", "fused_512", "fused_128"]
    assert order[6:] == (order[:6] * 40)[: len(order) - 6]


def test_a_launcher_is_called_with_several_shapes_alignments_and_types(window: list[Call]) -> None:
    made = launchers("noop")
    keys = {}
    for call in window:
        keys.setdefault(call.launcher, set()).add(made[call.launcher]._key_words(*call.arguments))
    assert {name: len(found) >= 2 for name, found in keys.items()} == dict.fromkeys(keys, True)
    assert len({call.arguments[-2] for call in window if call.launcher == "qk"}) == 5


def test_softmax_is_called_on_two_squares() -> None:
    calls = softmax_calls(arrays("numpy", "cpu"))
    assert Counter((call.launcher, call.arguments[0].shape) for call in calls) == {
        ("softmax_8192", (8192, 8192)): SOFTMAX_CALLS,
        ("softmax_256", (256, 256)): SOFTMAX_CALLS,
    }


def test_empty_launchers_have_the_keys_of_the_real_ones(window: list[Call]) -> None:
    empty, real = launchers("noop"), launchers("real")
    for call in window[:24]:
        words = [made[call.launcher]._key_words(*call.arguments) for made in (empty, real)]
        assert words[0] == words[1], call.launcher


def test_the_real_launchers_accept_the_windows_arguments(window: list[Call]) -> None:
    made = launchers("real")
    for call in {call.launcher: call for call in window}.values():
        made[call.launcher]._key_words(*call.arguments)


def test_twins_have_the_launchers_parameters() -> None:
    made = launchers("noop")
    for name, twin in empty_twins(made).items():
        assert list(inspect.signature(twin).parameters) == list(inspect.signature(made[name]).parameters)
        assert twin.__code__.co_consts == (None,)


def test_numpy_arrays_are_refused_on_a_gpu() -> None:
    with pytest.raises(ValueError, match="--arguments torch"):
        arrays("numpy", "cuda")


def test_a_straight_line_makes_its_calls_in_order_and_again() -> None:
    made = []

    def note(*given: object) -> None:
        made.append(given)

    one = object()
    run = straight_line([(note, (one, 2)), (note, ()), (note, (2, one))])
    assert run(2) > 0
    assert made == [(one, 2), (), (2, one)] * 2
