// A primary context, shared with the frameworks, and what darter keeps beside it.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>

#include "cuda/cuda_api.hpp"

namespace darter::cuda {

// Device code writes a failed assertion here: page-locked host memory that the device sees. `count` is raised first,
// and a record's `ready` is set last, behind a system-wide fence.
struct AssertRecord {
  uint32_t ready;
  uint32_t message;
  uint64_t owner;  // given to the kernel: module number << 32 | kernel index
  uint64_t block;
  uint64_t thread;
  uint64_t operands[8];
};

constexpr uint32_t kAssertRecords = 64;

struct AssertBuffer {
  uint32_t count;
  uint32_t pad[15];
  AssertRecord records[kAssertRecords];
};

struct CudaContext {
  PyObject_HEAD;
  const Api* api;
  Context context;
  Device device;
  int ordinal;
  AssertBuffer* asserts;
  uint64_t asserts_address;  // as the device sees it
  PyObject* on_assert;       // called with (owner, message, block, thread, operands, count); raises
};

extern PyTypeObject* CudaContext_Type;

// Makes `context` current for its lifetime where another one is, and gives the thread back as it was.
class CurrentContext {
 public:
  CurrentContext(const Api* api, Context context) : api_(api) {
    Context current = nullptr;
    status_ = api_->context_current(&current);
    if (status_ != kSuccess || current == context) return;
    status_ = api_->context_push(context);
    pushed_ = status_ == kSuccess;
  }
  ~CurrentContext() {
    Context popped = nullptr;
    if (pushed_) api_->context_pop(&popped);
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

  Result status() const { return status_; }

 private:
  const Api* api_;
  Result status_;
  bool pushed_ = false;
};

// Lets the thread load modules and allocate while some stream is captured, for its lifetime.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const Api* api) : api_(api) { api_->exchange_capture_mode(&mode_); }
  ~RelaxedCapture() { api_->exchange_capture_mode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  const Api* api_;
  int mode_ = kCaptureRelaxed;
};

// Raises what device code recorded, if anything; 0 or -1.
[[gnu::cold]] int raise_recorded_assert(CudaContext* context);

// The ordinal of the device that an address belongs to; -1 with DriverError set.
[[gnu::cold]] int device_of_pointer(const Api* api, uint64_t address);

bool register_cuda_context(PyObject* module);

}  // namespace darter::cuda
