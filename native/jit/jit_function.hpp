// The Python types of the warm call: JitFunction, CompiledFunction and what binding either to an object gives.
#pragma once

#include "launcher/launcher.hpp"
#include "program/call_state.hpp"

namespace darter {

// What copy and deepcopy return of a launcher, as of a plain function: itself.
inline PyObject* same_object(PyObject* self, PyObject* /*unused*/) { return Py_NewRef(self); }

struct JitFunctionObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* dict;
  PyObject* weak_references;
  Launcher* launcher;
};

// One frozen call state of a launcher, with the key that it is good for.
struct CompiledFunctionObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  Launcher* launcher;  // borrowed from `function`
  CallState* state;    // owned
  uint64_t* words;     // owned
  size_t word_count;
  JitFunctionObject* function;  // owned
  PyObject* cold;               // owned: (mismatch, drift)
  PyObject* dict;
  PyObject* weak_references;
};

// A launcher or a compiled one, bound to an object.
struct BoundFunctionObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* weak_references;
  PyObject* function;  // owned
  PyObject* self;      // owned
};

inline JitFunctionObject* as_function(PyObject* self) { return reinterpret_cast<JitFunctionObject*>(self); }
inline Launcher* launcher_of(PyObject* self) { return as_function(self)->launcher; }

// The cold object, borrowed, which `open` makes at the first use: a program that imports a hundred launchers and calls
// two pays for two. NULL with an exception set.
PyObject* opened_cold(PyObject* self);

// The launcher with its cold object and its plan, which cold.plan() makes at the first use: annotations may name what
// is defined later. NULL with an exception set.
Launcher* planned_launcher(PyObject* self);

// Of jit_methods.cpp: what JitFunction and the module offer.
extern PyMethodDef jit_methods[];
extern PyGetSetDef jit_getters[];
extern PyMethodDef jit_functions[];

extern PyTypeObject* JitFunction_Type;
extern PyTypeObject* CompiledFunction_Type;
extern PyTypeObject* BoundFunction_Type;

// Descriptor slot of both function types: through a class the function itself, through an instance a bound one.
PyObject* bind_to_instance(PyObject* function, PyObject* instance, PyObject* owner);

// A CompiledFunction for arguments given as a tuple and a dict (or NULL).
PyObject* make_compiled(JitFunctionObject* function, PyObject* cold, PyObject* args, PyObject* kwargs);

// Binds a tuple and a dict as a call would; as Binder::bind, with `values` holding the argument array.
PyObject* const* bind_packed(Launcher* launcher, PyObject* args, PyObject* kwargs, std::vector<PyObject*>* values,
                             Ref* names, PyObject** room);

bool register_jit_function(PyObject* module);
bool register_compiled_function(PyObject* module);
bool register_bound_function(PyObject* module);

}  // namespace darter
