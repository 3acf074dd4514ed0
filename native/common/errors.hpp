// Python exceptions from native code. Everything here is cold.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace darter {

// Returns a new reference to the class `name` of darter.errors, or of builtins where errors has none; NULL with an
// exception set when there is no such exception class.
PyObject* exception_class(const char* name);

// Sets the exception `name` (looked up as above) with a PyErr_Format-ed message. Always returns NULL.
[[gnu::cold]] PyObject* raise_error(const char* name, const char* format, ...);

}  // namespace darter
