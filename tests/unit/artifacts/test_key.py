from __future__ import annotations

import enum
import subprocess
import sys

import pytest

from darter.target import Target
from tests.artifact_samples import sample_key


class Colour(enum.IntEnum):
    RED = 1


def test_every_part_changes_the_record() -> None:
    changes: list[dict[str, object]] = [
        {},
        {"source": "def add(x): pass"},
        {"function": "model:add2"},
        {"owner": "model:Layer"},
        {"descriptors": (("x", ("tensor", 11, 1, 0, True, False)),)},
        {"options": (("fast_math", True),)},
        {"environment": {"DARTER_BOUNDS_CHECK": "1"}},
        {"target": Target("cpu", "x86-64-v3", "", 32)},
        {"target": Target("hip", "x86-64-v3", "+avx2", 32)},
        {"toolchain": "1" * 64},
    ]
    records = {sample_key(**change).data for change in changes}
    assert len(records) == len(changes)
    assert len({sample_key(**change).digest for change in changes}) == len(changes)


def test_values_that_are_equal_in_python_are_told_apart() -> None:
    values = [
        None,
        False,
        True,
        0,
        1,
        "",
        "1",
        b"",
        b"1",
        (),
        (1,),
        ((1,),),
        (1, 1),
        ("1",),
        1 << 70,
        hex(1 << 70),
        -(1 << 70),
    ]
    records = {sample_key(options=value).data for value in values}
    assert len(records) == len(values)


@pytest.mark.parametrize("value", [1.5, Colour.RED, [1], {"a": 1}, object, (1, (2, 3.0))], ids=str)
def test_what_has_no_canonical_spelling_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="a key record cannot hold"):
        sample_key(options=value)


def test_long_integers_and_lone_surrogates_have_a_spelling() -> None:
    assert sample_key(options=10**5000).data != sample_key(options=10**5000 + 1).data
    assert sample_key(source="'\ud800'").data != sample_key(source="'\ud801'").data


def test_environment_is_keyed_whatever_its_order() -> None:
    assert sample_key(environment={"A": "1", "B": "2"}) == sample_key(environment={"B": "2", "A": "1"})


def test_the_digest_is_the_same_in_another_process_with_another_hash_seed() -> None:
    program = "from tests.artifact_samples import sample_key; print(sample_key().digest)"
    digests = set()
    for seed in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(done.stdout.strip())
    assert digests == {sample_key().digest}
