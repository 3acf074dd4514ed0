// A kernel handle that calls Python: how the interpreter takes the place of compiled code.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace darter {

bool register_python_kernel(PyObject* module);

}  // namespace darter
