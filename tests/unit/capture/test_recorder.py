from __future__ import annotations

import dataclasses
import enum
import functools
import math
import sys
import types
from typing import Any, NamedTuple

import numpy as np
import pytest

from darter.capture.containers import MAX_ELEMENTS
from darter.capture.reads import MAX_FIELDS
from darter.capture.recorder import Getter, Recorder
from darter.capture.resolve import resolve
from darter.capture.static import static
from darter.errors import CaptureRaceError, CaptureRefusedError

NUMBER = 3
SHADOWED = "global"
NOTHING = None
SET = {1, 2}
CONFIG: dict[Any, Any] = {"block": 128, True: "yes", None: 0, (1, "a"): 2, "sub": {"x": 1}}
ITEMS = [1, 2, 3]
LONG = list(range(MAX_ELEMENTS + 1))
BIG = {number: number for number in range(MAX_ELEMENTS + 1)}
SNAPSHOT = static({1, 2})
THIS = sys.modules[__name__]


class Color(enum.IntEnum):
    RED = 1

    def twice(self) -> int:
        return self * 2


class Pair(NamedTuple):
    a: int
    b: list[int]


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    width: int = 4

    def area(self) -> int:
        return self.width


class Base:
    scale = 3

    def __init__(self) -> None:
        self.width = 5

    def area(self) -> int:
        return self.width

    @property
    def doubled(self) -> int:
        return self.width * 2

    @staticmethod
    def fixed() -> int:
        return 7

    @classmethod
    def made(cls) -> int:
        return cls.scale

    @functools.cached_property
    def cached(self) -> int:
        return 1


class Derived(Base):
    pass


class Dynamic:
    def __getattr__(self, name: str) -> int:
        return 1


class Intercepting:
    def __getattribute__(self, name: str) -> Any:
        return 1


class Meta(type):
    pass


class WithMeta(metaclass=Meta):
    x = 1


class Wide:
    def __init__(self) -> None:
        for number in range(MAX_FIELDS + 1):
            setattr(self, f"f{number}", number)


RED = Color.RED
PAIR = Pair(1, [2])
FROZEN = Frozen()
THING = Derived()
DYNAMIC = Dynamic()
INTERCEPTING = Intercepting()
WIDE = Wide()
LAZY = types.ModuleType("lazy")
exec("def __getattr__(name): return 1", LAZY.__dict__)
PARTIAL = functools.partial(math.pow, 2.0, x=1)
BOUND = THING.area


def helper(a: int, b: int = 2, *, c: int = 3, d: int) -> int:
    return a + b + c + d + NUMBER


def make(captured: Any) -> types.FunctionType:
    SHADOWED = captured

    def inner() -> Any:
        return SHADOWED, late

    if captured is None:
        late = 1
    return inner


def kernel() -> None:
    pass


@pytest.fixture
def r() -> Recorder:
    return Recorder(kernel)


def _paths(recorder: Recorder) -> list[str]:
    return [str(path[-1]) for path, _ in recorder.finish()]


# -- names ------------------------------------------------------------------------------------------------------------


def test_names_follow_pythons_scopes(r: Recorder) -> None:
    inner = make(2)
    recorder = Recorder(inner)
    assert recorder.name(inner, "SHADOWED") == 2
    assert r.name(kernel, "SHADOWED") == "global"
    assert r.name(kernel, "min") is min


def test_a_captured_none_is_a_value_and_an_empty_cell_is_none(r: Recorder) -> None:
    inner = make(None)
    assert Recorder(inner).name(inner, "SHADOWED") is None
    assert r.name(kernel, "NOTHING") is None
    empty = make(1)
    with pytest.raises(LookupError, match="not bound yet"):
        Recorder(empty).name(empty, "late")


def test_an_unbound_name_is_recorded_as_absent(r: Recorder) -> None:
    with pytest.raises(LookupError, match="'nowhere' is not defined"):
        r.name(kernel, "nowhere")
    assert [found for _, found in r.finish()] == [b"absent"]


