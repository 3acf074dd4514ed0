// The last steps of a warm call on a CUDA device: what must hold before the driver is called, and the call.
#include "cuda/cuda_launch.hpp"

#include <cstdio>
#include <cstring>
#include <ctime>

#include "common/errors.hpp"

namespace darter::cuda {
namespace {

constexpr int kStaticSharedLimit = 48 * 1024;
// A launch that took longer waited for room in the stream's queue; the next ones then let other Python threads run
// meanwhile. In ticks of the processor's counter, which are 0.3 to 1 ns on x86-64 and 1 ns elsewhere.
constexpr int64_t kBlockedTicks = 60'000;
constexpr unsigned kTimedEvery = 8;

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

[[gnu::cold]] int raise_launch(CudaKernel* self, Result status, const LaunchConfig& config) {
  int max_threads = 0;
  int registers = 0;
  self->api->function_attribute(&max_threads, kMaxThreadsPerBlock, self->function);
  self->api->function_attribute(&registers, kRegisters, self->function);
  char detail[512];
  std::snprintf(detail, sizeof detail,
                "kernel '%s', grid (%u, %u, %u), block (%u, %u, %u) of at most %d threads (%d registers a "
                "thread), %u bytes of "
                "dynamic shared memory, stream 0x%llx, device %d",
                PyUnicode_AsUTF8(self->base.name), config.grid[0], config.grid[1], config.grid[2], config.block[0],
                config.block[1], config.block[2], max_threads, registers, config.shared_bytes,
                static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(config.stream)), self->context->ordinal);
  return raise_status(status, "cuLaunchKernelEx", detail);
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
    if (context != self->context_handle) return raise_foreign_stream(self, stream);
  }
  // The legacy stream cannot be captured.
  if (!self->module->captured && reinterpret_cast<uintptr_t>(stream) > 1) {
    int capturing = kCaptureNone;
    Result status = api->stream_is_capturing(static_cast<Stream>(stream), &capturing);
    if (status == kSuccess && capturing != kCaptureNone) self->module->captured = true;
  }
  return 0;
}

// cuLaunchKernelEx with packed parameters takes 50 to 90 ns less than cuLaunchKernel with a pointer to each (driver
// 580).
Result submit(CudaKernel* self, const LaunchConfig& config, void* parameters) {
  size_t bytes = self->base.packed_bytes;
  void* extra[] = {reinterpret_cast<void*>(kParameterBuffer), parameters, reinterpret_cast<void*>(kParameterBytes),
                   &bytes, reinterpret_cast<void*>(kParameterEnd)};
  return self->launch(&config, self->function, nullptr, bytes != 0 ? extra : nullptr);
}

// Every kTimedEvery-th launch, and all of them while the stream's queue was last seen full: these release the GIL,
// since the driver then waits for the GPU.
[[gnu::noinline]] Result submit_timed(CudaKernel* self, const LaunchConfig& config, void* parameters) {
  PyThreadState* thread = self->queue_is_full ? PyEval_SaveThread() : nullptr;
  const int64_t start = now_ticks();
  const Result status = submit(self, config, parameters);
  const bool blocked = now_ticks() - start > kBlockedTicks;
  if (thread != nullptr) PyEval_RestoreThread(thread);
  self->queue_is_full = blocked;
  return status;
}

// The two parameters that device code with messages has behind its own.
[[gnu::cold]] void add_message_parameters(CudaKernel* self, void* parameters) {
  const uint16_t* offsets = self->base.offsets + self->base.parameter_count;
  auto* bytes = static_cast<char*>(parameters);
  std::memcpy(bytes + offsets[0], &self->context->asserts_address, sizeof(uint64_t));
  std::memcpy(bytes + offsets[1], &self->owner, sizeof(uint64_t));
}

Result submit_now(CudaKernel* self, const LaunchConfig& config, void* parameters) {
  const bool timed = ++self->launches % kTimedEvery == 0 || self->queue_is_full;
  return __builtin_expect(!timed, 1) ? submit(self, config, parameters) : submit_timed(self, config, parameters);
}

// Whether the thread's current context, which a default stream belongs to, is another one than the kernel's.
bool other_context_is_current(CudaKernel* self, void* stream) {
  Context current = self->context_handle;
  if (is_default_stream(stream)) self->api->context_current(&current);
  return current != self->context_handle;
}

// With the kernel's context current; the thread gets its own back.
[[gnu::cold, gnu::noinline]] int launch_elsewhere(CudaKernel* self, const LaunchConfig& config, void* parameters) {
  self->expects_other_context = other_context_is_current(self, config.stream);
  const CurrentContext ours(self->api, self->context_handle);
  if (ours.status() != kSuccess) return raise_status(ours.status(), "cuCtxPushCurrent", "");
  const Result status = submit_now(self, config, parameters);
  return status == kSuccess ? 0 : raise_launch(self, status, config);
}

// The context is looked at when the driver has refused a launch, and from then on before each, until it is the right
// one again: asking takes 10 to 30 ns, and next to all threads have one context.
int launch_configured(CudaKernel* self, const LaunchConfig& config, void* parameters) {
  if (__builtin_expect(self->base.message_count != 0, 0)) add_message_parameters(self, parameters);
  if (__builtin_expect(self->expects_other_context, 0)) return launch_elsewhere(self, config, parameters);
  const Result status = submit_now(self, config, parameters);
  if (__builtin_expect(status == kSuccess, 1)) return 0;
  return other_context_is_current(self, config.stream) ? launch_elsewhere(self, config, parameters)
                                                       : raise_launch(self, status, config);
}

[[gnu::cold, gnu::noinline]] int launch_with_attributes(CudaKernel* self, LaunchConfig config, void* parameters,
                                                        const LaunchAttributes& wanted) {
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
  config.attributes = attributes;
  config.attribute_count = count;
  return launch_configured(self, config, parameters);
}

}  // namespace

// Finds the function in its module, which is loaded again where it was unloaded, and has its code loaded too.
int find_function(CudaKernel* self) {
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

int launch_kernel(KernelHandle* handle, void* parameters, const int64_t grid[3], int64_t shared_bytes, void* stream,
                  const LaunchAttributes* attributes) {
  CudaKernel* self = reinterpret_cast<CudaKernel*>(handle);
  if (__builtin_expect(self->asserts->count != 0, 0) && raise_recorded_assert(self->context) < 0) return -1;
  if (__builtin_expect(self->loads != self->module->loads, 0) && find_function(self) < 0) return -1;
  if (check_stream(self, stream) < 0) return -1;
  if (__builtin_expect(shared_bytes > self->dynamic_shared_bytes, 0) && allow_dynamic_shared(self, shared_bytes) < 0)
    return -1;
  const int32_t* block = self->base.block;
  const LaunchConfig config{
      {static_cast<unsigned>(grid[0]), static_cast<unsigned>(grid[1]), static_cast<unsigned>(grid[2])},
      {static_cast<unsigned>(block[0]), static_cast<unsigned>(block[1]), static_cast<unsigned>(block[2])},
      static_cast<unsigned>(shared_bytes),
      static_cast<Stream>(stream),
      nullptr,
      0};
  return __builtin_expect(attributes == nullptr, 1) ? launch_configured(self, config, parameters)
                                                    : launch_with_attributes(self, config, parameters, *attributes);
}

}  // namespace darter::cuda
