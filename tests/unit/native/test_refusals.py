"""Bad arguments are refused by name, on the first call and on later ones, and leave nothing behind."""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from darter import _native
from darter.dtypes import Bool, Float16, Float32, Int8, Int32, Int64, UInt8, UInt64, f32
from darter.errors import ArgumentTypeError, ArgumentValueError, DarterError
from darter.signature.annotations import Constexpr, Pointer, Stream, Tensor
from tests.unit.native.noop import noop

GOOD = np.zeros((4, 8), np.float32)


def kernel(x: Tensor, y: Tensor = None) -> None: ...


def misaligned() -> np.ndarray[Any, Any]:
    return np.zeros(33, np.uint8)[1:].view(np.float32)


def odd_strides() -> np.ndarray[Any, Any]:
    return np.zeros(4, np.dtype([("a", "f4"), ("b", "i1")]))["a"]


def interface(name: str, **fields: Any) -> object:
    made = type("Made", (), {name: property(lambda self: fields)})
    return made()


def array_interface(**fields: Any) -> object:
    return interface("__array_interface__", **fields)


BAD_ARRAYS = {
    "list": (lambda: [1.0, 2.0], TypeError, "list"),
    "none": (lambda: None, TypeError, "None"),
    "number": (lambda: 3, TypeError, "int"),
    "numpy scalar": (lambda: np.float32(3), TypeError, "float32"),
    "str": (lambda: "x", TypeError, "str"),
    "object": (object, TypeError, "object"),
    "masked": (lambda: np.ma.zeros(4), TypeError, "MaskedArray"),
    "matrix": (lambda: np.zeros(4).view(np.recarray), TypeError, "recarray"),
    "swapped": (lambda: np.zeros(4, ">f4"), TypeError, "byte"),
    "complex": (lambda: np.zeros(4, np.complex64), TypeError, "complex64"),
    "objects": (lambda: np.zeros(4, object), TypeError, "object"),
    "dates": (lambda: np.zeros(4, "M8[s]"), TypeError, "datetime64"),
    "structured": (lambda: np.zeros(4, "f4,i4"), TypeError, "dtype"),
    "strings": (lambda: np.zeros(4, "U3"), TypeError, "<U3"),
    "int4": (lambda: np.zeros(4, ml_dtypes.int4), TypeError, "int4"),
    "misaligned": (misaligned, ValueError, "item size"),
    "odd strides": (odd_strides, ValueError, "item size"),
    "null interface": (lambda: array_interface(typestr="<f4", shape=(3,), data=(0, False)), ValueError, "NULL"),
    "swapped interface": (lambda: array_interface(typestr=">f4", shape=(3,), data=(64, False)), TypeError, ">f4"),
    "no shape": (lambda: array_interface(typestr="<f4", data=(64, False)), TypeError, "shape"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_ARRAYS)
def test_bad_arrays_cold_and_warm(name: str) -> None:
    make, builtin, found = BAD_ARRAYS[name]
    function = noop(kernel)
    with pytest.raises(builtin, match="argument 'x'") as cold:
        function(make(), GOOD)
    assert function._states() == []
    for _ in range(3):
        function(GOOD, GOOD)
    with pytest.raises(builtin, match="argument 'x'") as warm:
        function(make(), GOOD)
    assert isinstance(cold.value, DarterError)
    assert found in str(cold.value)
    assert str(warm.value).split("address")[0] == str(cold.value).split("address")[0]
    assert len(function._states()) == 1
    function(GOOD, GOOD)


def torch_cases() -> dict[str, Any]:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from torch._subclasses.fake_tensor import FakeTensorMode

    x = torch.ones(4, dtype=torch.complex64)

    def fake() -> Any:
        with FakeTensorMode():
            return torch.ones(4)

    def freed() -> Any:
        tensor = torch.ones(4)
        tensor.untyped_storage().resize_(0)
        return tensor

    def freed_view() -> Any:
        tensor = torch.ones(8)[4:]
        tensor.untyped_storage().resize_(0)
        return tensor

    class Sub(torch.Tensor):
        pass

    return {
        "fake": (fake, "FakeTensor"),
        "meta": (lambda: torch.ones(4, device="meta"), "meta"),
        "neg": (lambda: x.conj().imag, "negative"),
        "conj": (x.conj, "conjugate"),
        "sparse": (lambda: torch.ones(4).to_sparse(), "sparse"),
        "mkldnn": (lambda: torch.ones(4).to_mkldnn(), "mkldnn"),
        "functional": (lambda: torch._to_functional_tensor(torch.ones(4)), "plain"),
        "zero": (lambda: torch._efficientzerotensor(4), "plain"),
        "complex": (lambda: x, "complex64"),
        "freed": (freed, "freed"),
        "freed view": (freed_view, "freed"),
        "subclass": (lambda: torch.ones(4).as_subclass(Sub), "Sub"),
    }


@pytest.mark.parametrize("accelerated", [True, False])
@pytest.mark.parametrize(
    "name",
    [
        "fake",
        "meta",
        "neg",
        "conj",
        "sparse",
        "mkldnn",
        "functional",
        "zero",
        "complex",
        "freed",
        "freed view",
        "subclass",
    ],
)
def test_bad_torch_tensors_cold_and_warm(name: str, accelerated: bool) -> None:
    make, found = torch_cases()[name]
    import torch

    good = torch.ones(4)
    function = noop(kernel)
    try:
        _native.set_torch_acceleration(accelerated)
        for _ in range(2):
            with pytest.raises(DarterError, match="argument 'x'") as refusal:
                function(make(), good)
            assert found in str(refusal.value)
            function(good, good)
    finally:
        _native.set_torch_acceleration(True)
    assert len(function._states()) == 1


def test_torch_wrappers_of_grad_are_read_and_those_of_vmap_refused() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    function = noop(kernel)
    tensor = torch.ones(4, requires_grad=True)
    seen: list[tuple[int, ...]] = []

    def inside(x: Any) -> Any:
        seen.append(function._slots(x))
        return x.sum()

    torch.func.grad(inside)(tensor.detach())
    assert seen == [(tensor.data_ptr(), 4, 1)]
    with pytest.raises(ArgumentTypeError, match=r"argument 'x'.*vmap"):
        torch.func.vmap(inside)(torch.ones(4, 4))
    function(tensor)
    function(torch.nn.Parameter(tensor))


def test_contracts_hold_cold_and_warm() -> None:
    def contract(x: Tensor[f32, "n", 8], y: Tensor["n"]) -> None: ...

    function = noop(contract)
    for _ in range(2):
        for x, y, error, text in (
            (GOOD.astype(np.float64), GOOD[:, 0], ArgumentTypeError, "argument 'x': found dtype f64; accepted: f32"),
            (GOOD[0], GOOD[:, 0], ArgumentTypeError, "argument 'x': found rank 1"),
            (GOOD[:, :7], GOOD[:, 0], ArgumentValueError, "argument 'x': found extent 7 on axis 1"),
            (GOOD, GOOD[:3, 0], ArgumentValueError, "argument 'y': found extent 3 on axis 0, named 'n'"),
        ):
            with pytest.raises(error) as refusal:
                function(x, y)
            assert text in str(refusal.value)
        function(GOOD, GOOD[:, 0])
        function(GOOD[:2], GOOD[:2, 0])
    assert len(function._states()) == 1


@pytest.mark.parametrize(
    ("dtype", "value", "error"),
    [
        (Int32, 2**31, ValueError),
        (Int32, -(2**31) - 1, ValueError),
        (Int64, 2**63, ValueError),
        (Int64, 2**200, ValueError),
        (Int8, np.int64(128), ValueError),
        (UInt8, -1, ValueError),
        (UInt64, 2**64, ValueError),
        (Float32, 1e39, ValueError),
        (Float16, 65520.0, ValueError),
        (Float32, 10**400, ValueError),
        (Int32, 1.0, TypeError),
        (Int32, True, TypeError),
        (Int32, None, TypeError),
        (Bool, 1, TypeError),
        (Float32, "1", TypeError),
        (Float32, True, TypeError),
        (Int32, np.zeros(1, np.int32), TypeError),
    ],
)
def test_scalars_out_of_range_or_kind(dtype: Any, value: Any, error: type[Exception]) -> None:
    def function(n: object) -> None: ...

    function.__annotations__["n"] = dtype
    launcher = noop(function)
    for good in (0, 0) if dtype is not Bool else (False, True):
        with pytest.raises(error, match="argument 'n'"):
            launcher(value)
        launcher(good)


def test_scalars_at_their_limits() -> None:
    def function(a: Int32, b: Int64, c: UInt64, d: UInt8) -> None: ...

    launcher = noop(function)
    assert launcher._slots(2**31 - 1, -(2**63), 2**64 - 1, np.uint8(255)) == (2**31 - 1, 2**63, 2**64 - 1, 255)
    assert launcher._slots(-(2**31), 2**63 - 1, 0, 255)[0] == 2**64 - 2**31


def test_constexprs_pointers_types_and_streams() -> None:
    def function(c: Constexpr[int], p: Pointer[f32], t: type[f32], s: Stream = None) -> None: ...

    launcher = noop(function)
    for bad, name in (
        ((True, 0, f32), "c"),
        (([1], 0, f32), "c"),
        ((1, -1, f32), "p"),
        ((1, 2**64, f32), "p"),
        ((1, "0", f32), "p"),
        ((1, GOOD.astype(np.float64), f32), "p"),
        ((1, 0, Int32), "t"),
        ((1, 0, np.float32), "t"),
        ((1, 0, f32, -1), "s"),
        ((1, 0, f32, 2**64), "s"),
        ((1, 0, f32, "0"), "s"),
    ):
        with pytest.raises(DarterError, match=f"argument '{name}'"):
            launcher(*bad)
    launcher(1, 0, f32)
    assert len(launcher._states()) == 1


@pytest.mark.parametrize("spelling", ["cuda_stream", "__cuda_stream__", "method"])
def test_spellings_of_streams(spelling: str) -> None:
    class Stream1:
        pass

    stream = Stream1()
    if spelling == "cuda_stream":
        stream.cuda_stream = 64  # type: ignore[attr-defined]
    elif spelling == "__cuda_stream__":
        stream.__cuda_stream__ = (0, 64)  # type: ignore[attr-defined]
    else:
        Stream1.__cuda_stream__ = lambda self: (0, 64)  # type: ignore[attr-defined]

    def function(x: Tensor, s: Stream) -> None: ...

    launcher = noop(function)
    launcher(GOOD, stream)
    launcher(GOOD, 7)
    launcher(GOOD, None)
    assert len(launcher._states()) == 1


def test_storing_to_a_read_only_argument_is_refused_at_the_call() -> None:
    readonly = GOOD.copy()
    readonly.flags.writeable = False
    function = noop(kernel, written=[1])
    for _ in range(2):
        with pytest.raises(ArgumentValueError, match=r"argument 'y'.*read-only"):
            function(GOOD, readonly)
        function(readonly, GOOD)
    assert len(function._states()) == 1


class OnCuda:
    """Says by DLPack that its memory is on a CUDA device, which nobody reads here."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)

    def __dlpack__(self, **options: Any) -> Any:
        capsule = np.ones(4, np.float32).__dlpack__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
        device_type = ctypes.c_int32.from_address(pointer(capsule, b"dltensor") + 8)
        device_type.value = 2
        return capsule


def test_devices_must_agree() -> None:
    other = OnCuda()
    function = noop(kernel)
    for _ in range(2):
        with pytest.raises(
            ArgumentValueError, match=r"argument 'y': found on device cuda:0, but argument 'x' is on cpu"
        ):
            function(GOOD, other)
        function(GOOD, GOOD)


def test_nested_arguments_are_named_by_their_path() -> None:
    function = noop(lambda pair: None)
    with pytest.raises(ArgumentTypeError, match=r"argument 'pair\[1\]\[0\]'"):
        function((1, ([1],)))
    with pytest.raises(ArgumentTypeError, match=r"argument 'pair'.*Constexpr"):
        function("text")
