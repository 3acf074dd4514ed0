#include "cuda/cuda_kernel.hpp"

#include "common/errors.hpp"
#include "common/python_ref.hpp"
#include "cuda/cuda_launch.hpp"

namespace darter::cuda {
namespace {

constexpr int kMaxParameters = 1024;

PyTypeObject* CudaKernel_Type = nullptr;

CudaKernel* self_of(PyObject* object) { return reinterpret_cast<CudaKernel*>(object); }

void kernel_dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  Py_XDECREF(self_of(object)->base.code);
  Py_XDECREF(self_of(object)->base.name);
  Py_XDECREF(self_of(object)->symbol_text);
  PyMem_Free(const_cast<uint16_t*>(self_of(object)->base.offsets));
  type->tp_free(object);
  Py_DECREF(type);
}

// Asks the driver where the parameters of the function stand; 0, or -1 with an exception set.
int find_offsets(CudaKernel* self) {
  // Device code with messages has two more.
  const int count = self->base.parameter_count + (self->base.message_count != 0 ? 2 : 0);
  auto* offsets = PyMem_New(uint16_t, static_cast<size_t>(count) + 1);
  if (offsets == nullptr) return PyErr_NoMemory(), -1;
  self->base.offsets = offsets;
  for (int i = 0; i < count; ++i) {
    size_t offset = 0;
    size_t bytes = 0;
    const Result status = self->api->parameter_info(self->function, static_cast<size_t>(i), &offset, &bytes);
    if (status != kSuccess) return raise_status(status, "cuFuncGetParamInfo", self->symbol);
    if (bytes > sizeof(uint64_t) || offset > UINT16_MAX || offset < self->base.packed_bytes) {
      raise_error("ArtifactError", "parameter %d of kernel '%s' has %zu bytes at %zu", i, self->symbol, bytes, offset);
      return -1;
    }
    offsets[i] = static_cast<uint16_t>(offset);
    self->base.packed_bytes = static_cast<uint32_t>(offset + bytes);
  }
  return 0;
}

// resources(dynamic_shared_bytes=0) -> dict
PyObject* kernel_resources(PyObject* object, PyObject* args) {
  CudaKernel* self = self_of(object);
  int dynamic_shared_bytes = 0;
  if (!PyArg_ParseTuple(args, "|i", &dynamic_shared_bytes)) return nullptr;
  if (self->loads != self->module->loads && find_function(self) < 0) return nullptr;
  const Api* api = self->api;
  CurrentContext current(api, self->context->context);
  int registers = 0;
  int shared = 0;
  int local = 0;
  int threads = 0;
  int blocks = 0;
  int most = 0;
  const int* block = self->base.block;
  Result status = current.status();
  if (status == kSuccess) status = api->function_attribute(&registers, kRegisters, self->function);
  if (status == kSuccess) status = api->function_attribute(&shared, kSharedBytes, self->function);
  if (status == kSuccess) status = api->function_attribute(&local, kLocalBytes, self->function);
  if (status == kSuccess) status = api->function_attribute(&threads, kMaxThreadsPerBlock, self->function);
  if (status == kSuccess) {
    status = api->occupancy(&blocks, self->function, block[0] * block[1] * block[2],
                            static_cast<size_t>(dynamic_shared_bytes));
  }
  if (status == kSuccess) {
    status = api->device_attribute(&most, kThreadsPerMultiprocessor, self->context->device);
  }
  if (status != kSuccess) return raise_status(status, "cuFuncGetAttribute", ""), nullptr;
  const int resident = block[0] * block[1] * block[2] * blocks;
  return Py_BuildValue("{s:i,s:i,s:i,s:i,s:i,s:i}", "registers", registers, "shared_bytes", shared, "local_bytes",
                       local, "max_threads", threads, "blocks_per_multiprocessor", blocks, "occupancy_percent",
                       most > 0 ? resident * 100 / most : 0);
}

PyMethodDef methods[] = {
    {"resources", kernel_resources, METH_VARARGS,
     "resources(dynamic_shared_bytes=0) -> dict of registers a thread, static shared and local (spill) bytes, threads, "
     "occupancy."},
    {},
};

PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(kernel_dealloc)},
    {Py_tp_methods, methods},
    {Py_tp_doc, const_cast<char*>("A kernel of a loaded cubin.")},
    {},
};

PyType_Spec spec = {"darter._native.CudaKernel", sizeof(CudaKernel), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

PyObject* make_kernel(CudaModule* module, PyObject* symbol, PyObject* name, const KernelShape& shape) {
  if (shape.parameters < 0 || shape.parameters > kMaxParameters) {
    return raise_error("DriverError", "kernel '%U' has %d parameters", symbol, shape.parameters);
  }
  const char* text = PyUnicode_AsUTF8(symbol);
  PythonRef object(text != nullptr ? CudaKernel_Type->tp_alloc(CudaKernel_Type, 0) : nullptr);
  if (!object) return nullptr;
  CudaKernel* self = self_of(object.get());
  self->base.launch = launch_kernel;
  self->base.code = Py_NewRef(reinterpret_cast<PyObject*>(module));
  self->base.name = Py_NewRef(name);
  self->base.parameter_count = shape.parameters;
  self->base.message_count = shape.messages;
  for (int axis = 0; axis < 3; ++axis) self->base.block[axis] = shape.block[axis];
  self->api = module->context->api;
  self->context = module->context;
  self->context_handle = module->context->context;
  self->asserts = module->context->asserts;
  self->launch = self->api->launch;
  self->module = module;
  self->symbol = text;
  self->symbol_text = Py_NewRef(symbol);
  self->owner = static_cast<uint64_t>(module->number) << 32 | shape.index;
  return find_function(self) < 0 || find_offsets(self) < 0 ? nullptr : object.release();
}

bool register_cuda_kernel(PyObject* module) {
  PyObject* bases = reinterpret_cast<PyObject*>(KernelHandle_Type);
  CudaKernel_Type = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &spec, bases));
  return CudaKernel_Type != nullptr && PyModule_AddType(module, CudaKernel_Type) == 0;
}

}  // namespace darter::cuda
