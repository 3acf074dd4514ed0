"""Exporters that break their protocol, or are interrupted: a refusal that says so, or the exception itself."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from darter.errors import ArgumentTypeError, ArgumentValueError, DarterError
from darter.signature.annotations import Tensor
from darter.signature.dlpack import _Versioned
from tests.unit.native.noop import noop

DATA = np.arange(8, dtype=np.float32)
DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def kernel(x: Tensor) -> None: ...


class Producer:
    """Exports what ``make`` returns, or raises; its deleter is Python code, as ctypes and cffi producers have it."""

    def __init__(self, device: Any = (1, 0), raises: BaseException | None = None, **fields: Any) -> None:
        self.device, self.raises, self.fields, self.deleted = device, raises, fields, 0
        self.deleter = DELETER(self._delete)

    def __dlpack_device__(self) -> Any:
        return self.device

    def __dlpack__(self, **options: Any) -> Any:
        if self.raises is not None:
            raise self.raises
        return self._capsule(**self.fields)

    def _delete(self, pointer: int) -> None:
        self.deleted += len(str(pointer)) > 0

    def _capsule(
        self, major: int = 1, flags: int = 0, shape: tuple[int, ...] = (8,), code: int = 2, **rest: Any
    ) -> Any:
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        managed = self.managed = _Versioned(major=major, flags=flags)
        managed.deleter = ctypes.cast(self.deleter, ctypes.c_void_p).value
        tensor = managed.tensor
        tensor.data, tensor.device_type, tensor.ndim = DATA.ctypes.data, 1, rest.get("rank", len(shape))
        tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes = code, 32, 1
        tensor.shape = ctypes.cast(self.shape, ctypes.POINTER(ctypes.c_int64))
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        self.name = b"dltensor_versioned"
        return new(ctypes.addressof(managed), self.name, None)


@pytest.mark.parametrize(
    ("fields", "error", "said"),
    [
        ({"major": 2}, ArgumentTypeError, "DLPack version 2"),
        ({"flags": 2}, ArgumentTypeError, "made a copy"),
        ({"shape": (-8,)}, ArgumentValueError, "extent -8 on axis 0"),
        ({"rank": -1}, ArgumentValueError, "rank -1"),
        ({"rank": 65}, ArgumentValueError, "rank 65"),
        ({"code": 5}, ArgumentTypeError, "data type"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_a_refusal_outlives_the_deleter(fields: dict[str, Any], error: type[Exception], said: str) -> None:
    function = noop(kernel)
    function(DATA)
    for _ in range(2):
        producer = Producer(**fields)
        with pytest.raises(error, match="argument 'x'") as refusal:
            function(producer)
        assert said in str(refusal.value)
        assert producer.deleted == 1


def test_a_sound_export_is_read_and_released() -> None:
    producer = Producer()
    assert noop(kernel)._slots(producer) == noop(kernel)._slots(DATA)
    assert producer.deleted == 1


@pytest.mark.parametrize("device", [3, None, (), [1, 0], ("cpu", 0), (2**70, 0), (-1, 0)], ids=repr)
def test_what_is_no_device_is_shown(device: Any) -> None:
    with pytest.raises(ArgumentTypeError, match=r"argument 'x': its __dlpack_device__ gave .*; accepted: "):
        noop(kernel)(Producer(device=device))


@pytest.mark.parametrize("interruption", [KeyboardInterrupt(), SystemExit(3), MemoryError()], ids=repr)
@pytest.mark.parametrize("protocol", ["dlpack", "interface"])
def test_what_says_nothing_of_the_argument_passes_through(interruption: BaseException, protocol: str) -> None:
    def get(self: object) -> Any:
        raise interruption

    interface = type("Interface", (), {"__array_interface__": property(get)})()
    with pytest.raises(type(interruption)):
        noop(kernel)(Producer(raises=interruption) if protocol == "dlpack" else interface)


def test_other_exceptions_are_the_cause_of_a_refusal() -> None:
    with pytest.raises(ArgumentTypeError, match="argument 'x'") as refusal:
        noop(kernel)(Producer(raises=RuntimeError("no export today")))
    assert str(refusal.value.__cause__) == "no export today"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("data", None),
        ("data", b"bytes"),
        ("data", (1,)),
        ("shape", (8.0,)),
        ("shape", (2**63,)),
        ("shape", None),
        ("shape", (-8,)),
        ("strides", (4, 4)),
        ("strides", ("4",)),
        ("typestr", ">f4"),
        ("typestr", 3),
    ],
)
def test_a_field_of_an_array_interface_is_named_and_shown(field: str, value: Any) -> None:
    fields = {**DATA.__array_interface__, field: value}
    broken = type("Broken", (), {"__array_interface__": property(lambda self: fields)})()
    with pytest.raises(DarterError, match=r"argument 'x': found .*; accepted: ") as refusal:
        noop(kernel)(broken)
    assert repr(value).strip("()").rstrip(",") in str(refusal.value)
