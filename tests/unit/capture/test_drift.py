from __future__ import annotations

from typing import Any

import pytest

from darter.capture.drift import show, show_fingerprint
from darter.capture.fingerprint import ABSENT, fingerprint
from darter.capture.record import CaptureRecord
from darter.capture.resolve import resolve
from tests.property.captured_program import load, toy_compile


@pytest.fixture
def program() -> Any:
    loaded = load("drifting_program")
    yield loaded
    loaded.unload()


def _told(program: Any, guards: Any) -> list[str]:
    return [str(difference).replace("<drifting_program>", "p.py") for difference in guards.differences()]


def test_drift_names_what_changed_where_and_from_what_to_what(program: Any) -> None:
    guards = toy_compile(program).guards
    module = program.module
    assert _told(program, guards) == []
    module.NUMBER = True
    assert _told(program, guards) == ["global 'NUMBER' in p.py:50: 3 -> True"]
    module.NUMBER = 3
    module.CONFIG["block"] = 256
    assert _told(program, guards) == ["global 'CONFIG['block']' in p.py:50: 128 -> 256"]
    module.CONFIG["block"] = 128
    program.kernel.__closure__[0].cell_contents = None
    assert _told(program, guards) == ["closure 'captured' in p.py:50: 1 -> None"]


def test_a_replaced_helper_is_one_cause(program: Any) -> None:
    guards = toy_compile(program).guards
    program.module.helper = program.module.other_helper
    (told,) = _told(program, guards)
    assert told.startswith(
        "global 'helper' in p.py:50: function helper (<drifting_program>:43)".replace("<drifting_program>", "p.py")
    )
    assert "-> function other_helper" in told


def test_changed_code_is_told_as_such(program: Any) -> None:
    guards = toy_compile(program).guards
    program.module.helper.__code__ = program.module.other_helper.__code__
    assert any("code of " in told and "as compiled -> changed" in told for told in _told(program, guards))


def test_a_record_of_another_process_tells_the_recorded_values(program: Any) -> None:
    record = CaptureRecord.from_bytes(toy_compile(program).record.to_bytes())
    program.module.NUMBER = 4
    (mismatch,) = [found for found in resolve(record, program.kernel) if found.path[-1] == ("name", "NUMBER")][:1]
    assert show_fingerprint(mismatch.recorded) == "3"
    assert show(mismatch.value) == "4"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *(
            (3, "3"),
            (True, "True"),
            (None, "None"),
            ("a", "'a'"),
            (1.5, "1.5"),
            (ABSENT, "not there"),
            ({}, "a recorded dict"),
        ),
        *(((1, 2), "a recorded tuple"), (2**70, "another recorded value"), ("x" * 300, "another recorded value")),
    ],
)
def test_fingerprints_tell_what_they_can(value: object, text: str) -> None:
    assert show_fingerprint(fingerprint(value)) == text


def test_values_are_shown_short_and_without_an_address() -> None:
    assert len(show("x" * 1000)) == 80
    assert show(object()) == "a object"
    assert show([1, 2]) == "a list of 2"
    assert show(int) == "class int"
    assert show(pytest) == "module pytest"
