// Loaded cubins and their kernels.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "cuda/cuda_context.hpp"

namespace darter::cuda {

struct CudaModule {
  PyObject_HEAD;
  CudaContext* context;  // strong
  PyObject* image;       // the cubin, bytes: what an unloaded module is loaded from again; strong
  Module module;         // nullptr once unloaded
  unsigned number;       // what device code names this module by when an assertion fails
  unsigned loads;        // goes up with each unload: function handles of an earlier one are dead
  bool captured;         // a stream capture holds a launch of it: it is never unloaded
};

extern PyTypeObject* CudaModule_Type;

// Returns a new CudaModule of a cubin (bytes), loaded into the context; NULL with an exception set.
PyObject* make_module(CudaContext* context, PyObject* image, unsigned number);

// Loads a module that has been unloaded; 0, or -1 with an exception set.
[[gnu::cold]] int load_module(CudaModule* module);

bool register_cuda_module(PyObject* module);

}  // namespace darter::cuda
