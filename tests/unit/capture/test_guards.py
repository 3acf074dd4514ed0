from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import types
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from darter import _native
from darter.capture.baseline import Baseline, install
from darter.capture.fingerprint import ABSENT
from darter.capture.recorder import Recorder
from darter.capture.steps import roots
from darter.errors import CaptureRaceError
from tests.property.captured_program import ENVIRONMENT_NAME, Program, load, toy_compile


@pytest.fixture
def program() -> Any:
    loaded = load("guarded_program")
    yield loaded
    loaded.unload()


def _set_cell(m: Any) -> None:
    m.kernel.__closure__[0].cell_contents = 2


def _new_class(m: Any) -> None:
    m.THING.__class__ = m.Other


def _new_bases(m: Any) -> None:
    m.Derived.__bases__ = (m.Other,)


def _new_code(m: Any) -> None:
    m.helper.__code__ = m.other_helper.__code__


def _read_mro(r: Recorder, k: types.FunctionType) -> None:
    r.attribute(r.name(k, "Derived"), "scale")


Read = Callable[[Recorder, types.FunctionType], Any]

# Per kind of watch: one read that needs it, one change that nothing else can notice.
KINDS: dict[str, tuple[Read, Callable[[Any], None]]] = {
    "dict": (lambda r, k: r.name(k, "NUMBER"), lambda m: setattr(m, "NUMBER", 4)),
    "cell": (lambda r, k: r.name(k, "captured"), _set_cell),
    "code": (lambda r, k: r.function(r.name(k, "helper")), _new_code),
    "defaults": (lambda r, k: r.function(r.name(k, "helper")), lambda m: setattr(m.helper, "__defaults__", (3,))),
    "kwdefaults": (
        lambda r, k: r.function(r.name(k, "helper")),
        lambda m: setattr(m.helper, "__kwdefaults__", {"c": 4}),
    ),
    "own": (lambda r, k: r.attribute(r.name(k, "Derived"), "scale"), lambda m: setattr(m.Derived, "scale", 4)),
    "mro": (_read_mro, lambda m: (setattr(m.Other, "scale", 9), _new_bases(m))[0]),
    "type": (lambda r, k: r.attribute(r.name(k, "THING"), "width"), _new_class),
    "field": (lambda r, k: r.attribute(r.name(k, "THING"), "width"), lambda m: setattr(m.THING, "width", 6)),
    "element": (lambda r, k: r.item(r.name(k, "ITEMS"), 0), lambda m: m.ITEMS.__setitem__(0, 2)),
    "length": (lambda r, k: r.length(r.name(k, "ITEMS")), lambda m: m.ITEMS.append(2)),
    "keys": (lambda r, k: r.items(r.name(k, "ORDERED")), lambda m: m.ORDERED.update(c=3)),
}


def _guards(program: Program, read: Read, without: str | None) -> Any:
    recorder = Recorder(program.kernel)
    read(recorder, program.kernel)
    baseline = Baseline(recorder.finish(), roots(program.kernel))

    def cold() -> tuple[bool, Any]:
        holds, watches = baseline()
        return holds, [watch for watch in watches if watch[0] != without]

    return _native.Guards(cold, ABSENT)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_guard_notices_what_no_other_does(program: Program, kind: str) -> None:
    """With the kind taken out the change goes unnoticed, so the first assertion is what holds the kind in place."""
    read, change = KINDS[kind]
    guards, blind = _guards(program, read, None), _guards(program, read, kind)
    assert guards.holds()
    assert blind.holds()
    change(program.module)
    assert not guards.holds()
    assert blind.holds()


def test_a_toy_compile_needs_every_kind(program: Program) -> None:
    compiled = toy_compile(program)
    assert {watch[0] for watch in compiled.guards.cold()[1]} == set(KINDS)


def test_an_unknown_or_misshapen_watch_is_refused() -> None:
    for watch in (
        ("nothing", {}, 1, 2),
        ("dict", [], "a", 1),
        ("cell", 1, 2),
        ("element", [], -1, 1),
        (),
        1,
        ("code", 1, 2),
    ):
        with pytest.raises(TypeError, match="not a watch"):
            _native.Guards(lambda watch=watch: (True, [watch]), ABSENT)


def test_an_exception_of_the_cold_side_is_a_no_and_is_not_lost() -> None:
    fail = False

    def cold() -> tuple[bool, Any]:
        if fail:
            raise OSError("gone")
        return True, [("dict", watched, "a", 1)]

    watched = {"a": 1}
    guards = _native.Guards(cold, ABSENT)
    assert guards.holds()
    fail = True
    watched["a"] = 2
    assert not guards.holds()
    fail = False
    watched["a"] = 1
    assert guards.holds()


def test_the_cold_side_is_asked_once_per_state(program: Program) -> None:
    calls = 0
    recorder = Recorder(program.kernel)
    recorder.name(program.kernel, "NUMBER")
    baseline = Baseline(recorder.finish(), roots(program.kernel))

    def cold() -> tuple[bool, Any]:
        nonlocal calls
        calls += 1
        return baseline()

    guards = _native.Guards(cold, ABSENT)
    values = (3, 10**6)
    for _ in range(50):
        for value in values:
            program.module.NUMBER = value
            assert guards.holds() == (value == 3)
    assert calls == 2


