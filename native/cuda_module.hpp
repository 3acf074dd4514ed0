// Loaded cubins and their kernels.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "cuda_context.hpp"

namespace darter::cuda {

struct CudaModule {
  PyObject_HEAD;
  CudaContext* context;  // strong
  Module module;         // nullptr once unloaded
  unsigned number;       // what device code names this module by when an assertion fails
  bool captured;         // a stream capture holds a launch of it: it is never unloaded
};

extern PyTypeObject* CudaModule_Type;

// Returns a new CudaModule of a cubin, loaded into the context; NULL with an exception set.
PyObject* load_module(CudaContext* context, const char* image, Py_ssize_t image_bytes, unsigned number);

bool register_cuda_module(PyObject* module);

}  // namespace darter::cuda
