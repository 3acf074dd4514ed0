// The CPU backend's kernel handle: an entry point in a CodeObject, with what a launch of it needs.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace darter {

bool register_cpu_kernel(PyObject* module);

}  // namespace darter
