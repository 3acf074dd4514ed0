from __future__ import annotations

import copy
import dataclasses
import pickle

import pytest

from darter.frozen import Frozen, replaced, values_of


class Point(Frozen):
    """A place."""

    x: int
    y: int
    label: str = "none"


class Other(Frozen):
    x: int
    y: int
    label: str = "none"


@dataclasses.dataclass(frozen=True, slots=True)
class Reference:
    x: int
    y: int
    label: str = "none"


class _Shape(Frozen):
    def area(self) -> int:
        return 6


class Box(_Shape):
    side: int


@pytest.mark.parametrize(
    ("args", "kwargs"), [((1, 2), {}), ((1, 2, "a"), {}), ((1,), {"y": 2}), ((), {"label": "b", "y": 2, "x": 1})]
)
def test_a_record_is_made_and_shown_like_a_dataclass(args, kwargs):
    made, reference = Point(*args, **kwargs), Reference(*args, **kwargs)
    assert values_of(made) == dataclasses.astuple(reference)
    assert repr(made) == repr(reference).replace("Reference", "Point")
    assert Point.__match_args__ == Reference.__match_args__


@pytest.mark.parametrize(
    ("args", "kwargs"), [((), {}), ((1,), {}), ((1, 2, "a", 4), {}), ((1,), {"x": 1, "y": 2}), ((1, 2), {"z": 3})]
)
def test_what_a_dataclass_refuses_a_record_refuses(args, kwargs):
    with pytest.raises(TypeError):
        Reference(*args, **kwargs)
    with pytest.raises(TypeError, match=r"Point\(\) takes x, y, label; found"):
        Point(*args, **kwargs)


def test_records_are_equal_by_class_and_fields():
    assert Point(1, 2) == Point(1, 2, "none")
    assert hash(Point(1, 2)) == hash(Point(1, 2))
    assert Point(1, 2) != Point(1, 3)
    assert Point(1, 2) != Other(1, 2)
    assert Point(1, 2) != (1, 2, "none")


def test_fields_are_fixed():
    point = Point(1, 2)
    with pytest.raises(AttributeError, match="frozen: cannot assign to field 'x'"):
        point.x = 3  # type: ignore[misc]
    with pytest.raises(AttributeError, match="frozen: cannot delete field 'x'"):
        del point.x
    with pytest.raises(AttributeError):
        point.z = 3  # type: ignore[attr-defined]
    assert not hasattr(point, "__dict__")


def test_replaced_gives_another_record():
    assert replaced(Point(1, 2, "a"), y=5) == Point(1, 5, "a")
    with pytest.raises(TypeError):
        replaced(Point(1, 2), z=3)


def test_records_are_copied_and_pickled():
    point = Point(1, 2, "a")
    assert copy.copy(point) == copy.deepcopy(point) == pickle.loads(pickle.dumps(point)) == point


def test_a_base_may_have_methods_and_no_fields():
    assert Box(2).area() == 6
    assert Box(side=2) == Box(2)
    with pytest.raises(TypeError, match="derives from one class without fields"):
        type("Twice", (Point,), {"__annotations__": {"z": int}})
