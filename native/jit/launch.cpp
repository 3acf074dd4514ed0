#include "jit/launch.hpp"

#include "common/errors.hpp"
#include "guards/guards.hpp"

namespace darter {
namespace {

// An argument that changes while its own compile runs is read again; this often, then the call gives up.
constexpr int kMaxAttempts = 4;

PyObject* as_object(CallState* state) { return reinterpret_cast<PyObject*>(state); }

// The newest state of a key whose captures hold, owned; NULL without an exception when there is none.
[[gnu::noinline]] CallState* search_states(Launcher* launcher, const Call& call) {
  for (;;) {
    const TableEntry* entry = launcher->table.find(call.words.data(), call.words.size());
    if (entry == nullptr) return nullptr;
    const uint64_t generation = launcher->table.generation();
    bool changed = false;
    for (size_t i = 0; i < entry->states.size() && !changed; ++i) {
      auto* state = reinterpret_cast<CallState*>(Py_NewRef(entry->states[i]));
      if (DARTER_LIKELY(state_holds(state))) return state;
      Py_DECREF(as_object(state));
      // A guard that asked Python may have changed the table under our feet.
      changed = launcher->table.generation() != generation;
    }
    if (!changed) return nullptr;
  }
}

// The same, for the case of every day first: nothing has changed since the last call.
DARTER_INLINE CallState* holding_state(Launcher* launcher, const Call& call) {
  const TableEntry* entry = launcher->table.find(call.words.data(), call.words.size());
  if (DARTER_UNLIKELY(entry == nullptr)) return nullptr;
  auto* state = reinterpret_cast<CallState*>(entry->states.front());
  if (DARTER_LIKELY(state->guards == nullptr || guards_known_to_hold(state->guards))) {
    return reinterpret_cast<CallState*>(Py_NewRef(as_object(state)));
  }
  return search_states(launcher, call);
}

DARTER_COLD CallState* ask_cold(Launcher* launcher, PyObject* const* arguments, const std::vector<uint64_t>& key,
                                void* stream) {
  Ref tuple(arguments_tuple(launcher, arguments));
  Ref words(tuple ? words_tuple(key.data(), key.size()) : nullptr);
  Ref handle(words ? PyLong_FromVoidPtr(stream) : nullptr);
  Ref state(handle ? PyObject_CallMethod(launcher->cold, "miss", "OOO", tuple.get(), words.get(), handle.get())
                   : nullptr);
  if (!state) return nullptr;
  if (!PyObject_TypeCheck(state.get(), CallState_Type)) {
    PyErr_Format(PyExc_TypeError, "miss() must return a CallState, not %s", Py_TYPE(state.get())->tp_name);
    return nullptr;
  }
  return reinterpret_cast<CallState*>(state.release());
}

DARTER_COLD bool verify_key(Launcher* launcher, PyObject* const* arguments, const Call& call) {
  Ref tuple(arguments_tuple(launcher, arguments));
  Ref words(tuple ? words_tuple(call.words.data(), call.words.size()) : nullptr);
  Ref result(words ? PyObject_CallMethod(launcher->cold, "verify_key", "OO", tuple.get(), words.get()) : nullptr);
  return static_cast<bool>(result);
}

bool read_call(Launcher* launcher, PyObject* const* arguments, Call* call) {
  if (DARTER_UNLIKELY(!read_arguments(launcher, arguments, call))) return false;
  if (DARTER_UNLIKELY(call->framework != nullptr) && !settle_stream(launcher, call)) return false;
  return DARTER_LIKELY(launcher->verify_keys == 0) || verify_key(launcher, arguments, *call);
}

// A key without a state that holds: compile (or load) and read the arguments again, since Python has run.
DARTER_COLD CallState* miss(Launcher* launcher, PyObject* const* arguments, Call* call) {
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    const std::vector<uint64_t> words(call->words.data(), call->words.data() + call->words.size());
    Ref made(as_object(ask_cold(launcher, arguments, words, call->stream)));
    if (!made) return nullptr;
    launcher->table.insert(words.data(), words.size(), made.get());
    call->reset();
    if (!read_call(launcher, arguments, call)) return nullptr;
    if (call->words.size() == words.size() && words_equal(call->words.data(), words.data(), words.size())) {
      return reinterpret_cast<CallState*>(made.release());
    }
    if (CallState* state = holding_state(launcher, *call)) return state;
  }
  PyErr_Format(PyExc_RuntimeError,
               "%U(): its arguments changed while they were compiled for; call it from one thread, or do "
               "not reshape arguments during the call",
               launcher->plan.name);
  return nullptr;
}

DARTER_COLD int refuse_readonly(Launcher* launcher, int param) {
  const ArgumentPath path{nullptr, launcher->plan.params[static_cast<size_t>(param)].name, 0};
  refuse_value({launcher->plan.name, &path},
               "found a read-only array, and the kernel stores to it; pass a writeable array, such as array.copy()");
  return -1;
}

DARTER_COLD bool stores_are_allowed(Launcher* launcher, const Call& call, const CallState* state) {
  int count = 0;
  const int* written = call_state_written(state, &count);
  for (int i = 0; i < count; ++i) {
    const int param = written[i];
    if (param < 0 || param >= launcher->plan.count() || (call.readonly[param / 64] >> (param % 64) & 1) == 0) continue;
    refuse_readonly(launcher, param);
    return false;
  }
  return true;
}

DARTER_COLD int refuse_slots(const CallState* state, const Call& call) {
  PyErr_Format(PyExc_SystemError,
               "a launch program takes %d argument slots and was given %zu: a defect of darter, please "
               "report it",
               state->slot_count, call.slots.size());
  return -1;
}

}  // namespace

