// What the host CPU can do, without LLVM.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace darter {

bool register_cpu_features(PyObject* module);

}  // namespace darter
