"""The binder's messages; that it binds as Python does is a property test."""

from __future__ import annotations

from typing import Any

import pytest

from darter.errors import ArgumentTypeError
from darter.signature.binder import bind
from darter.signature.planner import plan_signature


def function(a, /, b, c=3, *, d=4, e): ...


def bound(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
    return bind(plan_signature(function, owner=False), args, kwargs)


def test_values_come_in_signature_order_with_defaults() -> None:
    assert bound(1, e=5, b=2) == (1, 2, 3, 4, 5)


@pytest.mark.parametrize(
    ("args", "kwargs", "said"),
    [
        ((1, 2, 3, 4), {"e": 5}, "function() takes 2 to 3 positional arguments and was given 4"),
        ((1,), {}, "function() is missing argument 'b', argument 'e'"),
        ((1, 2), {"e": 5, "f": 6}, "unexpected keyword argument 'f'"),
        ((1, 2), {"e": 5, "b": 6}, "multiple values for argument 'b'"),
        ((), {"a": 1, "b": 2, "e": 5}, "argument 'a' is positional-only"),
    ],
)
def test_refusals_name_function_and_argument(args: Any, kwargs: Any, said: str) -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        bound(*args, **kwargs)
    assert said in str(caught.value)
    assert "(a, /, b, c=..., *, d=..., e)" in str(caught.value) or "positional-only" in said or "multiple" in said
