"""Group C of the public failure cases, over-specialisation and recompile storms: what the key alone decides."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import darter.dtypes as dt
from darter.errors import UnkeyableError
from darter.signature.annotations import Constexpr, Stream, Tensor
from darter.signature.describe import describe
from darter.signature.keyrecord import canonical
from darter.signature.planner import plan_signature
from darter.signature.words import full_key


def number(_: object) -> int:
    return 1


def test_C01_a_zero_dimensional_tensor_is_no_compile_time_value() -> None:
    def function(MAXLEN: Constexpr): ...

    zero_d: list[Any] = [np.array(128), np.arange(3)[1, ...]]
    if importlib.util.find_spec("torch") is not None:
        zero_d.append(importlib.import_module("torch").tensor(128))
    for value in zero_d:
        with pytest.raises(UnkeyableError, match=r"argument 'MAXLEN': .*x\.item\(\)"):
            describe(plan_signature(function, owner=False), (value,))


def test_C03_no_size_of_a_problem_makes_a_new_variant() -> None:
    def function(x: Tensor, n: dt.Int64, m): ...

    plan = plan_signature(function, owner=False)
    raw = np.zeros(4096, np.uint8)
    memory = raw[-raw.ctypes.data % 64 :].view(np.uint8)
    seen = {full_key(plan, (memory[:n], n, n), number) for n in (0, 1, 2, 3, 15, 16, 17, 1000)}
    assert len(seen) == 1


PROBE = """
import enum, hashlib, sys
from typing import NamedTuple
import numpy as np
import darter.dtypes as dt
from darter.signature.annotations import Constexpr
from darter.signature.describe import describe
from darter.signature.keyrecord import canonical
from darter.signature.planner import plan_signature

class Mode(enum.Enum):
    FAST, SLOW = "fast", "slow"
class Pair(NamedTuple):
    left: object
    right: object
class Helper:
    scale: Constexpr[float] = 1.5
def helper(): ...
def function(x, helper, C: Constexpr, D: Constexpr): ...

raw = np.zeros(256, np.uint8)
x = raw[-raw.ctypes.data % 64 :][:64].view(np.float32)
arguments = (x, Helper(), (frozenset({"a", "b", Mode.FAST}), helper, Mode), Pair(dt.bf16, {1}.__class__))
described = describe(plan_signature(function, owner=False), arguments).descriptors
digest = hashlib.sha256()
for name, facts in described.items():
    digest.update(canonical(facts, lambda function: b"fingerprint of " + function.__qualname__.encode()))
print(digest.hexdigest())
"""


def test_C04_C06_disk_keys_are_functions_of_content(tmp_path: Path) -> None:
    """The same in every process, whatever the hash seed, the working directory and the addresses of objects."""
    digests = set()
    source = str(Path(sys.modules["darter"].__file__ or "").parents[1])
    for seed in ("0", "1", "2"):
        directory = tmp_path / seed
        directory.mkdir()
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": source}
        done = subprocess.run(
            [sys.executable, "-c", PROBE], env=environment, cwd=directory, capture_output=True, text=True, check=True
        )
        digests.add(done.stdout)
    assert len(digests) == 1


def test_C08_streams_do_not_key() -> None:
    class Framework:
        cuda_stream = 77

    class Protocol:
        def __cuda_stream__(self) -> tuple[int, int]:
            return (0, 5)

    def function(n: dt.Int32, stream: Stream = None): ...

    plan = plan_signature(function, owner=False)
    streams = (None, 0, 1 << 40, Framework(), Protocol())
    assert len({full_key(plan, (1, stream), number) for stream in streams}) == 1
    written = {canonical(describe(plan, (1, stream)).descriptors["stream"], lambda _: b"") for stream in streams}
    assert len(written) == 1


def test_C10_describing_a_call_changes_nothing() -> None:
    def function(x, options, C: Constexpr): ...

    plan = plan_signature(function, owner=False)
    arguments = (np.zeros((3, 4)), (1, (2.0,)), ("a", (1, 2)))
    first = describe(plan, arguments)
    keys = [full_key(plan, arguments, number) for _ in range(3)]
    assert len(set(keys)) == 1
    assert describe(plan, arguments).descriptors == first.descriptors
