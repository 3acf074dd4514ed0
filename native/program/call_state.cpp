#include "program/call_state.hpp"

#include <new>
#include <string>
#include <vector>

#include "common/errors.hpp"
#include "program/call_state_body.hpp"
#include "program/call_state_errors.hpp"

namespace darter {

namespace {

struct FullCallState {
  CallState head;
  CallStateBody body;
};

CallStateBody& body_of(CallState* state) { return reinterpret_cast<FullCallState*>(state)->body; }
const CallStateBody& body_of(const CallState* state) { return reinterpret_cast<const FullCallState*>(state)->body; }
CallStateBody& body_of(PyObject* state) { return reinterpret_cast<FullCallState*>(state)->body; }

}  // namespace

PyTypeObject* CallState_Type = nullptr;

const int* call_state_written(const CallState* state, int* count) {
  *count = static_cast<int>(body_of(state).written.size());
  return body_of(state).written.data();
}

int call_state_run(CallState* state, uint64_t* registers, void* stream) {
  const RunResult result = run_program(*state->linked, registers, stream);
  return __builtin_expect(result.end == RunEnd::kDone, 1) ? 0 : raise_run(body_of(state), result, registers);
}

namespace {

bool read_program(CallStateBody* body, PyObject* bytes) {
  std::string problem;
  body->program = decode_program(reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(bytes)),
                                 static_cast<size_t>(PyBytes_GET_SIZE(bytes)), &problem);
  if (body->program == nullptr) raise_error("ArtifactError", "launch program is damaged: %s", problem.c_str());
  return body->program != nullptr;
}

bool read_kernels(CallStateBody* body, PyObject* kernels) {
  PythonRef items(PySequence_Fast(kernels, "kernels must be a sequence of KernelHandle"));
  if (!items) return false;
  int site = body->program->sites;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(items.get(), i);
    if (!PyObject_TypeCheck(item, KernelHandle_Type)) {
      PyErr_Format(PyExc_TypeError, "kernels[%zd] must be a KernelHandle, not %s", i, Py_TYPE(item)->tp_name);
      return false;
    }
    auto* handle = reinterpret_cast<KernelHandle*>(Py_NewRef(item));
    body->kernels.push_back(handle);
    body->message_sites.push_back(site);
    site += handle->message_count;
  }
  return true;
}

// The launches must fit the kernels: a kernel reads as many parameters as it has.
bool check_launches(const CallStateBody& body) {
  for (const LaunchSpec& spec : body.program->launches) {
    if (spec.kernel >= body.kernels.size()) {
      raise_error("ArtifactError", "launch program is damaged: it launches kernel %u of %zu", spec.kernel,
                  body.kernels.size());
      return false;
    }
    const KernelHandle& kernel = *body.kernels[spec.kernel];
    if (spec.arguments.size() != static_cast<size_t>(kernel.parameter_count)) {
      raise_error("ArtifactError", "launch program is damaged: kernel %U takes %d parameters and is given %zu",
                  kernel.name, kernel.parameter_count, spec.arguments.size());
      return false;
    }
    for (int axis = 0; axis < 3; ++axis) {
      if (spec.block[axis] == kernel.block[axis]) continue;
      raise_error("ArtifactError", "launch program is damaged: kernel %U has another block than its launch",
                  kernel.name);
      return false;
    }
  }
  return true;
}

bool read_written(CallStateBody* body, PyObject* written) {
  PythonRef items(PySequence_Fast(written, "written must be a sequence of int"));
  if (!items) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    const long number = PyLong_AsLong(PySequence_Fast_GET_ITEM(items.get(), i));
    if (number == -1 && PyErr_Occurred() != nullptr) return false;
    if (number < 0 || number > INT32_MAX) {
      PyErr_Format(PyExc_ValueError, "written[%zd] is %ld, which is no argument number", i, number);
      return false;
    }
    body->written.push_back(static_cast<int>(number));
  }
  return true;
}

PyObject* call_state_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* const kNames[] = {"program", "kernels", "owner", "guards", "written", "cold_errors", nullptr};
  PyObject *program = nullptr, *kernels = nullptr, *owner = nullptr, *guards = nullptr, *written = nullptr,
           *cold = nullptr;
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "SOOOOO:CallState", const_cast<char**>(kNames), &program, &kernels,
                                  &owner, &guards, &written, &cold) == 0) {
    return nullptr;
  }
  CallStateBody body;
  body.owner = PythonRef::borrow(owner);
  body.guards = PythonRef::borrow(guards == Py_None ? nullptr : guards);
  body.cold_errors = PythonRef::borrow(cold == Py_None ? nullptr : cold);
  const bool read = read_program(&body, program) && read_kernels(&body, kernels) && check_launches(body) &&
                    read_written(&body, written);
  PyObject* self = read ? type->tp_alloc(type, 0) : nullptr;
  if (self == nullptr) {
    for (KernelHandle* kernel : body.kernels) Py_DECREF(kernel);
    return nullptr;
  }
  auto* state = reinterpret_cast<CallState*>(self);
  body.linked = link_program(*body.program, body.kernels.data());
  state->linked = body.linked.get();
  state->guards = body.guards.get();
  state->slot_count = static_cast<int32_t>(body.program->slots);
  state->register_count = static_cast<int32_t>(body.program->registers);
  new (&body_of(self)) CallStateBody(std::move(body));
  return self;
}

