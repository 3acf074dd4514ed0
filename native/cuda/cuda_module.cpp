#include "cuda/cuda_module.hpp"

#include <cstdio>

#include "common/errors.hpp"
#include "common/python_ref.hpp"
#include "cuda/cuda_kernel.hpp"

namespace darter::cuda {

PyTypeObject* CudaModule_Type = nullptr;

namespace {

CudaModule* self_of(PyObject* object) { return reinterpret_cast<CudaModule*>(object); }

// Kernels hold their module, so nothing can be launched any more. The code stays loaded all the same: launches in
// flight and captured graphs may still run it; only unload() takes it away.
void module_dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  Py_XDECREF(self_of(object)->context);
  Py_XDECREF(self_of(object)->image);
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* module_kernel(PyObject* object, PyObject* args) {
  CudaModule* self = self_of(object);
  PyObject* symbol = nullptr;
  PyObject* name = nullptr;
  KernelShape shape{};
  if (!PyArg_ParseTuple(args, "UUIii(iii)", &symbol, &name, &shape.index, &shape.parameters, &shape.messages,
                        &shape.block[0], &shape.block[1], &shape.block[2])) {
    return nullptr;
  }
  if (self->module == nullptr && load_module(self) < 0) return nullptr;
  return make_kernel(self, symbol, name, shape);
}

PyObject* module_unload(PyObject* object, PyObject*) {
  CudaModule* self = self_of(object);
  if (self->module == nullptr || self->captured) return PyBool_FromLong(self->module == nullptr);
  const Api* api = self->context->api;
  CurrentContext current(api, self->context->context);
  Result status = current.status();
  // Launches that are still running use the code.
  if (status == kSuccess) status = api->context_synchronize();
  if (status == kSuccess) status = api->module_unload(self->module);
  if (status != kSuccess) return raise_status(status, "cuModuleUnload", ""), nullptr;
  self->module = nullptr;
  ++self->loads;
  Py_RETURN_TRUE;
}

PyObject* module_captured(PyObject* object, void*) { return PyBool_FromLong(self_of(object)->captured); }

PyMethodDef methods[] = {
    {"kernel", module_kernel, METH_VARARGS, "kernel(symbol, name, index, parameters, messages, block) -> CudaKernel."},
    {"unload", module_unload, METH_NOARGS, "Unload the code unless a capture used it; return whether it is unloaded."},
    {},
};

PyObject* module_loaded(PyObject* object, void*) { return PyBool_FromLong(self_of(object)->module != nullptr); }

PyGetSetDef properties[] = {
    {"captured", module_captured, nullptr, "Whether a stream capture holds a launch.", nullptr},
    {"loaded", module_loaded, nullptr, "Whether the code is in the context; a launch loads it again.", nullptr},
    {},
};

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

int load_module(CudaModule* self) {
  const Api* api = self->context->api;
  Module loaded = nullptr;
  Result status = kSuccess;
  {
    RelaxedCapture relaxed(api);
    CurrentContext current(api, self->context->context);
    status = current.status();
    // The driver reads the size from the ELF header.
    if (status == kSuccess) status = api->module_load(&loaded, PyBytes_AS_STRING(self->image), 0, nullptr, nullptr);
  }
  if (status != kSuccess) {
    char detail[96];
    std::snprintf(detail, sizeof detail, "a cubin of %lld bytes on device %d",
                  static_cast<long long>(PyBytes_GET_SIZE(self->image)), self->context->ordinal);
    return raise_status(status, "cuModuleLoadDataEx", detail);
  }
  self->module = loaded;
  return 0;
}

PyObject* make_module(CudaContext* context, PyObject* image, unsigned number) {
  PythonRef object(CudaModule_Type->tp_alloc(CudaModule_Type, 0));
  if (!object) return nullptr;
  CudaModule* self = self_of(object.get());
  self->context = reinterpret_cast<CudaContext*>(Py_NewRef(reinterpret_cast<PyObject*>(context)));
  self->image = Py_NewRef(image);
  self->number = number;
  return load_module(self) < 0 ? nullptr : object.release();
}

bool register_cuda_module(PyObject* module) {
  CudaModule_Type = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &spec, nullptr));
  return CudaModule_Type != nullptr && PyModule_AddType(module, CudaModule_Type) == 0;
}

}  // namespace darter::cuda