def test_stores_to_other_names_ask_nothing(program: Program) -> None:
    compiled = toy_compile(program)
    before = compiled.guards.cold
    calls = []
    guards = _native.Guards(lambda: (calls.append(1), before())[1], ABSENT)
    for number in range(100):
        program.module.UNRELATED = number
        setattr(program.module, f"NEW_{number}", number)
        assert guards.holds()
    assert calls == [1]


def test_acceptance_lasts_until_the_state_changes_again(program: Program) -> None:
    guards = toy_compile(program).guards
    guards.accept()
    assert not guards.accepted  # there is nothing to accept
    program.module.NUMBER = 4
    assert not guards.accepted
    guards.accept()
    assert guards.accepted
    assert not guards.holds()
    program.module.NUMBER = 5
    assert not guards.accepted
    program.module.NUMBER = 3
    assert guards.holds()


def test_a_changed_value_during_a_compile_is_never_published(program: Program) -> None:
    """A thread changes a captured global all through 200 compiles; what is published is what is there."""
    stop = threading.Event()

    def change() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            program.module.NUMBER = number

    thread = threading.Thread(target=change)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread.start()
    published = []
    try:
        for _ in range(200):
            try:
                published.append(toy_compile(program, during=lambda _step: None))
            except CaptureRaceError:
                continue
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(interval)
    program.module.NUMBER = 3
    for compiled in published:
        assert compiled.guards.holds() == (compiled.values["global"] == ("int", 3))


@pytest.mark.parametrize("step", range(0, 40, 3))
def test_a_change_at_any_step_of_a_compile_is_noticed(program: Program, step: int) -> None:
    def change(at: int) -> None:
        if at == step:
            program.module.NUMBER = 4
            program.module.CONFIG["block"] = 4
            program.module.THING.width = 4

    try:
        compiled = toy_compile(program, during=change)
    except CaptureRaceError:
        return  # nothing is published
    assert compiled.guards.holds()
    assert compiled.values == toy_compile(program).values


def test_dropped_guards_and_what_they_captured_are_collected() -> None:
    gc.collect()  # what other tests have left
    before = _native.watched_dict_count()
    loaded = load("dropped_program")
    loaded.module.cycle = toy_compile(loaded)
    watched = weakref.ref(loaded.module.cycle.guards)
    held = weakref.ref(loaded.module)
    loaded.unload()
    del loaded
    gc.collect()
    assert watched() is None
    assert held() is None
    assert _native.watched_dict_count() == before


def test_making_guards_again_and_again_watches_no_more_dicts(program: Program) -> None:
    kept = toy_compile(program)
    gc.collect()
    before = _native.watched_dict_count()
    for _ in range(50):
        toy_compile(program)
    gc.collect()
    assert _native.watched_dict_count() == before
    assert kept.guards.holds()


ROOT = Path(__file__).parents[3]

_WITHOUT_WATCHERS = """
import ctypes
add = ctypes.pythonapi.PyDict_AddWatcher
add.argtypes = [ctypes.c_void_p]
kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p)
callback = kind(lambda *_: 0)
try:
    while True:
        add(ctypes.cast(callback, ctypes.c_void_p))
except RuntimeError:
    pass
from darter import _native
from tests.property.captured_program import load, toy_compile
program = load("unwatched")
guards = toy_compile(program).guards
assert guards.holds() and _native.watched_dict_count() == 0
program.module.NUMBER = 4
assert not guards.holds()
program.module.NUMBER = 3
assert guards.holds()
program.module.THING.width = 9
assert not guards.holds()
print("compared by value")
"""


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python 3.11 has no dict watchers to run out of")
def test_without_a_free_watcher_values_are_compared() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    out = subprocess.check_output([sys.executable, "-c", _WITHOUT_WATCHERS], env=environment, text=True)
    assert out == "compared by value\n"


def test_environment_given_at_installation_is_guarded_and_in_no_record(program: Program) -> None:
    recorder = Recorder(program.kernel)
    recorder.name(program.kernel, "NUMBER")
    record = recorder.finish()
    guards = install(record, program.kernel, environment={ENVIRONMENT_NAME: None})
    assert len(record) == 1
    os.environ[ENVIRONMENT_NAME] = "1"
    assert not guards.holds()
    (difference,) = guards.differences()
    assert difference.is_environment
    assert str(difference) == f"environment variable '{ENVIRONMENT_NAME}': not there -> '1'"
    del os.environ[ENVIRONMENT_NAME]
    assert guards.holds()


def test_a_slot_of_an_instance_is_watched_with_all_that_decides_what_it_is() -> None:
    """Guards compare a slot by its word; the object's class and the class's attributes decide that it is one."""

    def armed() -> tuple[type, Any, _native.Guards]:
        class Base:
            __slots__ = ()

        class Holder(Base):
            __slots__ = ("rate",)

        holder = Holder()
        holder.rate = 1.5
        value = holder.rate
        guards = _native.Guards(lambda: (holder.rate is value, [("field", holder, "rate", value)]), ABSENT)
        assert guards.holds()
        assert guards.holds()
        return Holder, holder, guards

    _, holder, guards = armed()
    holder.rate = 2.5
    assert not guards.holds()
    _, holder, guards = armed()
    del holder.rate
    with pytest.raises(AttributeError):
        guards.cold()
    assert not guards.holds()
    cls, holder, guards = armed()
    cls.rate = property(lambda self: 2.5)
    assert not guards.holds()
    cls, holder, guards = armed()

    class Other(cls):
        __slots__ = ()
        rate = property(lambda self: 2.5)

    holder.__class__ = Other
    assert not guards.holds()
