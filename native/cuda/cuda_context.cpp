#include "cuda/cuda_context.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>

#include "common/errors.hpp"
#include "common/python_ref.hpp"
#include "cuda/cuda_module.hpp"

namespace darter::cuda {

PyTypeObject* CudaContext_Type = nullptr;

namespace {

CudaContext* self_of(PyObject* object) { return reinterpret_cast<CudaContext*>(object); }

// Runs `call` with the context current; returns false with an exception set when either fails.
template <typename Call>
bool in_context(CudaContext* self, const char* name, Call call) {
  CurrentContext current(self->api, self->context);
  Result status = current.status();
  if (status != kSuccess) {
    raise_status(status, "cuCtxPushCurrent", "");
    return false;
  }
  status = call();
  if (status == kSuccess) return true;
  raise_status(status, name, "");
  return false;
}

bool allocate_asserts(CudaContext* self) {
  const Api* api = self->api;
  void* memory = nullptr;
  RelaxedCapture relaxed(api);
  return in_context(self, "cuMemHostAlloc", [&] {
    Result status = api->host_alloc(&memory, sizeof(AssertBuffer), kHostAllocMapped | kHostAllocPortable);
    if (status != kSuccess) return status;
    std::memset(memory, 0, sizeof(AssertBuffer));
    self->asserts = static_cast<AssertBuffer*>(memory);
    return api->host_device_pointer(&self->asserts_address, memory, 0);
  });
}

// CudaContext(ordinal, on_assert, driver=None)
PyObject* context_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"ordinal", "on_assert", "driver", nullptr};
  int ordinal = 0;
  PyObject* on_assert = nullptr;
  const char* path = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "iO|z", const_cast<char**>(names), &ordinal, &on_assert, &path)) {
    return nullptr;
  }
  const Api* api = open(path);
  if (api == nullptr) return nullptr;
  PythonRef object(type->tp_alloc(type, 0));
  if (!object) return nullptr;
  CudaContext* self = self_of(object.get());
  self->api = api;
  self->ordinal = ordinal;
  self->on_assert = Py_NewRef(on_assert);
  Result status = api->device_get(&self->device, ordinal);
  if (status != kSuccess) return raise_status(status, "cuDeviceGet", ""), nullptr;
  status = api->primary_retain(&self->context, self->device);
  if (status != kSuccess) return raise_status(status, "cuDevicePrimaryCtxRetain", ""), nullptr;
  if (!allocate_asserts(self)) return nullptr;
  return object.release();
}

int context_traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self_of(object)->on_assert);
  return 0;
}

int context_clear(PyObject* object) {
  Py_CLEAR(self_of(object)->on_assert);
  return 0;
}

// The primary context and the assert buffer are kept: launches in flight and captured graphs may still use them, and at
// interpreter exit the driver may already be gone.
void context_dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  context_clear(object);
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* context_capability(PyObject* object, PyObject*) {
  CudaContext* self = self_of(object);
  int major = 0;
  int minor = 0;
  Result status = self->api->device_attribute(&major, kCapabilityMajor, self->device);
  if (status == kSuccess) status = self->api->device_attribute(&minor, kCapabilityMinor, self->device);
  if (status != kSuccess) return raise_status(status, "cuDeviceGetAttribute", ""), nullptr;
  return Py_BuildValue("ii", major, minor);
}

PyObject* context_name(PyObject* object, PyObject*) {
  CudaContext* self = self_of(object);
  char name[256] = {};
  Result status = self->api->device_name(name, sizeof name - 1, self->device);
  if (status != kSuccess) return raise_status(status, "cuDeviceGetName", ""), nullptr;
  return PyUnicode_FromString(name);
}

PyObject* context_load(PyObject* object, PyObject* args) {
  PyObject* image = nullptr;
  unsigned number = 0;
  if (!PyArg_ParseTuple(args, "SI", &image, &number)) return nullptr;
  return make_module(self_of(object), image, number);
}

