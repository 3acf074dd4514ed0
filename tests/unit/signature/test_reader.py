"""Reading tensors: what every kind of array is seen as, and every refusal by name."""

from __future__ import annotations

import mmap
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import darter.dtypes as dt
from darter import _native
from darter.errors import ArgumentTypeError, ArgumentValueError, DarterError
from darter.signature.reader import is_tensor_like, numpy_scalar_type, read_tensor


def refusal(value: Any) -> str:
    """Return the message of the refusal of argument 'x', which says found, accepted or a way out."""
    with pytest.raises(DarterError) as caught:
        read_tensor("x", value)
    assert isinstance(caught.value, (ArgumentTypeError, ArgumentValueError))
    text = str(caught.value)
    assert text.startswith("argument 'x': found ")
    assert "; " in text
    return text


@pytest.mark.parametrize("dtype", dt.ALL, ids=repr)
def test_every_dtype_is_read(dtype: dt.ScalarType) -> None:
    view = read_tensor("x", np.zeros((3, 4), dtype.numpy()))
    assert (view.dtype, view.shape, view.strides) == (dtype, (3, 4), (4, 1))
    assert (view.device_type, view.device_ordinal, view.readonly, view.device) == (1, 0, False, "cpu")


def test_equal_numpy_types_of_two_names_are_one() -> None:
    assert numpy_scalar_type(np.dtype(np.longlong)) is dt.Int64
    assert numpy_scalar_type(np.dtype(np.intc)) is dt.Int32
    assert numpy_scalar_type(np.dtype(ml_dtypes.float8_e4m3fn)) is dt.Float8E4M3FN
    assert numpy_scalar_type(np.dtype(ml_dtypes.float8_e4m3)) is None


def test_strides_are_in_elements_and_may_be_anything() -> None:
    base = np.zeros((6, 8), np.float32)
    assert read_tensor("x", base[::-2, 1::3]).strides == (-16, 3)
    assert read_tensor("x", np.broadcast_to(base[:1], (5, 8))).strides == (0, 1)
    assert read_tensor("x", base.T).strides == (1, 8)
    assert read_tensor("x", np.float32(3) + base[0, 0:0]).shape == (0,)


def test_address_is_that_of_element_zero_and_readonly_is_seen() -> None:
    base = np.zeros(8, np.int16)
    assert read_tensor("x", base[3:]).address == base.ctypes.data + 6
    base.flags.writeable = False
    assert read_tensor("x", base).readonly


