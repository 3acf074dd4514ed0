#include "cuda_module.hpp"

#include <cstdio>

#include "cuda_kernel.hpp"
#include "errors.hpp"
#include "python_ref.hpp"

namespace darter::cuda {

PyTypeObject* CudaModule_Type = nullptr;

namespace {

CudaModule* self_of(PyObject* object) { return reinterpret_cast<CudaModule*>(object); }

// Kernels hold their module, so nothing can be launched any more. The code stays loaded all the same: launches in
// flight and captured graphs may still run it; only unload() takes it away.
void module_dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  Py_XDECREF(self_of(object)->context);
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* module_kernel(PyObject* object, PyObject* args) {
  CudaModule* self = self_of(object);
  const char* symbol = nullptr;
  PyObject* name = nullptr;
  KernelShape shape{};
  if (!PyArg_ParseTuple(args, "sUIii(iii)", &symbol, &name, &shape.index, &shape.parameters, &shape.messages,
                        &shape.block[0], &shape.block[1], &shape.block[2])) {
    return nullptr;
  }
  if (self->module == nullptr) return raise_error("DriverError", "kernel '%s': its module has been unloaded", symbol);
  return make_kernel(self, symbol, name, shape);
}

PyObject* module_unload(PyObject* object, PyObject*) {
  CudaModule* self = self_of(object);
  if (self->module == nullptr || self->captured) return PyBool_FromLong(self->module == nullptr);
  CurrentContext current(self->context->api, self->context->context);
  Result status = current.status();
  if (status == kSuccess) status = self->context->api->module_unload(self->module);
  if (status != kSuccess) return raise_status(status, "cuModuleUnload", ""), nullptr;
  self->module = nullptr;
  Py_RETURN_TRUE;
}

PyObject* module_captured(PyObject* object, void*) { return PyBool_FromLong(self_of(object)->captured); }

PyMethodDef methods[] = {
    {"kernel", module_kernel, METH_VARARGS, "kernel(symbol, name, index, parameters, messages, block) -> CudaKernel."},
    {"unload", module_unload, METH_NOARGS, "Unload the code unless a capture used it; return whether it is unloaded."},
    {},
};

PyGetSetDef properties[] = {{"captured", module_captured, nullptr, "Whether a stream capture holds a launch.", nullptr},
                            {}};

PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(module_dealloc)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_doc, const_cast<char*>("A cubin loaded into a context.")},
    {},
};

PyType_Spec spec = {"darter._native.CudaModule", sizeof(CudaModule), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

PyObject* load_module(CudaContext* context, const char* image, Py_ssize_t image_bytes, unsigned number) {
  const Api* api = context->api;
  Module loaded = nullptr;
  Result status = kSuccess;
  {
    RelaxedCapture relaxed(api);
    CurrentContext current(api, context->context);
    status = current.status();
    // The driver reads the size from the ELF header.
    if (status == kSuccess) status = api->module_load(&loaded, image, 0, nullptr, nullptr);
  }
  if (status != kSuccess) {
    char detail[96];
    std::snprintf(detail, sizeof detail, "a cubin of %lld bytes on device %d", static_cast<long long>(image_bytes),
                  context->ordinal);
    raise_status(status, "cuModuleLoadDataEx", detail);
    return nullptr;
  }
  PyObject* object = CudaModule_Type->tp_alloc(CudaModule_Type, 0);
  if (object == nullptr) return nullptr;
  CudaModule* self = self_of(object);
  self->context = reinterpret_cast<CudaContext*>(Py_NewRef(reinterpret_cast<PyObject*>(context)));
  self->module = loaded;
  self->number = number;
  self->captured = false;
  return object;
}

bool register_cuda_module(PyObject* module) {
  CudaModule_Type = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &spec, nullptr));
  return CudaModule_Type != nullptr && PyModule_AddType(module, CudaModule_Type) == 0;
}

}  // namespace darter::cuda