// link(ptx, max_registers) -> bytes: a cubin for this device, made by the driver's own assembler, with the line table
// that the text's .loc directives make.
PyObject* context_link(PyObject* object, PyObject* args) {
  CudaContext* self = self_of(object);
  const char* ptx = nullptr;
  Py_ssize_t ptx_bytes = 0;
  unsigned max_registers = 0;
  if (!PyArg_ParseTuple(args, "s#I", &ptx, &ptx_bytes, &max_registers)) return nullptr;
  const Api* api = self->api;
  char log[8192] = {};
  int options[] = {kErrorLog, kErrorLogBytes, kGenerateLineInfo, kMaxRegisters};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log), reinterpret_cast<void*>(uintptr_t{1}),
                    reinterpret_cast<void*>(static_cast<uintptr_t>(max_registers))};
  const unsigned option_count = max_registers != 0 ? 4 : 3;
  RelaxedCapture relaxed(api);
  CurrentContext current(api, self->context);
  if (current.status() != kSuccess) return raise_status(current.status(), "cuCtxPushCurrent", ""), nullptr;
  LinkState link = nullptr;
  Result status = api->link_create(option_count, options, values, &link);
  if (status != kSuccess) return raise_status(status, "cuLinkCreate", log), nullptr;
  void* image = nullptr;
  size_t image_bytes = 0;
  // The text's terminating zero is part of what the assembler reads.
  Py_BEGIN_ALLOW_THREADS;
  status = api->link_add(link, kPtx, const_cast<char*>(ptx), static_cast<size_t>(ptx_bytes) + 1, "darter", 0, nullptr,
                         nullptr);
  if (status == kSuccess) status = api->link_complete(link, &image, &image_bytes);
  Py_END_ALLOW_THREADS;
  PyObject* result = nullptr;
  if (status == kSuccess) {
    result = PyBytes_FromStringAndSize(static_cast<const char*>(image), static_cast<Py_ssize_t>(image_bytes));
  } else {
    raise_status(status, "cuLinkComplete", log);
  }
  api->link_destroy(link);
  return result;
}

PyObject* context_synchronize(PyObject* object, PyObject*) {
  CudaContext* self = self_of(object);
  CurrentContext current(self->api, self->context);
  Result status = current.status();
  if (status == kSuccess) {
    Py_BEGIN_ALLOW_THREADS;
    status = self->api->context_synchronize();
    Py_END_ALLOW_THREADS;
  }
  if (status != kSuccess) return raise_status(status, "cuCtxSynchronize", ""), nullptr;
  if (raise_recorded_assert(self) < 0) return nullptr;
  Py_RETURN_NONE;
}

PyObject* context_is_capturing(PyObject* object, PyObject* stream_object) {
  CudaContext* self = self_of(object);
  void* stream = PyLong_AsVoidPtr(stream_object);
  if (stream == nullptr && PyErr_Occurred() != nullptr) return nullptr;
  int capturing = kCaptureNone;
  if (!in_context(self, "cuStreamIsCapturing",
                  [&] { return self->api->stream_is_capturing(static_cast<Stream>(stream), &capturing); })) {
    return nullptr;
  }
  return PyBool_FromLong(capturing != kCaptureNone);
}

PyObject* context_attribute(PyObject* object, PyObject* number) {
  CudaContext* self = self_of(object);
  const long attribute = PyLong_AsLong(number);
  if (attribute == -1 && PyErr_Occurred() != nullptr) return nullptr;
  int value = 0;
  Result status = self->api->device_attribute(&value, static_cast<int>(attribute), self->device);
  if (status != kSuccess) return raise_status(status, "cuDeviceGetAttribute", ""), nullptr;
  return PyLong_FromLong(value);
}

PyMethodDef context_methods[] = {
    {"capability", context_capability, METH_NOARGS, "Return (major, minor) of the device."},
    {"name", context_name, METH_NOARGS, "Return the device's name."},
    {"attribute", context_attribute, METH_O, "Return a CUdevice_attribute by number."},
    {"load", context_load, METH_VARARGS, "load(cubin, number) -> CudaModule."},
    {"link", context_link, METH_VARARGS, "link(ptx, max_registers) -> cubin bytes for this device."},
    {"synchronize", context_synchronize, METH_NOARGS, "Wait for all work; raise what device code recorded."},
    {"is_capturing", context_is_capturing, METH_O, "Return whether the stream (its address) is being captured."},
    {},
};