def test_memmap_is_a_plain_array(tmp_path: Path) -> None:
    array = np.memmap(tmp_path / "data", dtype=np.float32, mode="w+", shape=(4,))
    assert read_tensor("x", array).shape == (4,)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([1, 2], "a list"),
        ((1, 2), "a tuple"),
        (None, "not optional"),
        (3, "the number 3"),
        (np.float32(3), "(float32)"),
        ("text", "builtins.str"),
        (np.ndarray, "builtins.type"),
        (np.ma.array([1, 2]), "x.filled"),
        (np.zeros((1, 1)).view(np.matrix), "subclass of numpy.ndarray"),
        (np.rec.array([1.0]), "subclass of numpy.ndarray"),
        (np.zeros(3, ">f4"), "foreign byte order"),
        (np.zeros(3, object), "dtype object"),
        (np.zeros(3, "U4"), "no arithmetic"),
        (np.zeros(3, "S4"), "no arithmetic"),
        (np.zeros(3, "V4"), "no arithmetic"),
        (np.zeros(3, [("a", "f4")]), "structured"),
        (np.zeros(3, "c8"), "x.real"),
        (np.zeros(3, "M8[s]"), "int64"),
        (np.zeros(3, "m8[s]"), "int64"),
        (np.zeros(3, np.longdouble), "accepted: bool, int8"),
        (np.zeros(3, ml_dtypes.int4), "accepted: bool, int8"),
        (np.zeros(3, ml_dtypes.float8_e4m3), "accepted: bool, int8"),
        (np.zeros(17, "u1")[1:].view("f4"), "base address"),
        (np.zeros(4, [("a", "u1"), ("b", "f4")])["b"], "stride of 5 bytes"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_refused_by_name(value: Any, said: str) -> None:
    if isinstance(value, np.ndarray) and said.startswith("stride"):
        # Make the base aligned, so that the stride alone is at fault.
        raw = np.zeros(64, "u1")
        start = -raw.ctypes.data % 4
        value = np.lib.stride_tricks.as_strided(raw[start:].view("f4")[:1], (3,), (5,))
    assert said in refusal(value)


def test_meaningless_strides_and_addresses_are_not_checked() -> None:
    one = np.lib.stride_tricks.as_strided(np.zeros(1, "f4"), (1, 1), (5, 7))
    assert read_tensor("x", one).shape == (1, 1)
    empty = np.zeros(17, "u1")[1:1].view("f4")
    assert read_tensor("x", empty).shape == (0,)


class Exporter:
    """An object that exports an array by DLPack, and nothing else."""

    def __init__(self, array: Any, versioned: bool = True) -> None:
        self.array, self.versioned = array, versioned

    def __dlpack__(self, *, max_version: Any = None) -> Any:
        if max_version is not None and not self.versioned:
            raise TypeError("unexpected keyword argument 'max_version'")
        return self.array.__dlpack__(max_version=max_version) if self.versioned else self.array.__dlpack__()

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("versioned", [True, False])
def test_dlpack_exporters_are_read(versioned: bool) -> None:
    array = np.zeros((4, 6), np.int16)[::2, 1:]
    view = read_tensor("x", Exporter(array, versioned))
    assert view == read_tensor("x", array)
    assert is_tensor_like(Exporter(array))


def test_dlpack_tells_read_only_memory() -> None:
    array = np.zeros(4, np.int16)
    array.flags.writeable = False
    try:
        array.__dlpack__(max_version=(1, 0))
    except (TypeError, BufferError):
        pytest.skip("this NumPy exports no read-only memory")
    assert read_tensor("x", Exporter(array)).readonly


def test_a_failing_or_lying_dlpack_is_refused() -> None:
    class Failing(Exporter):
        def __dlpack__(self, *, max_version: Any = None) -> Any:
            raise RuntimeError("not today")

    class Lying(Exporter):
        def __dlpack__(self, *, max_version: Any = None) -> Any:
            return 3

    assert "RuntimeError: not today" in refusal(Failing(np.zeros(3)))
    assert "no DLPack capsule" in refusal(Lying(np.zeros(3)))


class Described:
    """An object that describes its memory by the array interface alone."""

    def __init__(self, **entries: Any) -> None:
        self.held = np.zeros((4, 4), np.float32)
        self.__array_interface__ = {**self.held.__array_interface__, **entries}

    __array_interface__: Any = None


def test_array_interface_is_read() -> None:
    described = Described()
    assert read_tensor("x", described) == read_tensor("x", described.held)
    assert read_tensor("x", Described(strides=(4, 16))).strides == (1, 4)


def test_cuda_array_interface_is_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    # The driver knows whose address it is; this test needs none.
    monkeypatch.setattr(_native, "cuda_pointer_device", lambda address: 0)

    class Device:
        __cuda_array_interface__ = {  # noqa: RUF012
            "shape": (2, 3),
            "typestr": "<f4",
            "data": (4096, True),
            "version": 3,
        }

    view = read_tensor("x", Device())
    assert (view.device, view.shape, view.strides, view.readonly) == ("cuda:0", (2, 3), (3, 1), True)


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ({"mask": object()}, "with a mask"),
        ({"typestr": ">f4"}, "foreign byte order"),
        ({"typestr": "<c8"}, "'<c8'"),
        ({"data": None}, "gives no address"),
        ({"data": (0, False)}, "NULL data"),
        ({"strides": (4, 5)}, "stride of 5 bytes"),
    ],
)
def test_bad_array_interfaces_are_refused(entries: Any, said: str) -> None:
    assert said in refusal(Described(**entries))


def test_buffers_and_maps_are_no_tensors() -> None:
    assert "protocols" in refusal(bytearray(8))
    with mmap.mmap(-1, 64) as pages:
        assert "protocols" in refusal(pages)


def test_torch_is_never_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    read_tensor("x", np.zeros(3))
    refusal([1])
    assert "torch" not in sys.modules
