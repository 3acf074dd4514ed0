"""Reads torch tensors.  Torch is never imported: an argument that is a torch tensor means that it has been."""

from __future__ import annotations

import sys
from typing import Any

from darter.dtypes import ALL, ScalarType
from darter.signature.view import CPU, CUDA, ROCM, TensorView, checked_view, wrong_dtype, wrong_kind

_BY_TORCH_NAME = {dtype.numpy_name: dtype for dtype in ALL}


def torch_scalar_type(dtype: Any) -> ScalarType | None:
    """Return the scalar type of a ``torch.dtype``, or None where there is none."""
    return _BY_TORCH_NAME.get(str(dtype).removeprefix("torch."))


def read_torch(name: str, tensor: Any) -> TensorView:
    """Return the view of a torch tensor; tensors that require grad are read like others and record nothing.

    Raises ``ArgumentTypeError`` for what is not plain memory (subclasses, wrappers, layouts, dtypes, a pending
    conjugation or negation), and ``ArgumentValueError`` for freed storage.
    """
    torch = sys.modules["torch"]
    _refuse_subclass(name, torch, tensor)
    tensor = _without_wrappers(name, torch, tensor)
    _refuse_no_plain_memory(name, torch, tensor)
    scalar = torch_scalar_type(tensor.dtype)
    if scalar is None:
        way_out = "Pass x.real and x.imag." if tensor.dtype.is_complex else ""
        raise wrong_dtype(name, str(tensor.dtype), way_out)
    _refuse_pending(name, tensor)
    device = _device(name, torch, tensor)
    shape, strides = tuple(tensor.shape), tuple(tensor.stride())
    return checked_view(name, tensor.data_ptr(), scalar, shape, strides, device, readonly=False)


def _refuse_subclass(name: str, torch: Any, tensor: Any) -> None:
    cls = type(tensor)
    if cls is torch.Tensor or cls is torch.nn.Parameter:
        return
    shown = f"a {cls.__module__}.{cls.__qualname__}, a subclass of torch.Tensor"
    if cls.__name__ == "FakeTensor":
        way_out = "it has no memory; call the launcher outside FakeTensorMode, or register it as a custom op."
    elif cls.__name__ == "UninitializedParameter":
        way_out = "run the lazy module once before the call."
    else:
        way_out = "pass the plain tensor under it, for example x.as_subclass(torch.Tensor) where that is what it holds."
    raise wrong_kind(name, shown, f"accepted: torch.Tensor and torch.nn.Parameter. Way out: {way_out}")


def _without_wrappers(name: str, torch: Any, tensor: Any) -> Any:
    """Return the tensor under the wrappers of ``torch.func.grad``; refuses those of vmap and functionalize."""
    functorch = torch._C._functorch
    while functorch.is_functorch_wrapped_tensor(tensor):
        if functorch.is_batchedtensor(tensor):
            raise wrong_kind(
                name,
                "a tensor wrapped by torch.func.vmap",
                "a launch would see one batch of it. Call the launcher outside vmap, with the batch axis as an axis.",
            )
        if not functorch.is_gradtrackingtensor(tensor):
            break
        tensor = functorch.get_unwrapped(tensor)
        _refuse_subclass(name, torch, tensor)
    if torch._is_functional_tensor(tensor):
        raise wrong_kind(
            name,
            "a tensor wrapped by torch.func.functionalize",
            "it has no memory of its own. Call the launcher outside functionalize, or register it as a custom op.",
        )
    return tensor


def _refuse_no_plain_memory(name: str, torch: Any, tensor: Any) -> None:
    if tensor.is_nested:
        raise wrong_kind(name, "a nested tensor", "pass its values() and offsets() as two arguments.")
    if tensor.is_quantized:
        raise wrong_kind(
            name,
            f"a quantised tensor ({tensor.dtype})",
            "pass x.int_repr() with scale and zero point, or x.dequantize().",
        )
    if tensor.layout is not torch.strided:
        if tensor.layout is torch._mkldnn:
            raise wrong_kind(name, "a tensor in the mkldnn layout", "convert it with x.to_dense().")
        raise wrong_kind(
            name,
            f"a sparse tensor ({tensor.layout})",
            "pass its indices and values as separate arguments, or x.to_dense().",
        )
    if tensor.is_meta:
        raise wrong_kind(name, "a meta tensor", "it has no memory; make it on a device, for example x.to_empty(...).")


def _refuse_pending(name: str, tensor: Any) -> None:
    if tensor.is_conj():
        raise wrong_kind(name, "a tensor with a pending conjugation", "apply it first with x.resolve_conj().")
    if tensor.is_neg():
        raise wrong_kind(name, "a tensor with a pending negation", "apply it first with x.resolve_neg().")
    if tensor._is_zerotensor():
        raise wrong_kind(name, "torch's zero tensor, which has no memory", "make it real with x.clone().")


def _device(name: str, torch: Any, tensor: Any) -> tuple[int, int]:
    device = tensor.device
    if device.type == "cpu":
        return CPU, 0
    if device.type == "cuda":
        return (ROCM if torch.version.hip else CUDA), device.index or 0
    raise wrong_kind(name, f"a tensor on device {device}", "accepted: cpu and cuda devices. Move it to one of those.")
