// The CUDA driver as Python objects: contexts, modules, kernels. See "Drivers" in DESIGN.md.
#pragma once

#include "cuda/cuda_context.hpp"
#include "cuda/cuda_kernel.hpp"
#include "cuda/cuda_module.hpp"

namespace darter {

inline bool register_driver_cuda(PyObject* module) {
  return cuda::register_cuda_context(module) && cuda::register_cuda_module(module) &&
         cuda::register_cuda_kernel(module);
}

}  // namespace darter
