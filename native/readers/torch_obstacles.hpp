// Why a torch tensor's memory cannot be read as it lies there, for refusals; torch is asked in Python.
#pragma once

#include "readers/reader.hpp"

namespace darter {

// What stands in the way, and the way out.
DARTER_COLD const char* torch_obstacle(PyObject* object);

// What torch._C._functorch's `function` says of the object; false where there is no functorch.
DARTER_COLD bool functorch_says(PyObject* object, const char* function);

// Whether the method says true; false where it fails.
DARTER_COLD bool method_is_true(PyObject* object, const char* method);

}  // namespace darter
