// Steps 2 to 5 of the warm call: read, key, look up, guard, run.
#pragma once

#include "launcher/launcher.hpp"
#include "program/call_state.hpp"

namespace darter {

// Calls with bound arguments; None, or NULL with an exception set.
PyObject* launch(Launcher* launcher, PyObject* const* arguments);

// Reads bound arguments into `call` and returns their call state, compiled where it must be; a new reference. Launches
// nothing.
CallState* prepare(Launcher* launcher, PyObject* const* arguments, Call* call);

// Runs a state that the caller owns with the slots of `call`. 0, or -1 with an exception set.
int run_state(Launcher* launcher, Call* call, CallState* state);

// Whether what the state captured is unchanged. May run Python; the caller owns `state`.
bool state_holds(CallState* state);

// Bound arguments as a tuple, and key words as a tuple of ints; for cold code.
DARTER_COLD PyObject* arguments_tuple(const Launcher* launcher, PyObject* const* arguments);
DARTER_COLD PyObject* words_tuple(const uint64_t* words, size_t count);

}  // namespace darter
