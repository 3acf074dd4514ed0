// A call state: a loaded launch program, ready to run for one key, with the owners of everything that it points at.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>

namespace darter {

struct CallState;

extern PyTypeObject* CallState_Type;

// Registers that call_state_run needs; the first ones are the argument slots, which the caller fills.
int call_state_register_count(const CallState* state);

// Argument slots among them.
int call_state_slot_count(const CallState* state);

// Runs the launch program over `registers`. Returns 0, or -1 with a Python exception set. Needs the GIL; it may be
// released and taken again inside, so the caller holds a reference to `state`.
int call_state_run(CallState* state, uint64_t* registers, void* stream);

// The guards given at creation, borrowed, or NULL.
PyObject* call_state_guards(const CallState* state);

// The numbers given as `written` at creation, `*count` of them.
const int* call_state_written(const CallState* state, int* count);

bool register_call_state(PyObject* module);

}  // namespace darter
