// JitFunction: how it is called, made and collected; its methods stand in jit_methods.cpp.
#include "jit/jit_function.hpp"

#include "jit/launch.hpp"
#include "structmember.h"

namespace darter {

PyTypeObject* JitFunction_Type = nullptr;

namespace {

PyObject* call_function(PyObject* self, PyObject* const* args, size_t flags, PyObject* names);

}  // namespace

PyObject* opened_cold(PyObject* self) {
  Launcher* launcher = launcher_of(self);
  if (DARTER_LIKELY(launcher->cold != nullptr)) return launcher->cold;
  if (launcher->open == nullptr) return PyErr_Format(PyExc_RuntimeError, "this launcher was collected as garbage");
  Ref open = Ref::borrow(launcher->open);
  Ref cold(PyObject_CallFunction(open.get(), "OO", self, launcher->is_method ? Py_True : Py_False));
  if (!cold) return nullptr;
  // Another thread may have been here meanwhile: there is one cold object, the first.
  if (launcher->cold == nullptr) launcher->cold = cold.release();
  return launcher->cold;
}

Launcher* planned_launcher(PyObject* self) {
  Launcher* launcher = launcher_of(self);
  if (DARTER_LIKELY(launcher->cold != nullptr && launcher->plan_object != nullptr)) return launcher;
  if (opened_cold(self) == nullptr) return nullptr;
  if (launcher->plan_object == nullptr) {
    Ref plan(PyObject_CallMethod(launcher->cold, "plan", nullptr));
    if (!plan) return nullptr;
    // Here too another thread may have been.
    if (launcher->plan_object == nullptr && !launcher->load_plan(plan.get())) return nullptr;
  }
  as_function(self)->vectorcall = call_function;
  return launcher;
}

namespace {

PyObject* call_function(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  Launcher* launcher = launcher_of(self);
  PyObject* room[kMaxParams];
  PyObject* const* bound = launcher->binder.bind(launcher->plan, args, PyVectorcall_NARGS(flags), names, room);
  return DARTER_LIKELY(bound != nullptr) ? launch(launcher, bound) : nullptr;
}

// The first call opens the cold side and reads the plan; later ones no longer ask whether they are there.
DARTER_COLD PyObject* call_unplanned(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  return planned_launcher(self) != nullptr ? call_function(self, args, flags, names) : nullptr;
}

PyObject* new_function(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* keywords[] = {"open", "plan", nullptr};
  PyObject* open = nullptr;
  PyObject* plan = Py_None;
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:JitFunction", const_cast<char**>(keywords), &open, &plan) == 0) {
    return nullptr;
  }
  auto launcher = std::make_unique<Launcher>();
  launcher->any.name = PyUnicode_InternFromString("item");
  launcher->open = Py_NewRef(open);
  if (plan != Py_None && !launcher->load_plan(plan)) return nullptr;
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  as_function(self)->vectorcall = call_unplanned;
  as_function(self)->launcher = launcher.release();
  return self;
}

int traverse_function(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(as_function(self)->dict);
  return launcher_of(self) != nullptr ? launcher_of(self)->traverse(visit, arg) : 0;
}

int clear_function(PyObject* self) {
  Py_CLEAR(as_function(self)->dict);
  if (launcher_of(self) != nullptr) launcher_of(self)->clear();
  return 0;
}

void dealloc_function(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (as_function(self)->weak_references != nullptr) PyObject_ClearWeakRefs(self);
  clear_function(self);
  delete as_function(self)->launcher;
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* repr_function(PyObject* self) {
  Launcher* launcher = planned_launcher(self);
  return launcher != nullptr ? PyUnicode_FromFormat("<darter.JitFunction %U>", launcher->plan.name) : nullptr;
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(JitFunctionObject, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(JitFunctionObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(JitFunctionObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(new_function)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc_function)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_function)},
    {Py_tp_clear, reinterpret_cast<void*>(clear_function)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_descr_get, reinterpret_cast<void*>(bind_to_instance)},
    {Py_tp_repr, reinterpret_cast<void*>(repr_function)},
    {Py_tp_methods, jit_methods},
    {Py_tp_members, members},
    {Py_tp_getset, jit_getters},
    {0, nullptr},
};

PyType_Spec spec = {
    "darter._native.JitFunction",
    sizeof(JitFunctionObject),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    slots,
};

}  // namespace

PyObject* const* bind_packed(Launcher* launcher, PyObject* args, PyObject* kwargs, std::vector<PyObject*>* values,
                             Ref* names, PyObject** room) {
  const Py_ssize_t count = PyTuple_GET_SIZE(args);
  for (Py_ssize_t i = 0; i < count; ++i) values->push_back(PyTuple_GET_ITEM(args, i));
  if (kwargs != nullptr && PyDict_GET_SIZE(kwargs) > 0) {
    *names = Ref(PyTuple_New(PyDict_GET_SIZE(kwargs)));
    if (!*names) return nullptr;
    PyObject* name = nullptr;
    PyObject* value = nullptr;
    Py_ssize_t position = 0;
    for (Py_ssize_t i = 0; PyDict_Next(kwargs, &position, &name, &value) != 0; ++i) {
      PyTuple_SET_ITEM(names->get(), i, Py_NewRef(name));
      values->push_back(value);
    }
  }
  return launcher->binder.bind(launcher->plan, values->data(), count, names->get(), room);
}

bool register_jit_function(PyObject* module) {
  JitFunction_Type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (JitFunction_Type == nullptr) return false;
  // What a capture record may read of a launcher: another launcher that calls it compiles its function in.
  Ref captured(Py_BuildValue("(ss)", "__wrapped__", "options"));
  if (!captured) return false;
  PyObject* const type = reinterpret_cast<PyObject*>(JitFunction_Type);
  return PyObject_SetAttrString(type, "__darter_capture__", captured.get()) == 0 &&
         PyModule_AddType(module, JitFunction_Type) == 0 && PyModule_AddFunctions(module, jit_functions) == 0;
}

}  // namespace darter
