#include "common/errors.hpp"

#include <cstdarg>
#include <initializer_list>

namespace darter {

PyObject* exception_class(const char* name) {
  PyObject* found = nullptr;
  for (const char* home : {"darter.errors", "builtins"}) {
    PyObject* module = PyImport_ImportModule(home);
    if (module == nullptr) return nullptr;
    found = PyObject_GetAttrString(module, name);
    Py_DECREF(module);
    if (found != nullptr) break;
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return nullptr;
    PyErr_Clear();
  }
  if (found == nullptr || !PyExceptionClass_Check(found)) {
    Py_XDECREF(found);
    PyErr_Format(PyExc_SystemError, "darter: no exception class is called '%s'", name);
    return nullptr;
  }
  return found;
}

PyObject* raise_error(const char* name, const char* format, ...) {
  PyObject* cls = exception_class(name);
  if (cls == nullptr) return nullptr;
  va_list arguments;
  va_start(arguments, format);
  PyErr_FormatV(cls, format, arguments);
  va_end(arguments);
  Py_DECREF(cls);
  return nullptr;
}

}  // namespace darter
