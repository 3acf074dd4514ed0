"""Arrays of libraries that are not known by name are read like the numpy array that stands behind them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from darter.errors import ArgumentTypeError, ArgumentValueError
from darter.signature.annotations import Tensor
from darter.signature.words import full_key
from tests.unit.native.noop import noop


class Current:
    """Exports by DLPack 1.0, with its flags."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)


class Old(Current):
    """Exports as before DLPack 1.0, which has no ``max_version``."""

    def __dlpack__(self, *, stream: Any = None) -> Any:  # type: ignore[override]
        return self.array.__dlpack__()


class Copying(Current):
    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options, copy=True)


class Described:
    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.__array_interface__ = array.__array_interface__


class DescribedByClass:
    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self.array.__array_interface__


ARRAYS = [
    np.zeros((4, 8), np.float32)[:, ::2],
    np.zeros((3, 1, 5), np.int16).transpose(2, 0, 1),
    np.zeros(6, np.float64)[::-1],
    np.zeros((0, 4), np.uint8),
    np.zeros((), np.bool_),
]


def kernel(x: Tensor, y: Tensor = None) -> None: ...


@pytest.mark.parametrize("wrap", [Current, Old, DescribedByClass])
@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}-{array.ndim}")
def test_is_read_like_the_array_behind(wrap: Any, array: np.ndarray[Any, Any]) -> None:
    function = noop(kernel)
    wrapped = wrap(array)
    if array.size:  # strides of an array without elements are anybody's
        assert function._slots(wrapped) == function._slots(array)
    assert function._key_words(wrapped) == full_key(function.plan, (wrapped, None), function._intern)
    before = sys.getrefcount(array)
    for _ in range(5):
        function(wrapped)
    assert sys.getrefcount(array) == before


@pytest.mark.parametrize("wrap", [Current, DescribedByClass])
def test_read_only_exports_are_not_stored_to(wrap: Any) -> None:
    array = np.zeros(4, np.float32)
    array.flags.writeable = False
    function = noop(kernel, written=[0])
    for _ in range(2):
        with pytest.raises(ArgumentValueError, match=r"argument 'x'.*read-only"):
            function(wrap(array))


def test_a_copy_is_no_argument() -> None:
    with pytest.raises(ArgumentTypeError, match=r"argument 'x'.*copy"):
        noop(kernel)(Copying(np.zeros(4, np.float32)))


def test_protocols_count_on_the_class_only() -> None:
    with pytest.raises(ArgumentTypeError, match="argument 'x'"):
        noop(kernel)(Described(np.zeros(4, np.float32)))


def test_an_exporter_that_raises_is_the_cause() -> None:
    class Broken(Current):
        def __dlpack__(self, **options: Any) -> Any:
            raise BufferError("not now")

    with pytest.raises(ArgumentTypeError, match="argument 'x'") as refusal:
        noop(kernel)(Broken(np.zeros(4, np.float32)))
    assert isinstance(refusal.value.__cause__, BufferError)


def test_types_may_change_from_call_to_call() -> None:
    function = noop(kernel)
    array = np.zeros((4, 8), np.float32)
    for value in (array, Current(array), DescribedByClass(array), array, Old(array)) * 2:
        function(value, array)
        function(array, value)
    assert len(function._states()) == 1
