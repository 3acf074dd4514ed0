// A call state: a loaded launch program, ready to run for one key, with the owners of everything that it points at.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>

namespace darter {

struct LinkedProgram;

// What the warm call reads of a state; the rest stands behind it, in call_state.cpp.
struct CallState {
  PyObject_HEAD;
  PyObject* guards;             // given at creation, or NULL; owned by the rest
  const LinkedProgram* linked;  // owned by the rest
  int32_t slot_count;           // argument slots, which the caller fills
  int32_t register_count;       // registers that call_state_run needs; the first ones are the slots
};

extern PyTypeObject* CallState_Type;

// Runs the launch program over `registers`. Returns 0, or -1 with a Python exception set. Needs the GIL; it may be
// released and taken again inside, so the caller holds a reference to `state`.
int call_state_run(CallState* state, uint64_t* registers, void* stream);

// The numbers given as `written` at creation, `*count` of them.
const int* call_state_written(const CallState* state, int* count);

bool register_call_state(PyObject* module);

}  // namespace darter
