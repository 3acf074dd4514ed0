// A kernel of a loaded cubin, as a launch sees it.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "cuda/cuda_module.hpp"
#include "program/kernel_handle.hpp"

namespace darter::cuda {

struct CudaKernel {
  KernelHandle base;  // base.code is the CudaModule; its offsets are owned
  // What each launch reads comes first, so that it is fetched with few lines of the processor's cache.
  Function function;
  CudaModule* module;            // borrowed from base.code
  const AssertBuffer* asserts;   // the context's
  Context context_handle;        // the context's
  decltype(Api::launch) launch;  // the driver's
  int64_t dynamic_shared_bytes;  // what the function has been allowed so far
  unsigned loads;                // of the module, when `function` was found in it
  uint16_t launches;             // counted round, to time some of them
  bool queue_is_full;
  bool expects_other_context;  // the last launch on a default stream found another context current
  const Api* api;
  CudaContext* context;   // borrowed from the module
  uint64_t owner;         // what its device code names itself by when an assertion fails
  const char* symbol;     // the text of `symbol_text`
  PyObject* symbol_text;  // strong
};

// A LaunchFunction.
int launch_kernel(KernelHandle* handle, void* parameters, const int64_t grid[3], int64_t shared_bytes, void* stream,
                  const LaunchAttributes* attributes);

// Finds the function in its module, which is loaded again where it was unloaded, and has its code loaded too; 0, or -1
// with an exception set.
[[gnu::cold]] int find_function(CudaKernel* self);

}  // namespace darter::cuda
