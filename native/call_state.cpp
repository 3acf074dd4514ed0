#include "call_state.hpp"

namespace darter {

struct CallState {
  PyObject_HEAD;
  PyObject* guards;
};

PyTypeObject* CallState_Type = nullptr;

int call_state_register_count(const CallState*) { return 256; }
int call_state_slot_count(const CallState*) { return 64; }
int call_state_run(CallState*, uint64_t*, void*) { return 0; }
PyObject* call_state_guards(const CallState* state) { return state->guards; }
const int* call_state_written(const CallState*, int* count) {
  *count = 0;
  return nullptr;
}

namespace {

PyObject* call_state_new(PyTypeObject* type, PyObject*, PyObject*) { return type->tp_alloc(type, 0); }

void call_state_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyType_Slot call_state_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(call_state_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(call_state_dealloc)},
    {0, nullptr},
};

PyType_Spec call_state_spec = {"darter._native.CallState", sizeof(CallState), 0, Py_TPFLAGS_DEFAULT, call_state_slots};

}  // namespace

bool register_call_state(PyObject* module) {
  CallState_Type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&call_state_spec));
  return CallState_Type != nullptr &&
         PyModule_AddObjectRef(module, "CallState", reinterpret_cast<PyObject*>(CallState_Type)) == 0;
}

}  // namespace darter
