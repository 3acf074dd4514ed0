"""Arguments inside arguments, where they have no end or their class is none: refused by name, never a crash."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from darter.errors import ArgumentTypeError, ArgumentValueError
from darter.signature.annotations import Tensor
from darter.signature.describe import describe
from tests.unit.native.noop import noop

DATA = np.zeros(4, np.float32)


def kernel(x) -> None: ...


class Cyclic:
    """A user's own argument type whose field is the object itself."""

    __jit_fields__ = ("me",)

    def __cache_signature__(self) -> int:
        return 1

    @property
    def me(self) -> Cyclic:
        return self


class Pair(NamedTuple):
    x: Tensor
    rest: Any


def nested(depth: int, wrap: Any) -> Any:
    value: Any = DATA
    for _ in range(depth):
        value = wrap(value)
    return value


ENDLESS = {
    "tuples": lambda: nested(100_000, lambda value: (value,)),
    "NamedTuples": lambda: nested(100_000, lambda value: Pair(DATA, value)),
    "a cycle": Cyclic,
}


@pytest.mark.parametrize("make", ENDLESS.values(), ids=ENDLESS)
def test_what_nests_too_deep_is_refused_by_both_readers(make: Any) -> None:
    function, value = noop(kernel), make()
    for read in (function, function._key_words, lambda value: describe(function.plan, (value,))):
        with pytest.raises(ArgumentValueError, match=r"argument 'x.*nested deeper than 64 levels"):
            read(value)


def test_what_nests_as_deep_as_may_be_is_read_by_both_readers() -> None:
    function, value = noop(kernel), nested(64, lambda value: (value,))
    assert function._slots(value) == function._slots(DATA)
    describe(function.plan, (value,))


class Itself(NamedTuple):
    x: Tensor
    next: Itself | None = None


@dataclass(frozen=True)
class OfObjects:
    x: object


@pytest.mark.parametrize("value", [Itself(DATA), OfObjects(DATA)], ids=lambda value: type(value).__name__)
def test_a_class_that_is_no_argument_type_is_refused_with_its_reason(value: Any) -> None:
    with pytest.raises(ArgumentTypeError, match=r"argument 'x': .* is no argument type \(field '") as refusal:
        noop(kernel)(value)
    assert str(refusal.value.__cause__) in str(refusal.value)
