#include "cuda/cuda_api.hpp"

#include <dlfcn.h>

#include "common/errors.hpp"

namespace darter::cuda {
namespace {

// Opened once and never closed: the driver registers exit handlers of its own.
Api table;
bool table_is_open = false;

struct Symbol {
  void* place;
  const char* name;
};

bool fill(void* library) {
  const Symbol symbols[] = {
      {&table.init, "cuInit"},
      {&table.driver_version, "cuDriverGetVersion"},
      {&table.device_count, "cuDeviceGetCount"},
      {&table.device_get, "cuDeviceGet"},
      {&table.device_name, "cuDeviceGetName"},
      {&table.device_attribute, "cuDeviceGetAttribute"},
      {&table.primary_retain, "cuDevicePrimaryCtxRetain"},
      {&table.context_current, "cuCtxGetCurrent"},
      {&table.context_push, "cuCtxPushCurrent_v2"},
      {&table.context_pop, "cuCtxPopCurrent_v2"},
      {&table.context_synchronize, "cuCtxSynchronize"},
      {&table.module_load, "cuModuleLoadDataEx"},
      {&table.module_unload, "cuModuleUnload"},
      {&table.module_function, "cuModuleGetFunction"},
      {&table.function_attribute, "cuFuncGetAttribute"},
      {&table.function_set_attribute, "cuFuncSetAttribute"},
      {&table.function_load, "cuFuncLoad"},
      {&table.occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor"},
      {&table.parameter_info, "cuFuncGetParamInfo"},
      {&table.launch, "cuLaunchKernelEx"},
      {&table.stream_is_capturing, "cuStreamIsCapturing"},
      {&table.stream_context, "cuStreamGetCtx"},
      {&table.stream_synchronize, "cuStreamSynchronize"},
      {&table.exchange_capture_mode, "cuThreadExchangeStreamCaptureMode"},
      {&table.link_create, "cuLinkCreate_v2"},
      {&table.link_add, "cuLinkAddData_v2"},
      {&table.link_complete, "cuLinkComplete"},
      {&table.link_destroy, "cuLinkDestroy"},
      {&table.host_alloc, "cuMemHostAlloc"},
      {&table.host_device_pointer, "cuMemHostGetDevicePointer_v2"},
      {&table.host_free, "cuMemFreeHost"},
      {&table.pointer_attribute, "cuPointerGetAttribute"},
      {&table.error_name, "cuGetErrorName"},
  };
  for (const Symbol& symbol : symbols) {
    void* address = dlsym(library, symbol.name);
    if (address == nullptr) {
      raise_error("DriverError", "the CUDA driver has no %s: darter needs a driver for CUDA 12.4 or newer",
                  symbol.name);
      return false;
    }
    *static_cast<void**>(symbol.place) = address;
  }
  return true;
}

}  // namespace

const Api* opened() { return table_is_open ? &table : nullptr; }

const Api* open(const char* path) {
  if (table_is_open) return &table;
  const char* name = path != nullptr ? path : "libcuda.so.1";
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    raise_error("DriverError", "no CUDA driver: %s cannot be opened (%s)", name, dlerror());
    return nullptr;
  }
  if (!fill(library)) return nullptr;
  if (Result status = table.init(0); status != kSuccess) {
    raise_status(status, "cuInit", "");
    return nullptr;
  }
  table_is_open = true;
  return &table;
}

int raise_status(Result status, const char* call, const char* detail) {
  const char* name = nullptr;
  if (table.error_name == nullptr || table.error_name(status, &name) != kSuccess || name == nullptr)
    name = "unknown status";
  const char* remedy = status == kNotInitialized
                           ? "; this process was forked after CUDA was used: CUDA does not survive a fork, use the "
                             "'spawn' start method of multiprocessing"
                           : "";
  raise_error("DriverError", "%s failed: %s (%d)%s%s%s", call, name, status, detail[0] != '\0' ? ": " : "", detail,
              remedy);
  return -1;
}

}  // namespace darter::cuda
