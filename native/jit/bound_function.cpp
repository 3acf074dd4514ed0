// A launcher bound to an object. Calls of the form obj.f(x) do not come here (Python passes obj itself, since the
// function types are method descriptors); obj.f on its own, and obj.f.warm(x), do.
#include "jit/jit_function.hpp"
#include "structmember.h"

namespace darter {

PyTypeObject* BoundFunction_Type = nullptr;

namespace {

BoundFunctionObject* as_bound(PyObject* self) { return reinterpret_cast<BoundFunctionObject*>(self); }

PyObject* call_bound(PyObject* object, PyObject* const* args, size_t flags, PyObject* names) {
  const BoundFunctionObject* self = as_bound(object);
  const Py_ssize_t count = PyVectorcall_NARGS(flags);
  const Py_ssize_t total = count + (names != nullptr ? PyTuple_GET_SIZE(names) : 0);
  if ((flags & PY_VECTORCALL_ARGUMENTS_OFFSET) != 0) {
    auto** shifted = const_cast<PyObject**>(args) - 1;
    PyObject* saved = std::exchange(shifted[0], self->self);
    PyObject* result = PyObject_Vectorcall(self->function, shifted, static_cast<size_t>(count) + 1, names);
    shifted[0] = saved;
    return result;
  }
  std::vector<PyObject*> values(static_cast<size_t>(total) + 1);
  values[0] = self->self;
  for (Py_ssize_t i = 0; i < total; ++i) values[static_cast<size_t>(i) + 1] = args[i];
  return PyObject_Vectorcall(self->function, values.data(), static_cast<size_t>(count) + 1, names);
}

int traverse_bound(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(as_bound(self)->function);
  Py_VISIT(as_bound(self)->self);
  return 0;
}

void dealloc_bound(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (as_bound(self)->weak_references != nullptr) PyObject_ClearWeakRefs(self);
  Py_XDECREF(as_bound(self)->function);
  Py_XDECREF(as_bound(self)->self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* repr_bound(PyObject* self) {
  return PyUnicode_FromFormat("<bound %R of %R>", as_bound(self)->function, as_bound(self)->self);
}

PyObject* compare_bound(PyObject* a, PyObject* b, int operation) {
  if ((operation != Py_EQ && operation != Py_NE) || Py_TYPE(b) != BoundFunction_Type) Py_RETURN_NOTIMPLEMENTED;
  const bool equal = as_bound(a)->function == as_bound(b)->function && as_bound(a)->self == as_bound(b)->self;
  return PyBool_FromLong(equal == (operation == Py_EQ));
}

Py_hash_t hash_bound(PyObject* self) {
  const Py_hash_t hash = _Py_HashPointer(as_bound(self)->function) ^ (_Py_HashPointer(as_bound(self)->self) * 3);
  return hash == -1 ? -2 : hash;
}

// As Python's own methods do: what is not found here is looked up on the function.
PyObject* get_attribute(PyObject* self, PyObject* name) {
  PyObject* value = PyObject_GenericGetAttr(self, name);
  if (value != nullptr || PyErr_ExceptionMatches(PyExc_AttributeError) == 0) return value;
  PyErr_Clear();
  return PyObject_GetAttr(as_bound(self)->function, name);
}

PyObject* with_self(PyObject* object, const char* name, PyObject* args, PyObject* kwargs) {
  const BoundFunctionObject* self = as_bound(object);
  const Py_ssize_t count = PyTuple_GET_SIZE(args);
  Ref method(PyObject_GetAttrString(self->function, name));
  Ref all(method ? PyTuple_New(count + 1) : nullptr);
  if (!all) return nullptr;
  PyTuple_SET_ITEM(all.get(), 0, Py_NewRef(self->self));
  for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(all.get(), i + 1, Py_NewRef(PyTuple_GET_ITEM(args, i)));
  return PyObject_Call(method.get(), all.get(), kwargs);
}

PyObject* warm(PyObject* self, PyObject* args, PyObject* kwargs) { return with_self(self, "warm", args, kwargs); }
PyObject* explain(PyObject* self, PyObject* args, PyObject* kwargs) { return with_self(self, "explain", args, kwargs); }

PyObject* with_options(PyObject* self, PyObject* args, PyObject* kwargs) {
  Ref method(PyObject_GetAttrString(as_bound(self)->function, "with_options"));
  Ref function(method ? PyObject_Call(method.get(), args, kwargs) : nullptr);
  return function ? bind_to_instance(function.get(), as_bound(self)->self, nullptr) : nullptr;
}

// As Python's own methods: by the object and the name under which it finds the function.
PyObject* reduce(PyObject* self, PyObject* /*unused*/) {
  Ref builtins(PyImport_ImportModule("builtins"));
  Ref getter(builtins ? PyObject_GetAttrString(builtins.get(), "getattr") : nullptr);
  Ref name(getter ? PyObject_GetAttrString(as_bound(self)->function, "__name__") : nullptr);
  return name ? Py_BuildValue("O(OO)", getter.get(), as_bound(self)->self, name.get()) : nullptr;
}

// Bound to a copy of the object, as Python's own methods are; the function's own would give the function.
PyObject* deep_copy(PyObject* self, PyObject* memo) {
  Ref module(PyImport_ImportModule("copy"));
  Ref object(module ? PyObject_CallMethod(module.get(), "deepcopy", "OO", as_bound(self)->self, memo) : nullptr);
  return object ? bind_to_instance(as_bound(self)->function, object.get(), nullptr) : nullptr;
}

template <typename Function>
PyCFunction method(Function function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef methods[] = {
    {"warm", method(warm), METH_VARARGS | METH_KEYWORDS, "Compile and load for these arguments; launch nothing."},
    {"explain", method(explain), METH_VARARGS | METH_KEYWORDS, "Say what a call would do, and why."},
    {"with_options", method(with_options), METH_VARARGS | METH_KEYWORDS, "Return a bound view with other options."},
    {"__copy__", same_object, METH_NOARGS, "Return the bound launcher itself."},
    {"__deepcopy__", deep_copy, METH_O, "Return the launcher bound to a copy of the object."},
    {"__reduce__", reduce, METH_NOARGS, "Return how pickle and copy find the bound launcher again."},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(BoundFunctionObject, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(BoundFunctionObject, weak_references), READONLY, nullptr},
    {"__func__", T_OBJECT, offsetof(BoundFunctionObject, function), READONLY, "The function."},
    {"__self__", T_OBJECT, offsetof(BoundFunctionObject, self), READONLY, "What it is bound to."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc_bound)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_bound)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_repr, reinterpret_cast<void*>(repr_bound)},
    {Py_tp_richcompare, reinterpret_cast<void*>(compare_bound)},
    {Py_tp_hash, reinterpret_cast<void*>(hash_bound)},
    {Py_tp_getattro, reinterpret_cast<void*>(get_attribute)},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {0, nullptr},
};

PyType_Spec spec = {
    "darter._native.BoundFunction",
    sizeof(BoundFunctionObject),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    slots,
};

}  // namespace

PyObject* bind_to_instance(PyObject* function, PyObject* instance, PyObject* /*owner*/) {
  if (instance == nullptr || instance == Py_None) return Py_NewRef(function);
  PyObject* made = BoundFunction_Type->tp_alloc(BoundFunction_Type, 0);
  if (made == nullptr) return nullptr;
  as_bound(made)->vectorcall = call_bound;
  as_bound(made)->function = Py_NewRef(function);
  as_bound(made)->self = Py_NewRef(instance);
  return made;
}

bool register_bound_function(PyObject* module) {
  BoundFunction_Type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return BoundFunction_Type != nullptr && PyModule_AddType(module, BoundFunction_Type) == 0;
}

}  // namespace darter
