from __future__ import annotations

import os

import pytest

from darter.config import (
    STEERING,
    Config,
    ProcessSettings,
    Steering,
    checked_on_drift,
    resolve_steering,
    steering_variables,
)
from darter.errors import ConfigError, DarterError


def test_an_empty_environment_gives_the_defaults() -> None:
    assert Config.from_environment({}) == Config()
    assert resolve_steering(steering_variables({})) == Steering()


def test_every_variable_is_read() -> None:
    config = Config.from_environment(
        {
            "DARTER_LOG": "recompiles, store",
            "DARTER_DUMP": "ir,asm",
            "DARTER_DUMP_DIR": "/d",
            "DARTER_VERIFY_KEYS": "1",
            "DARTER_NUM_THREADS": "3",
            "DARTER_LINE_INFO": "1",
        }
    )
    assert config == Config(frozenset({"recompiles", "store"}), frozenset({"ir", "asm"}), "/d", True, 3, True)


def test_steering_variables_are_read_live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DARTER_BOUNDS_CHECK", raising=False)
    assert not resolve_steering(steering_variables()).bounds_check
    os.environ["DARTER_BOUNDS_CHECK"] = "on"
    assert resolve_steering(steering_variables()).bounds_check
    assert set(steering_variables()) == set(STEERING)


def test_equal_meanings_resolve_equally() -> None:
    assert resolve_steering({"DARTER_INTERPRET": "0"}) == resolve_steering({"DARTER_INTERPRET": None})
    assert resolve_steering({"DARTER_ARCH": ""}) == resolve_steering({})
    assert resolve_steering({"DARTER_ARCH": "x86-64-v3"}).arch == "x86-64-v3"
    assert resolve_steering({"DARTER_ASSEMBLER": "", "DARTER_PTXAS": ""}) == Steering()
    found = resolve_steering({"DARTER_ASSEMBLER": "ptxas", "DARTER_PTXAS": "/x/ptxas"})
    assert (found.assembler, found.ptxas) == ("ptxas", "/x/ptxas")
    with pytest.raises(ConfigError, match="DARTER_ASSEMBLER is 'gas'; accepted are driver, nvjitlink, ptxas"):
        resolve_steering({"DARTER_ASSEMBLER": "gas"})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("DARTER_NUM_THREADS", "0"),
        ("DARTER_NUM_THREADS", "many"),
        ("DARTER_NUM_THREADS", "nan"),
        ("DARTER_LOG", "everything"),
        ("DARTER_DUMP", "ir,ptx?"),
        ("DARTER_VERIFY_KEYS", "maybe"),
    ],
)
def test_a_value_that_is_not_accepted_is_named(name: str, text: str) -> None:
    with pytest.raises(ConfigError, match=name) as error:
        Config.from_environment({name: text})
    assert isinstance(error.value, DarterError)
    assert "accepted are" in str(error.value)


def test_on_drift_takes_its_two_values_only() -> None:
    settings = ProcessSettings()
    assert settings.on_drift == "raise"
    settings.on_drift = "recompile"
    assert settings.on_drift == "recompile"
    with pytest.raises(ConfigError, match="'raise' and 'recompile'"):
        settings.on_drift = "ignore"  # type: ignore[assignment]
    assert settings.on_drift == "recompile"
    assert checked_on_drift("raise") == "raise"