int call_state_traverse(PyObject* self, visitproc visit, void* arg) {
  const CallStateBody& body = body_of(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(body.owner.get());
  Py_VISIT(body.guards.get());
  Py_VISIT(body.cold_errors.get());
  return 0;
}

// Kernels and owner stay until the end: something that the collector finalises later may still run the program.
int call_state_clear(PyObject* self) {
  CallStateBody& body = body_of(self);
  reinterpret_cast<CallState*>(self)->guards = nullptr;
  body.guards = PythonRef();
  body.cold_errors = PythonRef();
  return 0;
}

void call_state_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  CallStateBody& body = body_of(self);
  for (KernelHandle* kernel : body.kernels) Py_DECREF(kernel);
  body.~CallStateBody();
  type->tp_free(self);
  Py_DECREF(type);
}

bool read_slots(PyObject* slots, std::vector<uint64_t>* registers, Py_ssize_t expected) {
  PythonRef items(PySequence_Fast(slots, "slots must be a sequence of int"));
  if (!items) return false;
  if (PySequence_Fast_GET_SIZE(items.get()) != expected) {
    PyErr_Format(PyExc_ValueError, "the program has %zd slots, got %zd", expected,
                 PySequence_Fast_GET_SIZE(items.get()));
    return false;
  }
  for (Py_ssize_t i = 0; i < expected; ++i) {
    PythonRef number(PyNumber_Index(PySequence_Fast_GET_ITEM(items.get(), i)));
    if (!number) return false;
    (*registers)[static_cast<size_t>(i)] = PyLong_AsUnsignedLongLongMask(number.get());
    if (PyErr_Occurred() != nullptr) return false;
  }
  return true;
}

PyObject* call_state_run_method(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* const kNames[] = {"slots", "stream", nullptr};
  PyObject* slots = nullptr;
  unsigned long long stream = 0;
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "O|K:run", const_cast<char**>(kNames), &slots, &stream) == 0)
    return nullptr;
  auto* state = reinterpret_cast<CallState*>(self);
  std::vector<uint64_t> registers(static_cast<size_t>(state->register_count) + 1);
  if (!read_slots(slots, &registers, state->slot_count)) return nullptr;
  if (call_state_run(state, registers.data(), reinterpret_cast<void*>(stream)) != 0) return nullptr;
  Py_RETURN_NONE;
}

PyObject* call_state_get_guards(PyObject* self, void*) {
  PyObject* guards = reinterpret_cast<CallState*>(self)->guards;
  return Py_NewRef(guards != nullptr ? guards : Py_None);
}

PyObject* call_state_get_owner(PyObject* self, void*) { return Py_NewRef(body_of(self).owner.get()); }

PyObject* call_state_get_written(PyObject* self, void*) {
  int count = 0;
  const int* written = call_state_written(reinterpret_cast<CallState*>(self), &count);
  PyObject* tuple = PyTuple_New(count);
  for (int i = 0; tuple != nullptr && i < count; ++i) {
    PyObject* number = PyLong_FromLong(written[i]);
    if (number == nullptr) Py_CLEAR(tuple);
    if (tuple != nullptr) PyTuple_SET_ITEM(tuple, i, number);
  }
  return tuple;
}

PyMethodDef call_state_methods[] = {
    {"run", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(call_state_run_method)), METH_VARARGS | METH_KEYWORDS,
     "run(slots, stream=0)\n--\n\nRun the launch program over the argument slots, each an int taken modulo 2**64."},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef call_state_getters[] = {
    {"guards", call_state_get_guards, nullptr, "The guards given at creation, or None.", nullptr},
    {"owner", call_state_get_owner, nullptr, "What keeps the code alive.", nullptr},
    {"written", call_state_get_written, nullptr, "Numbers of the arguments that the kernels write.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot call_state_slots[] = {
    {Py_tp_doc, const_cast<char*>("CallState(program, kernels, owner, guards, written, cold_errors)\n--\n\n"
                                  "A loaded launch program, ready to run for one key.")},
    {Py_tp_new, reinterpret_cast<void*>(call_state_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(call_state_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(call_state_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(call_state_clear)},
    {Py_tp_methods, call_state_methods},
    {Py_tp_getset, call_state_getters},
    {0, nullptr},
};

PyType_Spec call_state_spec = {
    "darter._native.CallState",
    sizeof(FullCallState),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    call_state_slots,
};

}  // namespace

bool register_call_state(PyObject* module) {
  CallState_Type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&call_state_spec));
  return CallState_Type != nullptr &&
         PyModule_AddObjectRef(module, "CallState", reinterpret_cast<PyObject*>(CallState_Type)) == 0;
}

}  // namespace darter
