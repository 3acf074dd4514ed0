"""The command line's entry: what darter refuses is a message, not a traceback."""

from __future__ import annotations

import sys

import pytest

from darter.cli import main
from darter.errors import DriverError


def test_a_refusal_is_one_message_and_a_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(**options: object) -> None:
        raise DriverError("no CUDA driver")

    monkeypatch.setattr(main, "app", refuse)
    with pytest.raises(SystemExit) as caught:
        main.main()
    assert caught.value.code == 1
    assert capsys.readouterr().err == "darter: no CUDA driver\n"


def test_the_usage_calls_the_command_by_its_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/main.py", "--help"])
    with pytest.raises(SystemExit):
        main.main()
    assert "Usage: darter [OPTIONS] COMMAND" in capsys.readouterr().out
