// Where the time of a warm call goes: each step alone, many times over. Only benchmarks call it.
#pragma once

#include "jit/jit_function.hpp"

namespace darter {

// _time_parts(repeats, *args): a dict of nanoseconds. See _native.pyi.
DARTER_COLD PyObject* time_parts(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names);

}  // namespace darter