bool state_holds(CallState* state) { return state->guards == nullptr || guards_hold(state->guards); }

int run_state(Launcher* launcher, Call* call, CallState* state) {
  if (DARTER_UNLIKELY(call->any_readonly) && !stores_are_allowed(launcher, *call, state)) return -1;
  const size_t slots = call->slots.size();
  if (DARTER_UNLIKELY(static_cast<size_t>(state->slot_count) != slots)) return refuse_slots(state, *call);
  const auto registers = static_cast<size_t>(state->register_count);
  if (DARTER_UNLIKELY(registers > slots && !call->slots.reserve(registers - slots))) return -1;
  return call_state_run(state, call->slots.data(), call->stream);
}

PyObject* launch(Launcher* launcher, PyObject* const* arguments) {
  Call call;
  if (DARTER_UNLIKELY(!read_call(launcher, arguments, &call))) return nullptr;
  CallState* state = holding_state(launcher, call);
  if (DARTER_LIKELY(state != nullptr)) {
    ++launcher->memory_hits;
  } else {
    if (PyErr_Occurred() != nullptr) return nullptr;
    state = miss(launcher, arguments, &call);
    if (state == nullptr) return nullptr;
  }
  const int status = run_state(launcher, &call, state);
  Py_DECREF(as_object(state));
  return DARTER_LIKELY(status == 0) ? Py_NewRef(Py_None) : nullptr;
}

CallState* prepare(Launcher* launcher, PyObject* const* arguments, Call* call) {
  if (!read_call(launcher, arguments, call)) return nullptr;
  if (CallState* state = holding_state(launcher, *call)) {
    ++launcher->memory_hits;
    return state;
  }
  return PyErr_Occurred() != nullptr ? nullptr : miss(launcher, arguments, call);
}

PyObject* arguments_tuple(const Launcher* launcher, PyObject* const* arguments) {
  const int count = launcher->plan.count();
  PyObject* tuple = PyTuple_New(count);
  for (int i = 0; i < count && tuple != nullptr; ++i) PyTuple_SET_ITEM(tuple, i, Py_NewRef(arguments[i]));
  return tuple;
}

PyObject* words_tuple(const uint64_t* words, size_t count) {
  Ref tuple(PyTuple_New(static_cast<Py_ssize_t>(count)));
  if (!tuple) return nullptr;
  for (size_t i = 0; i < count; ++i) {
    PyObject* word = PyLong_FromUnsignedLongLong(words[i]);
    if (word == nullptr) return nullptr;
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), word);
  }
  return tuple.release();
}

}  // namespace darter
