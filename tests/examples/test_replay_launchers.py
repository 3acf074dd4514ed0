"""The replay's launchers that do nothing take what the serving launchers take: their times are of the same calls."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from benchmarks.hotpath_replay.launchers import NAMES, launchers


def _parameters(launcher: Any) -> list[tuple[str, Any]]:
    return [(name, parameter.default) for name, parameter in inspect.signature(launcher).parameters.items()]


@pytest.mark.parametrize("name", NAMES)
def test_same_parameters(name: str) -> None:
    assert _parameters(launchers("noop")[name]) == _parameters(launchers("real")[name])
