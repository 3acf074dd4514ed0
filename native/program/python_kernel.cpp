#include "program/python_kernel.hpp"

#include <cstring>

#include "common/python_ref.hpp"
#include "program/kernel_handle.hpp"
#include "program/program.hpp"

namespace darter {

namespace {

// `base.code` is the callable: (register words, grid, shared bytes) -> None.
int python_launch(KernelHandle* kernel, void* parameters, const int64_t grid[3], int64_t shared_bytes, void*,
                  const LaunchAttributes*) {
  const PythonRef words(PyTuple_New(kernel->parameter_count));
  if (!words) return -1;
  auto* const* params = static_cast<void**>(parameters);
  for (int32_t i = 0; i < kernel->parameter_count; ++i) {
    uint64_t word = 0;
    std::memcpy(&word, params[i], sizeof word);
    PyObject* item = PyLong_FromUnsignedLongLong(word);
    if (item == nullptr) return -1;
    PyTuple_SET_ITEM(words.get(), i, item);
  }
  const PythonRef result(PyObject_CallFunction(kernel->code, "O(LLL)L", words.get(), static_cast<long long>(grid[0]),
                                               static_cast<long long>(grid[1]), static_cast<long long>(grid[2]),
                                               static_cast<long long>(shared_bytes)));
  return result ? 0 : -1;
}

PyObject* python_kernel_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* const kNames[] = {"function", "name", "parameter_count", "block", "message_count", nullptr};
  PyObject *function = nullptr, *name = nullptr;
  int parameters = 0, messages = 0;
  int block[3] = {0, 0, 0};
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "OUi(iii)i:PythonKernel", const_cast<char**>(kNames), &function, &name,
                                  &parameters, &block[0], &block[1], &block[2], &messages) == 0) {
    return nullptr;
  }
  if (parameters < 0 || parameters > static_cast<int>(kMaxLaunchArguments) || messages < 0) {
    PyErr_Format(PyExc_ValueError, "a kernel of %d parameters and %d messages", parameters, messages);
    return nullptr;
  }
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  auto* kernel = reinterpret_cast<KernelHandle*>(self);
  kernel->launch = python_launch;
  kernel->code = Py_NewRef(function);
  kernel->name = Py_NewRef(name);
  kernel->parameter_count = parameters;
  kernel->message_count = messages;
  for (int axis = 0; axis < 3; ++axis) kernel->block[axis] = block[axis];
  return self;
}

PyType_Slot python_kernel_slots[] = {
    {Py_tp_doc, const_cast<char*>("PythonKernel(function, name, parameter_count, block, message_count)\n--\n\n"
                                  "A kernel that a Python function runs: function(words, grid, shared_bytes).")},
    {Py_tp_new, reinterpret_cast<void*>(python_kernel_new)},
    {0, nullptr},
};

PyType_Spec python_kernel_spec = {
    "darter._native.PythonKernel", sizeof(KernelHandle), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    python_kernel_slots,
};

}  // namespace

bool register_python_kernel(PyObject* module) {
  const PythonRef bases(PyTuple_Pack(1, KernelHandle_Type));
  const PythonRef type(bases ? PyType_FromSpecWithBases(&python_kernel_spec, bases.get()) : nullptr);
  return type && PyModule_AddObjectRef(module, "PythonKernel", type.get()) == 0;
}

}  // namespace darter
