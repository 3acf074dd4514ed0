// Kernels of a loaded cubin, and their launch.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "cuda/cuda_module.hpp"
#include "program/kernel_handle.hpp"

namespace darter::cuda {

// What a kernel is told to be when its handle is made. A kernel with messages takes two more parameters than a launch
// passes: the address of the assert buffer and the 64-bit owner.
struct KernelShape {
  unsigned index;
  int parameters;
  int messages;
  int block[3];
};

// Returns a new CudaKernel, its code loaded (so that no launch loads lazily); NULL with an exception set.
PyObject* make_kernel(CudaModule* module, PyObject* symbol, PyObject* name, const KernelShape& shape);

bool register_cuda_kernel(PyObject* module);

}  // namespace darter::cuda
