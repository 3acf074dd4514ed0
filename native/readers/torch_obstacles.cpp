#include "readers/torch_obstacles.hpp"

namespace darter {
namespace {

bool property_is_true(PyObject* object, const char* name) {
  Ref value(PyObject_GetAttrString(object, name));
  const int truth = value ? PyObject_IsTrue(value.get()) : -1;
  if (truth < 0) PyErr_Clear();
  return truth == 1;
}

}  // namespace

bool method_is_true(PyObject* object, const char* method) {
  Ref value(PyObject_CallMethod(object, method, nullptr));
  const int truth = value ? PyObject_IsTrue(value.get()) : -1;
  if (truth < 0) PyErr_Clear();
  return truth == 1;
}

bool functorch_says(PyObject* object, const char* function) {
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "torch._C._functorch");
  if (module == nullptr) return false;
  Ref value(PyObject_CallMethod(module, function, "O", object));
  const int truth = value ? PyObject_IsTrue(value.get()) : -1;
  if (truth < 0) PyErr_Clear();
  return truth == 1;
}

const char* torch_obstacle(PyObject* object) {
  if (functorch_says(object, "is_batchedtensor")) {
    return "found a torch.func.vmap wrapper, which has no memory of its own; call the launcher outside of vmap";
  }
  if (property_is_true(object, "is_meta")) {
    return "found a meta tensor, which has no data; pass a tensor on the CPU or a GPU";
  }
  if (method_is_true(object, "is_neg")) return "found a tensor with the negative bit set; pass tensor.resolve_neg()";
  if (method_is_true(object, "is_conj")) return "found a tensor with the conjugate bit set; pass tensor.resolve_conj()";
  if (property_is_true(object, "is_sparse") || property_is_true(object, "is_sparse_csr")) {
    return "found a sparse tensor; accepted: dense tensors. Pass tensor.to_dense()";
  }
  if (property_is_true(object, "is_mkldnn")) return "found an mkldnn tensor; pass tensor.to_dense()";
  if (property_is_true(object, "is_quantized")) {
    return "found a quantised tensor; pass tensor.int_repr() or tensor.dequantize()";
  }
  if (property_is_true(object, "is_nested")) return "found a nested tensor; pass its dense parts";
  return "found a tensor whose memory is not its value (a functional, lazy or zero tensor, or a device that darter "
         "does "
         "not know); pass a plain dense tensor, such as tensor.clone()";
}

}  // namespace darter
