// Entry of the native module: creates the module and lets each part register what it offers.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "cpu/cpu_features.hpp"
#include "cpu/cpu_kernel.hpp"
#include "cpu/cpu_runner.hpp"
#include "cpu/object_loader.hpp"
#include "cuda/driver_cuda.hpp"
#include "guards/dict_watch.hpp"
#include "guards/guards.hpp"
#include "jit/jit_function.hpp"
#include "program/call_state.hpp"
#include "program/kernel_handle.hpp"
#include "program/python_kernel.hpp"

namespace {

PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT, "_native", "The native half of darter: the warm call.", -1, nullptr,
};

using Register = bool (*)(PyObject* module);

// In order of dependence: a part may use the types of those before it.
constexpr Register PARTS[] = {
    // clang-format off
    darter::register_dict_watch,
    darter::register_guards,
    darter::register_kernel_handle,
    darter::register_object_loader,
    darter::register_cpu_runner,
    darter::register_cpu_kernel,
    darter::register_driver_cuda,
    darter::register_python_kernel,
    darter::register_call_state,
    darter::register_cpu_features,
    darter::register_bound_function,
    darter::register_jit_function,
    darter::register_compiled_function,
    // clang-format on
};

}  // namespace

PyMODINIT_FUNC PyInit__native() {
  // Types and watchers are the process's; a second interpreter would take them from the first.
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
    PyErr_SetString(PyExc_ImportError,
                    "darter works in the main interpreter only, not in a sub-interpreter; use threads "
                    "or processes");
    return nullptr;
  }
  PyObject* module = PyModule_Create(&module_def);
  if (module == nullptr) return nullptr;
  for (Register part : PARTS) {
    if (!part(module)) {
      Py_DECREF(module);
      return nullptr;
    }
  }
  return module;
}
