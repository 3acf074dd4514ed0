#include "cuda/cuda_kernel.hpp"

#include <cstdio>
#include <cstring>
#include <ctime>

#include "common/errors.hpp"
#include "common/python_ref.hpp"

namespace darter::cuda {
namespace {

constexpr int kMaxParameters = 1024;
constexpr int kStaticSharedLimit = 48 * 1024;
// A launch that took longer waited for room in the stream's queue; the next ones then let other Python threads run
// meanwhile. In ticks of the processor's counter, which are 0.3 to 1 ns on x86-64 and 1 ns elsewhere.
constexpr int64_t kBlockedTicks = 60'000;
constexpr unsigned kTimedEvery = 8;

struct CudaKernel {
  KernelHandle base;  // base.code is the CudaModule
  const Api* api;
  CudaContext* context;  // borrowed from the module
  CudaModule* module;    // borrowed from base.code
  Function function;
  uint64_t owner;
  int64_t dynamic_shared_bytes;  // what the function has been allowed so far
  const char* symbol;            // the text of `symbol_text`
  PyObject* symbol_text;         // strong
  unsigned loads;                // of the module, when `function` was found in it
  unsigned launches;             // counted round, to time one in kTimedEvery
  bool queue_is_full;
};

PyTypeObject* CudaKernel_Type = nullptr;

CudaKernel* self_of(PyObject* object) { return reinterpret_cast<CudaKernel*>(object); }

// Legacy and per-thread default streams: their context is the thread's current one.
bool is_default_stream(void* stream) { return reinterpret_cast<uintptr_t>(stream) <= 2; }

int64_t now_ticks() {
#if defined(__x86_64__)
  return static_cast<int64_t>(__builtin_ia32_rdtsc());  // half the time of clock_gettime
#else
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
#endif
}

[[gnu::cold]] int raise_launch(CudaKernel* self, Result status, const int64_t grid[3], int64_t shared_bytes,
                               void* stream) {
  int max_threads = 0;
  int registers = 0;
  self->api->function_attribute(&max_threads, kMaxThreadsPerBlock, self->function);
  self->api->function_attribute(&registers, kRegisters, self->function);
  char detail[512];
  std::snprintf(detail, sizeof detail,
                "kernel '%s', grid (%lld, %lld, %lld), block (%d, %d, %d) of at most %d threads (%d registers a "
                "thread), %lld bytes of "
                "dynamic shared memory, stream 0x%llx, device %d",
                PyUnicode_AsUTF8(self->base.name), static_cast<long long>(grid[0]), static_cast<long long>(grid[1]),
                static_cast<long long>(grid[2]), self->base.block[0], self->base.block[1], self->base.block[2],
                max_threads, registers, static_cast<long long>(shared_bytes),
                static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(stream)), self->context->ordinal);
  return raise_status(status, "cuLaunchKernel", detail);
}

// Finds the function in its module, which is loaded again where it was unloaded, and has its code loaded too.
[[gnu::cold]] int find_function(CudaKernel* self) {
  if (self->module->module == nullptr && load_module(self->module) < 0) return -1;
  const Api* api = self->api;
  RelaxedCapture relaxed(api);
  CurrentContext current(api, self->context->context);
  Result status = current.status();
  if (status == kSuccess) status = api->module_function(&self->function, self->module->module, self->symbol);
  if (status != kSuccess) return raise_status(status, "cuModuleGetFunction", self->symbol);
  status = api->function_load(self->function);
  if (status != kSuccess) return raise_status(status, "cuFuncLoad", self->symbol);
  self->dynamic_shared_bytes = kStaticSharedLimit;
  self->loads = self->module->loads;
  return 0;
}

// Allows the function more dynamic shared memory than it has been; over the device's limit is an error that quotes it.
[[gnu::cold]] int allow_dynamic_shared(CudaKernel* self, int64_t shared_bytes) {
  int limit = 0;
  int fixed = 0;
  self->api->device_attribute(&limit, kSharedBytesOptIn, self->context->device);
  self->api->function_attribute(&fixed, kSharedBytes, self->function);
  if (shared_bytes + fixed > limit) {
    raise_error("GridError",
                "kernel '%U' asks for %lld bytes of dynamic and has %d bytes of static shared memory; a block of "
                "device %d has %d bytes",
                self->base.name, static_cast<long long>(shared_bytes), fixed, self->context->ordinal, limit);
    return -1;
  }
  Result status =
      self->api->function_set_attribute(self->function, kMaxDynamicSharedBytes, static_cast<int>(shared_bytes));
  if (status != kSuccess) return raise_status(status, "cuFuncSetAttribute", "dynamic shared memory");
  self->dynamic_shared_bytes = shared_bytes;
  return 0;
}

[[gnu::cold]] int raise_foreign_stream(CudaKernel* self, void* stream) {
  // %p and not %llx, which PyUnicode_FromFormat knows from 3.12 on.
  raise_error(
      "ArgumentValueError",
      "the stream %p belongs to another device than the arguments, which are on device %d; launch on a stream of "
      "that device",
      stream, self->context->ordinal);
  return -1;
}

// Checks that the stream is of the kernel's context and notes a capture, which keeps the module loaded for good.
int check_stream(CudaKernel* self, void* stream) {
  const Api* api = self->api;
  if (!is_default_stream(stream)) {
    Context context = nullptr;
    Result status = api->stream_context(static_cast<Stream>(stream), &context);
    if (status != kSuccess) return raise_status(status, "cuStreamGetCtx", "is the stream's handle still alive?");
    if (context != self->context->context) return raise_foreign_stream(self, stream);
  }
  // The legacy stream cannot be captured.
  if (!self->module->captured && reinterpret_cast<uintptr_t>(stream) > 1) {
    int capturing = kCaptureNone;
    Result status = api->stream_is_capturing(static_cast<Stream>(stream), &capturing);
    if (status == kSuccess && capturing != kCaptureNone) self->module->captured = true;
  }
  return 0;
}

Result launch_plain(CudaKernel* self, void** params, const int64_t grid[3], int64_t shared_bytes, void* stream) {
  const int32_t* block = self->base.block;
  return self->api->launch(self->function, static_cast<unsigned>(grid[0]), static_cast<unsigned>(grid[1]),
                           static_cast<unsigned>(grid[2]), static_cast<unsigned>(block[0]),
                           static_cast<unsigned>(block[1]), static_cast<unsigned>(block[2]),
                           static_cast<unsigned>(shared_bytes), static_cast<Stream>(stream), params, nullptr);
}

[[gnu::cold]] Result launch_with_attributes(CudaKernel* self, void** params, const int64_t grid[3],
                                            int64_t shared_bytes, void* stream, const LaunchAttributes& wanted) {
  LaunchAttribute attributes[3];
  std::memset(attributes, 0, sizeof attributes);
  unsigned count = 0;
  if (wanted.cluster[0] * wanted.cluster[1] * wanted.cluster[2] > 1) {
    attributes[count].id = kClusterDimension;
    for (int axis = 0; axis < 3; ++axis) attributes[count].value.cluster[axis] = wanted.cluster[axis];
    ++count;
  }
  if (wanted.cooperative) {
    attributes[count].id = kCooperative;
    attributes[count++].value.flag = 1;
  }
  if (wanted.programmatic_dependent) {
    attributes[count].id = kProgrammaticStreamSerialization;
    attributes[count++].value.flag = 1;
  }
  LaunchConfig config{};
  for (int axis = 0; axis < 3; ++axis) {
    config.grid[axis] = static_cast<unsigned>(grid[axis]);
    config.block[axis] = static_cast<unsigned>(self->base.block[axis]);
  }
  config.shared_bytes = static_cast<unsigned>(shared_bytes);
  config.stream = static_cast<Stream>(stream);
  config.attributes = attributes;
  config.attribute_count = count;
  return self->api->launch_ex(&config, self->function, params, nullptr);
}

Result submit(CudaKernel* self, void** params, const int64_t grid[3], int64_t shared_bytes, void* stream,
              const LaunchAttributes* attributes) {
  return __builtin_expect(attributes == nullptr, 1)
             ? launch_plain(self, params, grid, shared_bytes, stream)
             : launch_with_attributes(self, params, grid, shared_bytes, stream, *attributes);
}

// The launch itself; with the GIL released while the stream's queue was last seen full, since the driver then waits for
// the GPU.
Result launch_now(CudaKernel* self, void** params, const int64_t grid[3], int64_t shared_bytes, void* stream,
                  const LaunchAttributes* attributes) {
  if (__builtin_expect(++self->launches % kTimedEvery != 0 && !self->queue_is_full, 1)) {
    return submit(self, params, grid, shared_bytes, stream, attributes);
  }
  PyThreadState* thread = self->queue_is_full ? PyEval_SaveThread() : nullptr;
  const int64_t start = now_ticks();
  const Result status = submit(self, params, grid, shared_bytes, stream, attributes);
  const bool blocked = now_ticks() - start > kBlockedTicks;
  if (thread != nullptr) PyEval_RestoreThread(thread);
  self->queue_is_full = blocked;
  return status;
}

// Copies the parameters to append the two that device code with messages takes.
[[gnu::cold]] Result launch_with_messages(CudaKernel* self, void** params, const int64_t grid[3], int64_t shared_bytes,
                                          void* stream, const LaunchAttributes* attributes) {
  void* extended[kMaxParameters + 2];
  const int count = self->base.parameter_count;
  std::memcpy(extended, params, static_cast<size_t>(count) * sizeof(void*));
  extended[count] = &self->context->asserts_address;
  extended[count + 1] = &self->owner;
  return launch_now(self, extended, grid, shared_bytes, stream, attributes);
}

int launched(CudaKernel* self, void** params, const int64_t grid[3], int64_t shared_bytes, void* stream,
             const LaunchAttributes* attributes) {
  const Result status = __builtin_expect(self->base.message_count != 0, 0)
                            ? launch_with_messages(self, params, grid, shared_bytes, stream, attributes)
                            : launch_now(self, params, grid, shared_bytes, stream, attributes);
  return __builtin_expect(status == kSuccess, 1) ? 0 : raise_launch(self, status, grid, shared_bytes, stream);
}

int launch(KernelHandle* handle, void** params, const int64_t grid[3], int64_t shared_bytes, void* stream,
           const LaunchAttributes* attributes) {
  CudaKernel* self = reinterpret_cast<CudaKernel*>(handle);
  if (__builtin_expect(self->context->asserts->count != 0, 0) && raise_recorded_assert(self->context) < 0) return -1;
  if (__builtin_expect(self->loads != self->module->loads, 0) && find_function(self) < 0) return -1;
  if (check_stream(self, stream) < 0) return -1;
  if (__builtin_expect(shared_bytes > self->dynamic_shared_bytes, 0) && allow_dynamic_shared(self, shared_bytes) < 0)
    return -1;
  // Only a default stream needs the context to be current; the others know theirs.
  Context previous = self->context->context;
  if (is_default_stream(stream)) {
    const Result found = self->api->context_current(&previous);
    if (__builtin_expect(found != kSuccess, 0)) return raise_status(found, "cuCtxGetCurrent", "");
    if (__builtin_expect(previous != self->context->context, 0)) {
      CurrentContext current(self->api, self->context->context);
      if (current.status() != kSuccess) return raise_status(current.status(), "cuCtxPushCurrent", "");
      return launched(self, params, grid, shared_bytes, stream, attributes);
    }
  }
  return launched(self, params, grid, shared_bytes, stream, attributes);
}

void kernel_dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  Py_XDECREF(self_of(object)->base.code);
  Py_XDECREF(self_of(object)->base.name);
  Py_XDECREF(self_of(object)->symbol_text);
  type->tp_free(object);
  Py_DECREF(type);
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
  self->base.launch = launch;
  self->base.code = Py_NewRef(reinterpret_cast<PyObject*>(module));
  self->base.name = Py_NewRef(name);
  self->base.parameter_count = shape.parameters;
  self->base.message_count = shape.messages;
  for (int axis = 0; axis < 3; ++axis) self->base.block[axis] = shape.block[axis];
  self->api = module->context->api;
  self->context = module->context;
  self->module = module;
  self->symbol = text;
  self->symbol_text = Py_NewRef(symbol);
  self->owner = static_cast<uint64_t>(module->number) << 32 | shape.index;
  return find_function(self) < 0 ? nullptr : object.release();
}

bool register_cuda_kernel(PyObject* module) {
  PyObject* bases = reinterpret_cast<PyObject*>(KernelHandle_Type);
  CudaKernel_Type = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &spec, bases));
  return CudaKernel_Type != nullptr && PyModule_AddType(module, CudaKernel_Type) == 0;
}

}  // namespace darter::cuda
