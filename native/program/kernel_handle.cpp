#include "program/kernel_handle.hpp"

#include <structmember.h>

#include <cstddef>

namespace darter {

PyTypeObject* KernelHandle_Type = nullptr;

namespace {

void kernel_handle_dealloc(PyObject* self) {
  auto* handle = reinterpret_cast<KernelHandle*>(self);
  PyTypeObject* type = Py_TYPE(self);
  Py_CLEAR(handle->code);
  Py_CLEAR(handle->name);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMemberDef kernel_handle_members[] = {
    {"name", T_OBJECT, offsetof(KernelHandle, name), READONLY, "The kernel as errors call it."},
    {"code", T_OBJECT, offsetof(KernelHandle, code), READONLY, "Owner of the machine code."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot kernel_handle_slots[] = {
    {Py_tp_doc, const_cast<char*>("What a launch program launches; each backend has its own subtype.")},
    {Py_tp_dealloc, reinterpret_cast<void*>(kernel_handle_dealloc)},
    {Py_tp_members, kernel_handle_members},
    {0, nullptr},
};

PyType_Spec kernel_handle_spec = {
    "darter._native.KernelHandle",
    sizeof(KernelHandle),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    kernel_handle_slots,
};

}  // namespace

bool register_kernel_handle(PyObject* module) {
  KernelHandle_Type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&kernel_handle_spec));
  return KernelHandle_Type != nullptr &&
         PyModule_AddObjectRef(module, "KernelHandle", reinterpret_cast<PyObject*>(KernelHandle_Type)) == 0;
}

}  // namespace darter
