#include "guards/guards.hpp"

#include <structmember.h>

#include "guards/guard_entries.hpp"

namespace darter {

PyTypeObject* Guards_Type = nullptr;

namespace {

// How often Python is asked again when what it has just resolved changes before it is armed.
constexpr int MAX_RESOLUTIONS = 16;

void settle(Guards* guards, GuardSnapshot* snapshot, bool verdict, uint64_t epoch) {
  guards->current = snapshot;
  guards->verdict = verdict;
  guards->epoch = epoch;
  guards->always = snapshot == nullptr || snapshot->has_unnotified() ? 1 : 0;
}

// Puts a new answer in the place of the last one of its kind.
void adopt(Guards* guards, GuardSnapshot* snapshot, bool verdict, uint64_t epoch) {
  GuardSnapshot** place = verdict ? &guards->positive : &guards->negative;
  GuardSnapshot* replaced = *place;
  *place = snapshot;
  if (!verdict) guards->accepted = false;
  settle(guards, snapshot, verdict, epoch);
  if (replaced != nullptr) replaced->release();  // last: dropping references may run Python code
}

// Asks Python, arms what it answers, and compares: an answer counts only if nothing changed since it was read.
// Returns 1 or 0 for the verdict, -1 with a Python exception set.
int resolve(Guards* guards) {
  for (int attempt = 0; attempt < MAX_RESOLUTIONS; ++attempt) {
    PyObject* answer = PyObject_CallNoArgs(guards->cold);
    if (answer == nullptr) return -1;
    int verdict = 0;
    PyObject* watches = nullptr;
    if (!PyArg_ParseTuple(answer, "pO;guards: the cold side returns (holds, watches)", &verdict, &watches)) {
      Py_DECREF(answer);
      return -1;
    }
    GuardSnapshot* snapshot = GuardSnapshot::create(watches, guards->absent);
    Py_DECREF(answer);
    if (snapshot == nullptr) return -1;
    uint64_t epoch = darter_epoch;
    if (snapshot->holds_all()) {
      adopt(guards, snapshot, verdict != 0, epoch);
      return verdict;
    }
    snapshot->release();
  }
  settle(guards, nullptr, false, darter_epoch);
  return 0;
}

// After an exception there is no answer; whoever is told "no" goes on in Python and meets the exception there.
void forget_exception() {
  if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();
  PyErr_Clear();
}

bool compare(GuardSnapshot* snapshot, bool all) {
  snapshot->retain();
  bool holds = all ? snapshot->holds_all() : snapshot->holds_unnotified();
  snapshot->release();
  return holds;
}

}  // namespace

bool guards_compare(Guards* guards) {
  uint64_t epoch = darter_epoch;
  GuardSnapshot* current = guards->current;
  if (current != nullptr) {
    bool is_positive = guards->verdict;
    if (compare(current, guards->epoch != epoch)) {
      guards->epoch = epoch;
      return is_positive;
    }
    GuardSnapshot* other = is_positive ? guards->negative : guards->positive;
    bool same = other != nullptr && compare(other, true);
    if (same && other == (is_positive ? guards->negative : guards->positive)) {
      settle(guards, other, !is_positive, epoch);
      return !is_positive;
    }
  }
  int verdict = resolve(guards);
  if (verdict >= 0) return verdict == 1;
  forget_exception();
  settle(guards, nullptr, false, darter_epoch);
  return false;
}

namespace {

PyObject* guards_new(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  static const char* names[] = {"cold", "absent", nullptr};
  PyObject* cold = nullptr;
  PyObject* absent = nullptr;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OO:Guards", const_cast<char**>(names), &cold, &absent)) {
    return nullptr;
  }
  auto* self = reinterpret_cast<Guards*>(type->tp_alloc(type, 0));
  if (self == nullptr) return nullptr;
  self->cold = Py_NewRef(cold);
  self->absent = Py_NewRef(absent);
  settle(self, nullptr, false, darter_epoch);
  if (resolve(self) < 0) {
    Py_DECREF(self);
    return nullptr;
  }
  return reinterpret_cast<PyObject*>(self);
}

int guards_traverse(PyObject* object, visitproc visit, void* arg) {
  auto* self = reinterpret_cast<Guards*>(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->cold);
  Py_VISIT(self->absent);
  for (GuardSnapshot* snapshot : {self->positive, self->negative}) {
    if (snapshot == nullptr) continue;
    int stop = snapshot->traverse(visit, arg);
    if (stop != 0) return stop;
  }
  return 0;
}

int guards_clear(PyObject* object) {
  auto* self = reinterpret_cast<Guards*>(object);
  GuardSnapshot* positive = self->positive;
  GuardSnapshot* negative = self->negative;
  self->positive = self->negative = nullptr;
  settle(self, nullptr, false, darter_epoch);
  for (GuardSnapshot* snapshot : {positive, negative}) {
    if (snapshot != nullptr) snapshot->release();
  }
  // `cold` stays until the end: a call that is under way may still ask it.
  return 0;
}

void guards_dealloc(PyObject* object) {
  auto* self = reinterpret_cast<Guards*>(object);
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (self->weak_references != nullptr) PyObject_ClearWeakRefs(object);
  guards_clear(object);
  Py_CLEAR(self->cold);
  Py_CLEAR(self->absent);
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* guards_holds(PyObject* object, PyObject*) { return PyBool_FromLong(guards_hold(object)); }

PyObject* guards_differences(PyObject* object, PyObject*) {
  return PyObject_CallMethod(reinterpret_cast<Guards*>(object)->cold, "differences", nullptr);
}

PyObject* guards_accept(PyObject* object, PyObject*) {
  auto* self = reinterpret_cast<Guards*>(object);
  if (!guards_hold(object)) self->accepted = self->current != nullptr;
  Py_RETURN_NONE;
}

PyObject* guards_get_accepted(PyObject* object, void*) {
  auto* self = reinterpret_cast<Guards*>(object);
  return PyBool_FromLong(!guards_hold(object) && self->accepted);
}

PyMethodDef guards_methods[] = {
    {"holds", guards_holds, METH_NOARGS, "Return whether everything that was captured is unchanged, by value."},
    {"differences", guards_differences, METH_NOARGS, "Return what has changed, as a list of Drift."},
    {"accept", guards_accept, METH_NOARGS, "Take the present state as intended, until it changes again."},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef guards_getset[] = {
    {"accepted", guards_get_accepted, nullptr, "Whether there is drift, and accept() was called for it.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMemberDef guards_members[] = {
    {"cold", T_OBJECT, offsetof(Guards, cold), READONLY, "The cold side: () -> (holds, watches)."},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Guards, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot guards_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(guards_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(guards_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(guards_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(guards_clear)},
    {Py_tp_methods, guards_methods},
    {Py_tp_getset, guards_getset},
    {Py_tp_members, guards_members},
    {Py_tp_doc, const_cast<char*>("Guards(cold, absent): whether what a compile captured is still what it was.")},
    {0, nullptr},
};

PyType_Spec guards_spec = {"darter._native.Guards", sizeof(Guards), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
                           guards_slots};

}  // namespace

bool register_guards(PyObject* module) {
  Guards_Type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&guards_spec));
  return Guards_Type != nullptr &&
         PyModule_AddObjectRef(module, "Guards", reinterpret_cast<PyObject*>(Guards_Type)) == 0;
}

}  // namespace darter
