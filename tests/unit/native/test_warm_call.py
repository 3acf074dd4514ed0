"""What a warm call must not do: allocate, run Python, keep references, or mind what happens around it."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from darter import _native
from darter.signature.annotations import Constexpr, Stream, Tensor
from darter.signature.plan import ParamKind, ParamPlan
from tests.unit.native.noop import noop, noop_state


def launcher(x: Tensor, y: Tensor, out: Tensor, n: int, C: Constexpr[int], S: Constexpr = "x", stream: Stream = None) -> None: ...  # fmt: skip  # noqa: E501


def numpy_arrays() -> list[Any]:
    return [np.zeros((4, 8), np.float32) for _ in range(3)]


def torch_tensors() -> list[Any]:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    return [torch.zeros(4, 8) for _ in range(3)]


makers = pytest.mark.parametrize("make", [numpy_arrays, torch_tensors])


@makers
def test_allocates_nothing(make: Any) -> None:
    function = noop(launcher)
    x, y, out = make()

    def call(times: int) -> int:
        before = sys.getallocatedblocks()
        for _ in range(times):
            function(x, y, out, 100, 64)
            function(x, y, out=out, C=64, n=100)
        return sys.getallocatedblocks() - before

    call(10)
    gc.disable()
    try:
        few, many = call(10), call(3000)
    finally:
        gc.enable()
    assert abs(many - few) <= 2
    assert len(function.cold.misses) == 1


@makers
def test_runs_no_python(make: Any) -> None:
    function = noop(launcher)
    arrays = make()
    function(*arrays, 100, 64)
    events: list[str] = []

    def record(frame: Any, event: str, argument: object) -> None:
        if event == "call":
            events.append(frame.f_code.co_name)

    sys.setprofile(record)
    try:
        function(*arrays, 100, 64)
    finally:
        sys.setprofile(None)
    assert events == []


@makers
def test_keeps_no_reference(make: Any) -> None:
    function = noop(launcher)
    arrays = make()
    before = [sys.getrefcount(array) for array in arrays]
    for _ in range(3):
        function(*arrays, 100, 64)
    assert [sys.getrefcount(array) for array in arrays] == before
    gone = weakref.ref(arrays[0])
    del arrays
    gc.collect()
    assert gone() is None


def test_nested_and_refused_arguments_keep_no_reference() -> None:
    array = np.zeros(4, np.float32)
    function = noop(lambda pair: None)
    pair = (array, (array, 3))
    before = sys.getrefcount(array)
    function(pair)
    function(pair)
    with pytest.raises(TypeError):
        function((array, [array]))
    assert sys.getrefcount(array) == before


def test_threads_share_a_launcher() -> None:
    function = noop(lambda x, n, k=0: None)
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            for step in range(400):
                function(np.zeros((seed % 3 + 1, step % 5), np.float32), seed, k=step)
        except BaseException as error:  # noqa: BLE001 - the main thread looks at it
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_states_cleared_during_their_own_miss() -> None:
    function = noop(lambda x: None)
    function.cold.during_miss = function._clear
    for value in (1, 1.0, True, (1, 2)):
        function(value)
    assert function._states() != []


def test_an_argument_that_changes_during_its_compile_is_read_again() -> None:
    function = noop(lambda x: None)
    array = np.zeros((4, 8), np.float32)

    def transpose() -> None:
        function.cold.during_miss = None
        array.resize((2, 2, 8), refcheck=False)

    function.cold.during_miss = transpose
    function(array)
    assert [words[1] >> 16 & 0xFF for words, _ in function._states()] == [2, 3]


class Switch:
    """Guards over one entry of a dict."""

    def __init__(self) -> None:
        self.values = {"holds": True}
        self.guards = _native.Guards(self.compare, object())

    def compare(self) -> tuple[bool, Any]:
        held = self.values["holds"]
        return held, (("dict", self.values, "holds", held),)

    def set(self, holds: bool) -> None:
        self.values["holds"] = holds


def test_a_state_whose_guards_fail_is_passed_over_until_they_hold_again() -> None:
    function = noop(lambda x: None)
    first, second = Switch(), Switch()
    function.cold.guards = first.guards
    function(1)
    old = function._prepare(1)
    first.set(False)
    function.cold.guards = second.guards
    function(1)
    assert len(function.cold.misses) == 2
    new = function._prepare(1)
    assert new is not old
    second.set(False)
    first.set(True)
    assert function._prepare(1) is old
    assert [states for _, states in function._states()] == [[new, old]]


def test_a_state_of_another_slot_count_is_refused() -> None:
    class Cold:
        def miss(self, *request: Any) -> _native.CallState:
            return noop_state(slots=7)

    plan = noop(lambda x: None).plan
    with pytest.raises(SystemError, match="7 argument slots and was given 1"):
        _native.JitFunction(lambda dispatcher, is_method: Cold(), plan)(1)


def test_more_words_and_slots_than_fit_the_stack() -> None:
    array = np.zeros((1,) * 32, np.float32)
    function = noop(lambda *, many: None)
    many = (array,) * 40 + tuple(range(900))
    function(many=many)
    function(many=many)
    assert len(function._slots(many=many)) == 40 * 65 + 900
    assert len(function.cold.misses) == 1


def test_kinds_are_numbered_as_in_python() -> None:
    assert [kind.value for kind in ParamKind] == list(range(10))
    assert ParamPlan("x", ParamKind.ANY).kind == 0