PyType_Slot context_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(context_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(context_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(context_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(context_clear)},
    {Py_tp_methods, context_methods},
    {Py_tp_doc, const_cast<char*>("A device's primary context, retained for the life of the process.")},
    {},
};

PyType_Spec context_spec = {"darter._native.CudaContext", sizeof(CudaContext), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, context_slots};

PyObject* device_count(PyObject*, PyObject* args) {
  const char* path = nullptr;
  if (!PyArg_ParseTuple(args, "|z", &path)) return nullptr;
  const Api* api = open(path);
  if (api == nullptr) return nullptr;
  int count = 0;
  Result status = api->device_count(&count);
  if (status != kSuccess) return raise_status(status, "cuDeviceGetCount", ""), nullptr;
  return PyLong_FromLong(count);
}

PyObject* driver_version(PyObject*, PyObject* args) {
  const char* path = nullptr;
  if (!PyArg_ParseTuple(args, "|z", &path)) return nullptr;
  const Api* api = open(path);
  if (api == nullptr) return nullptr;
  int version = 0;
  Result status = api->driver_version(&version);
  if (status != kSuccess) return raise_status(status, "cuDriverGetVersion", ""), nullptr;
  return PyLong_FromLong(version);
}

PyObject* pointer_device(PyObject*, PyObject* args) {
  unsigned long long address = 0;
  const char* path = nullptr;
  if (!PyArg_ParseTuple(args, "K|z", &address, &path)) return nullptr;
  const Api* api = open(path);
  if (api == nullptr) return nullptr;
  const int ordinal = device_of_pointer(api, address);
  return ordinal < 0 ? nullptr : PyLong_FromLong(ordinal);
}

PyMethodDef functions[] = {
    {"cuda_pointer_device", pointer_device, METH_VARARGS,
     "cuda_pointer_device(address, driver=None) -> int, its device"},
    {"cuda_device_count", device_count, METH_VARARGS, "cuda_device_count(driver=None) -> int"},
    {"cuda_driver_version", driver_version, METH_VARARGS, "cuda_driver_version(driver=None) -> int, 12040 for 12.4"},
    {},
};

}  // namespace

int device_of_pointer(const Api* api, uint64_t address) {
  int ordinal = 0;
  Result status = api->pointer_attribute(&ordinal, kDeviceOrdinal, address);
  if (status == kSuccess) return ordinal;
  char detail[64];
  std::snprintf(detail, sizeof detail, "0x%llx is no address of device memory",
                static_cast<unsigned long long>(address));
  return raise_status(status, "cuPointerGetAttribute", detail);
}

int raise_recorded_assert(CudaContext* context) {
  AssertBuffer* buffer = context->asserts;
  auto* shared_count = reinterpret_cast<std::atomic<uint32_t>*>(&buffer->count);
  const uint32_t count = shared_count->load(std::memory_order_acquire);
  if (count == 0) return 0;
  for (uint32_t i = 0; i < std::min(count, kAssertRecords); ++i) {
    AssertRecord& record = buffer->records[i];
    if (reinterpret_cast<std::atomic<uint32_t>*>(&record.ready)->load(std::memory_order_acquire) == 0) continue;
    PythonRef operands(PyTuple_New(8));
    if (!operands) return -1;
    for (Py_ssize_t k = 0; k < 8; ++k) {
      PyObject* word = PyLong_FromUnsignedLongLong(record.operands[k]);
      if (word == nullptr) return -1;
      PyTuple_SET_ITEM(operands.get(), k, word);
    }
    const AssertRecord copy = record;
    std::memset(buffer, 0, sizeof *buffer);
    PythonRef result(PyObject_CallFunction(context->on_assert, "KIKKOI", static_cast<unsigned long long>(copy.owner),
                                           copy.message, static_cast<unsigned long long>(copy.block),
                                           static_cast<unsigned long long>(copy.thread), operands.get(), count));
    return result ? 0 : -1;
  }
  return 0;  // a record is still being written; the next launch or synchronise finds it
}

bool register_cuda_context(PyObject* module) {
  CudaContext_Type = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &context_spec, nullptr));
  return CudaContext_Type != nullptr && PyModule_AddType(module, CudaContext_Type) == 0 &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace darter::cuda
