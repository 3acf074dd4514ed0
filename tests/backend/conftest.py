"""One suite on every backend there is.

``machine`` is the CPU, the interpreter, and CUDA where it is present; ``backend``, for tests whose arrays are numpy's,
the first two.
"""

from __future__ import annotations

import pytest

from tests.backend.machines import CudaMachine, HostMachine, cuda_absence


@pytest.fixture(params=["cpu", "interpret", "cuda"])
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> HostMachine | CudaMachine:
    if request.param == "interpret":
        monkeypatch.setenv("DARTER_INTERPRET", "1")
    if request.param != "cuda":
        return HostMachine(request.param)
    if (reason := cuda_absence()) is not None:
        pytest.skip(reason)
    return CudaMachine()


@pytest.fixture
def cuda() -> CudaMachine:
    if (reason := cuda_absence()) is not None:
        pytest.skip(reason)
    return CudaMachine()


@pytest.fixture(params=["cpu", "interpreter"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every launcher called in the test runs on this backend; arrays are numpy's on both."""
    monkeypatch.setenv("DARTER_INTERPRET", "1" if request.param == "interpreter" else "0")
    name: str = request.param
    return name
