// What a launch program launches. Each backend derives its own kernel type from this one; the launch goes through one
// function pointer.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>

namespace darter {

struct KernelHandle;

// What a launch may ask for beyond its grid; a backend without such a thing ignores it.
struct LaunchAttributes {
  uint32_t cluster[3];
  bool cooperative;
  bool programmatic_dependent;
};

// Launches `kernel` on a checked grid without a zero and with `shared_bytes` >= 0 of dynamic shared memory.
// `parameters` are as KernelHandle::offsets says; the callee may write to them. Returns 0, or -1 with a Python
// exception set. A failed assertion of device code is reported as DeviceAssertError(message, message_index); the call
// state adds the place in the source. `attributes` is nullptr where the launch asks for nothing. Called with the GIL
// held, which it may release.
using LaunchFunction = int (*)(KernelHandle* kernel, void* parameters, const int64_t grid[3], int64_t shared_bytes,
                               void* stream, const LaunchAttributes* attributes);

struct KernelHandle {
  PyObject_HEAD;
  LaunchFunction launch;
  PyObject* code;  // owns the machine code; strong
  PyObject* name;  // str
  // NULL: a launch is given an array of pointers to the 8-byte registers of its parameters. Else it is given the
  // parameters themselves, one behind the other in `packed_bytes`, of which a backend may use the last for its own;
  // these are the offsets, ascending, of `parameter_count` parameters.
  const uint16_t* offsets;
  uint32_t packed_bytes;
  int32_t parameter_count;
  int32_t message_count;
  int32_t block[3];
};

// Base type of all kernel handles; no instances of its own.
extern PyTypeObject* KernelHandle_Type;

bool register_kernel_handle(PyObject* module);

}  // namespace darter
