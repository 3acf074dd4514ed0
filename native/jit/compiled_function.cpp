#include "common/errors.hpp"
#include "jit/jit_function.hpp"
#include "jit/launch.hpp"
#include "structmember.h"

namespace darter {

PyTypeObject* CompiledFunction_Type = nullptr;

namespace {

CompiledFunctionObject* as_compiled(PyObject* self) { return reinterpret_cast<CompiledFunctionObject*>(self); }

// Another key: cold code explains it; it must raise.
DARTER_COLD PyObject* raise_mismatch(CompiledFunctionObject* self, PyObject* const* bound, const Call& call) {
  Launcher* launcher = self->function->launcher;
  Ref arguments(arguments_tuple(launcher, bound));
  Ref words(arguments ? words_tuple(call.words.data(), call.words.size()) : nullptr);
  Ref result(words ? PyObject_CallMethod(self->cold, "mismatch", "OO", arguments.get(), words.get()) : nullptr);
  if (result) {
    raise_error("NotCompiledError",
                "%U(): this CompiledFunction was not compiled for these arguments; call the launcher "
                "itself, or compile it for them",
                launcher->plan.name);
  }
  return nullptr;
}

DARTER_COLD PyObject* raise_drift(CompiledFunctionObject* self) {
  Ref result(PyObject_CallMethod(self->cold, "drift", "O", reinterpret_cast<PyObject*>(self->state)));
  if (result) {
    raise_error("CaptureDriftError", "%U(): a value that the compiled code captured has changed; compile it again",
                self->function->launcher->plan.name);
  }
  return nullptr;
}

PyObject* run_compiled(CompiledFunctionObject* self, PyObject* const* bound) {
  Launcher* launcher = self->launcher;
  Call call;
  if (DARTER_UNLIKELY(!read_arguments(launcher, bound, &call))) return nullptr;
  if (DARTER_UNLIKELY(call.framework != nullptr) && !settle_stream(launcher, &call)) return nullptr;
  if (DARTER_UNLIKELY(self->word_count != call.words.size() ||
                      !words_equal(self->words, call.words.data(), self->word_count))) {
    return raise_mismatch(self, bound, call);
  }
  if (DARTER_UNLIKELY(!state_holds(self->state))) return PyErr_Occurred() != nullptr ? nullptr : raise_drift(self);
  ++launcher->memory_hits;
  return DARTER_LIKELY(run_state(launcher, &call, self->state) == 0) ? Py_NewRef(Py_None) : nullptr;
}

PyObject* call_compiled(PyObject* object, PyObject* const* args, size_t flags, PyObject* names) {
  CompiledFunctionObject* self = as_compiled(object);
  Launcher* launcher = self->launcher;
  PyObject* room[kMaxParams];
  PyObject* const* bound = launcher->binder.bind(launcher->plan, args, PyVectorcall_NARGS(flags), names, room);
  return DARTER_LIKELY(bound != nullptr) ? run_compiled(self, bound) : nullptr;
}

int traverse_compiled(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(as_compiled(self)->dict);
  Py_VISIT(reinterpret_cast<PyObject*>(as_compiled(self)->function));
  Py_VISIT(as_compiled(self)->cold);
  Py_VISIT(reinterpret_cast<PyObject*>(as_compiled(self)->state));
  return 0;
}

int clear_compiled(PyObject* self) {
  // The function and the state stay until deallocation: a call may be under way.
  Py_CLEAR(as_compiled(self)->dict);
  Py_CLEAR(as_compiled(self)->cold);
  return 0;
}

void dealloc_compiled(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (as_compiled(self)->weak_references != nullptr) PyObject_ClearWeakRefs(self);
  clear_compiled(self);
  Py_XDECREF(reinterpret_cast<PyObject*>(as_compiled(self)->function));
  Py_XDECREF(reinterpret_cast<PyObject*>(as_compiled(self)->state));
  PyMem_Free(as_compiled(self)->words);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* repr_compiled(PyObject* self) {
  return PyUnicode_FromFormat("<darter.CompiledFunction %U>", as_compiled(self)->function->launcher->plan.name);
}

PyObject* get_words(PyObject* self, void* /*unused*/) {
  return words_tuple(as_compiled(self)->words, as_compiled(self)->word_count);
}

PyObject* refuse_pickle(PyObject* self, PyObject* /*unused*/) {
  return PyErr_Format(PyExc_TypeError,
                      "%R cannot be pickled: it holds code that is loaded in this process. Pickle its launcher "
                      "(.function), and call dt.compile in the other process",
                      self);
}

PyMethodDef methods[] = {
    {"__copy__", same_object, METH_NOARGS, "Return the compiled function itself."},
    {"__deepcopy__", same_object, METH_O, "Return the compiled function itself."},
    {"__reduce__", refuse_pickle, METH_NOARGS, "Raise TypeError: loaded code belongs to its process."},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(CompiledFunctionObject, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(CompiledFunctionObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(CompiledFunctionObject, weak_references), READONLY, nullptr},
    {"function", T_OBJECT, offsetof(CompiledFunctionObject, function), READONLY, "The launcher."},
    {"cold", T_OBJECT, offsetof(CompiledFunctionObject, cold), READONLY, "The object that explains refusals."},
    {"state", T_OBJECT, offsetof(CompiledFunctionObject, state), READONLY, "The call state."},
    {nullptr, 0, 0, 0, nullptr},
};

PyGetSetDef getters[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {"words", get_words, nullptr, "The key that it is good for.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc_compiled)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_compiled)},
    {Py_tp_clear, reinterpret_cast<void*>(clear_compiled)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_descr_get, reinterpret_cast<void*>(bind_to_instance)},
    {Py_tp_repr, reinterpret_cast<void*>(repr_compiled)},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, getters},
    {0, nullptr},
};

PyType_Spec spec = {
    "darter._native.CompiledFunction",
    sizeof(CompiledFunctionObject),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR |
        Py_TPFLAGS_DISALLOW_INSTANTIATION,
    slots,
};

}  // namespace

PyObject* make_compiled(JitFunctionObject* function, PyObject* cold, PyObject* args, PyObject* kwargs) {
  std::vector<PyObject*> values;
  Ref names;
  PyObject* room[kMaxParams];
  PyObject* const* bound = bind_packed(function->launcher, args, kwargs, &values, &names, room);
  if (bound == nullptr) return nullptr;
  Call call;
  Ref state(reinterpret_cast<PyObject*>(prepare(function->launcher, bound, &call)));
  if (!state) return nullptr;
  const size_t count = call.words.size();
  auto* words = PyMem_New(uint64_t, count);
  if (words == nullptr) return PyErr_NoMemory();
  std::memcpy(words, call.words.data(), count * sizeof(uint64_t));
  PyObject* made = CompiledFunction_Type->tp_alloc(CompiledFunction_Type, 0);
  if (made == nullptr) {
    PyMem_Free(words);
    return nullptr;
  }
  CompiledFunctionObject* self = as_compiled(made);
  self->launcher = function->launcher;
  self->vectorcall = call_compiled;
  self->function = reinterpret_cast<JitFunctionObject*>(Py_NewRef(reinterpret_cast<PyObject*>(function)));
  self->cold = Py_NewRef(cold);
  self->state = reinterpret_cast<CallState*>(state.release());
  self->words = words;
  self->word_count = count;
  return made;
}

bool register_compiled_function(PyObject* module) {
  CompiledFunction_Type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return CompiledFunction_Type != nullptr && PyModule_AddType(module, CompiledFunction_Type) == 0;
}

}  // namespace darter