def test_a_name_that_changes_between_two_reads_stops_the_compile(r: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    r.name(kernel, "NUMBER")
    monkeypatch.setattr(THIS, "NUMBER", 4)
    with pytest.raises(CaptureRaceError, match="global 'NUMBER' changed"):
        r.name(kernel, "NUMBER")


def test_a_container_that_is_replaced_by_an_equal_one_stops_the_compile(
    r: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    r.item(r.name(kernel, "CONFIG"), "block")
    monkeypatch.setattr(THIS, "CONFIG", dict(CONFIG))
    with pytest.raises(CaptureRaceError, match="global 'CONFIG' changed"):
        r.name(kernel, "CONFIG")


# -- functions --------------------------------------------------------------------------------------------------------


def test_a_function_is_recorded_with_its_defaults(r: Recorder) -> None:
    assert r.function(r.name(kernel, "helper")) is helper
    found = {path[-1]: value for path, value in r.finish()}
    assert found["default", 0] == b"int:2"
    assert found["kwdefault", "c"] == b"int:3"
    assert found["kwdefault", "d"] == b"absent"
    assert found["code",].startswith(b"code(")


def test_a_function_reached_otherwise_is_found_by_its_import_path_or_refused(r: Recorder) -> None:
    r.function(helper)
    assert r.finish().entries[0][0] == (("import", __name__, "helper"),)
    with pytest.raises(CaptureRefusedError, match="cannot be followed again"):
        r.function(make(1))


def test_only_python_functions_have_code(r: Recorder) -> None:
    with pytest.raises(CaptureRefusedError, match="no Python code"):
        r.function(min)  # type: ignore[arg-type]


def test_partials_and_bound_methods_open_up(r: Recorder) -> None:
    partial = r.name(kernel, "PARTIAL")
    assert r.attribute(partial, "func") is math.pow
    assert r.items(r.attribute(partial, "args")) == (2.0,)
    assert r.entries(r.attribute(partial, "keywords")) == (("x", 1),)
    with pytest.raises(CaptureRefusedError, match="accepted: func, args, keywords"):
        r.attribute(partial, "other")
    assert r.attribute(r.name(kernel, "BOUND"), "__func__") is Base.area
    assert r.attribute(BOUND, "__self__") is THING


# -- attributes -------------------------------------------------------------------------------------------------------


def test_module_attributes(r: Recorder) -> None:
    module = r.name(kernel, "math")
    assert r.attribute(module, "pi") == math.pi
    assert r.attribute(r.name(kernel, "np"), "float32") is np.float32
    with pytest.raises(AttributeError, match="module 'math' has no attribute 'tau2'"):
        r.attribute(module, "tau2")


def test_a_modules_getattr_is_refused(r: Recorder) -> None:
    with pytest.raises(CaptureRefusedError, match="__getattr__"):
        r.attribute(r.name(kernel, "LAZY"), "anything")


def test_class_attributes_go_through_the_mro(r: Recorder) -> None:
    cls = r.name(kernel, "Derived")
    assert r.attribute(cls, "scale") == 3
    assert r.attribute(cls, "fixed")() == 7
    assert r.attribute(cls, "made").__self__ is Derived
    assert r.method(cls, "area") is Base.area
    assert r.method(cls, "fixed") is Base.fixed
    with pytest.raises(AttributeError, match="'Derived' has no attribute 'nothing'"):
        r.attribute(cls, "nothing")
    with pytest.raises(CaptureRefusedError, match="is a int, not a function"):
        r.method(cls, "scale")


def test_instance_attributes_follow_pythons_order(r: Recorder) -> None:
    thing = r.name(kernel, "THING")
    assert (r.attribute(thing, "width"), r.attribute(thing, "scale")) == (5, 3)
    assert r.attribute(thing, "area").__func__ is Base.area
    assert r.attribute(thing, "area").__self__ is thing
    assert r.attribute(thing, "fixed") is Base.fixed
    assert r.attribute(thing, "made").__self__ is Derived
    getter = r.attribute(thing, "doubled")
    assert getter == Getter(Base.doubled.fget, thing)  # type: ignore[attr-defined]
    r.function(getter.function)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        r.attribute(thing, "nothing")


def test_frozen_dataclasses_named_tuples_and_enums(r: Recorder) -> None:
    assert r.attribute(r.name(kernel, "FROZEN"), "width") == 4
    assert r.attribute(FROZEN, "area").__func__ is Frozen.area
    assert r.item(r.attribute(r.name(kernel, "PAIR"), "b"), 0) == 2
    assert r.attribute(r.name(kernel, "Color"), "RED") is Color.RED
    assert (r.attribute(Color.RED, "value"), r.attribute(Color.RED, "name")) == (1, "RED")
    assert r.attribute(r.name(kernel, "RED"), "twice").__func__ is Color.twice


@pytest.mark.parametrize(
    ("name", "attribute", "message"),
    [
        ("DYNAMIC", "x", "comes from __getattr__"),
        ("INTERCEPTING", "x", "defines __getattribute__"),
        ("THING", "cached", "cannot be guarded"),
        ("Derived", "cached", "cannot be guarded"),
        ("Derived", "__dict__", "belongs to its type"),
        ("WithMeta", "x", "metaclass 'Meta'"),
    ],
)
def test_what_python_computes_is_refused(r: Recorder, name: str, attribute: str, message: str) -> None:
    with pytest.raises(CaptureRefusedError, match=message):
        r.attribute(r.name(kernel, name), attribute)


def test_at_most_64_attributes_of_an_instance(r: Recorder) -> None:
    wide = r.name(kernel, "WIDE")
    for number in range(MAX_FIELDS):
        assert r.attribute(wide, f"f{number}") == number
    assert r.attribute(wide, "f0") == 0
    with pytest.raises(CaptureRefusedError, match=r"more than 64 attributes.*'WIDE'.*dt\.static"):
        r.attribute(wide, f"f{MAX_FIELDS}")


# -- containers -------------------------------------------------------------------------------------------------------


def test_dict_reads_by_key(r: Recorder) -> None:
    config = r.name(kernel, "CONFIG")
    assert [r.item(config, key) for key in ("block", True, None, (1, "a"))] == [128, "yes", 0, 2]
    assert r.item(r.item(config, "sub"), "x") == 1
    with pytest.raises(KeyError):
        r.item(config, "missing")
    assert r.contains(config, "block")
    assert not r.contains(config, "other")
    assert resolve(r.finish(), kernel) == ()


def test_a_large_dict_is_read_by_key_and_not_iterated(r: Recorder) -> None:
    big = r.name(kernel, "BIG")
    assert r.item(big, 7) == 7
    assert r.length(big) == MAX_ELEMENTS + 1
    with pytest.raises(CaptureRefusedError, match=r"'BIG' has 1025 entries; up to 1024"):
        r.items(big)


def test_list_reads(r: Recorder) -> None:
    items = r.name(kernel, "ITEMS")
    assert (r.item(items, 0), r.item(items, -1), r.item(items, slice(1, 3))) == (1, 3, [2, 3])
    assert (r.items(items), r.length(items)) == ((1, 2, 3), 3)
    for position in (3, -4):
        with pytest.raises(IndexError):
            r.item(items, position)
    with pytest.raises(CaptureRefusedError, match="has 1025 entries"):
        r.items(r.name(kernel, "LONG"))


def test_containers_made_while_compiling_are_read_without_a_record(r: Recorder) -> None:
    assert r.items([1, 2]) == (1, 2)
    assert r.item({"a": 1}, "a") == 1
    assert r.length([1]) == 1
    assert len(r.finish()) == 0


def test_frozensets_come_in_an_order_of_their_own(r: Recorder) -> None:
    assert r.items(frozenset({"b", "a", "c"})) == ("a", "b", "c")


def test_sets_are_refused_and_static_is_the_way_out(r: Recorder) -> None:
    with pytest.raises(CaptureRefusedError, match=r"global 'SET'.*dt\.static\(obj\)"):
        r.name(kernel, "SET")
    assert r.name(kernel, "SNAPSHOT") == {1, 2}
    assert r.static(lambda: r.name(kernel, "SET")) == {1, 2}
    SET.add(3)
    try:
        assert [str(found.path[-1]) for found in resolve(r.finish(), kernel)] == ["('static',)"]
    finally:
        SET.discard(3)


def test_the_environment_is_recorded_in_both_ways(r: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DARTER_TEST_A", "1")
    monkeypatch.delenv("DARTER_TEST_B", raising=False)
    assert (r.environment("DARTER_TEST_A"), r.environment("DARTER_TEST_B")) == ("1", None)
    assert resolve(r.finish(), kernel) == ()
    monkeypatch.setenv("DARTER_TEST_B", "")
    assert len(resolve(r.finish(), kernel)) == 1


# -- owners and aliases -----------------------------------------------------------------------------------------------


def test_owner_and_argument_classes_are_roots_of_their_own() -> None:
    recorder = Recorder(Base.area, owner_class=Derived, arguments={"point": Frozen})
    recorder.function(recorder.method(Derived, "area"))
    recorder.method(Frozen, "area")
    record = recorder.finish()
    assert {path[0] for path, _ in record} >= {("owner",), ("argument", "point")}
    assert resolve(record, Base.area, Derived, {"point": Frozen}) == ()
    assert resolve(record, Base.area, None, {"point": Frozen}) != ()


def test_what_stands_in_two_places_is_held_to_its_reads_in_both(r: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(THIS, "ALIAS", CONFIG, raising=False)
    r.item(r.name(kernel, "CONFIG"), "block")
    r.item(r.name(kernel, "ALIAS"), "block")
    record = r.finish()
    monkeypatch.setattr(THIS, "ALIAS", {"block": 64})
    (mismatch,) = resolve(record, kernel)
    assert mismatch.path[1] == ("name", "ALIAS")
    monkeypatch.setattr(THIS, "ALIAS", {"block": 128})
    assert resolve(record, kernel) == ()
