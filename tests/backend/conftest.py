"""The backends that the language's suite runs on: compiled CPU code, and the interpreter."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["cpu", "interpreter"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every launcher called in the test runs on this backend; arrays are numpy's on both."""
    monkeypatch.setenv("DARTER_INTERPRET", "1" if request.param == "interpreter" else "0")
    name: str = request.param
    return name
