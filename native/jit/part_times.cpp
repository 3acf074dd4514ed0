#include "jit/part_times.hpp"

#include <chrono>

#include "arguments/scalar.hpp"
#include "jit/launch.hpp"
#include "readers/reader_dispatch.hpp"

namespace darter {
namespace {

using Clock = std::chrono::steady_clock;

// Nanoseconds of one step out of `repeats`; negative with an exception set.
template <typename Step>
double nanoseconds_of(long repeats, Step step) {
  const Clock::time_point start = Clock::now();
  for (long i = 0; i < repeats; ++i) {
    if (!step()) return -1.0;
    // Nothing that a step computes is used; without this the compiler could leave it out.
    asm volatile("" ::: "memory");
  }
  const std::chrono::duration<double, std::nano> spent = Clock::now() - start;
  return spent.count() / static_cast<double>(repeats);
}

// What the warm call takes out of its arguments, before anything is checked or becomes a key word.
bool read_values(Launcher* launcher, PyObject* const* bound) {
  ArgumentPath path{nullptr, nullptr, 0};
  const Place place{launcher->plan.name, &path};
  for (int i = 0; i < launcher->plan.count(); ++i) {
    Param* param = &launcher->plan.params[static_cast<size_t>(i)];
    PyObject* value = bound[i];
    path.name = param->name;
    const bool known = param->cache.type != nullptr && Py_TYPE(value) == param->cache.type;
    if (known && param->cache.reader != ReaderKind::Explicit) {
      TensorView view;
      if (!read_view(place, value, &param->cache, &view)) return false;
    } else if (param->kind == ParamKind::Scalar && value != Py_None) {
      uint64_t bits = 0;
      if (!encode_scalar(place, value, param->dtype, &bits)) return false;
    }
    asm volatile("" ::: "memory");
  }
  return true;
}

bool put(PyObject* dict, const char* name, double nanoseconds) {
  if (nanoseconds < 0) return false;
  Ref value(PyFloat_FromDouble(nanoseconds));
  return value && PyDict_SetItemString(dict, name, value.get()) == 0;
}

PyObject* parts_of(Launcher* launcher, PyObject* const* args, Py_ssize_t count, PyObject* names, long repeats) {
  PyObject* room[kMaxParams];
  PyObject* const* bound = launcher->binder.bind(launcher->plan, args, count, names, room);
  if (bound == nullptr) return nullptr;
  Call call;
  Ref state(reinterpret_cast<PyObject*>(prepare(launcher, bound, &call)));
  Ref parts(state ? PyDict_New() : nullptr);
  if (!parts) return nullptr;
  auto* call_state = reinterpret_cast<CallState*>(state.get());
  const double bind = nanoseconds_of(repeats, [&] {
    PyObject* other[kMaxParams];
    return launcher->binder.bind(launcher->plan, args, count, names, other) != nullptr;
  });
  const double reading = nanoseconds_of(repeats, [&] { return read_values(launcher, bound); });
  const double key = nanoseconds_of(repeats, [&] {
    Call fresh;
    return read_arguments(launcher, bound, &fresh);
  });
  const double lookup =
      nanoseconds_of(repeats, [&] { return launcher->table.find(call.words.data(), call.words.size()) != nullptr; });
  const double guards = nanoseconds_of(repeats, [&] { return state_holds(call_state); });
  if (!put(parts.get(), "bind", bind) || !put(parts.get(), "reading", reading) || !put(parts.get(), "key", key) ||
      !put(parts.get(), "lookup", lookup) || !put(parts.get(), "guards", guards)) {
    if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_RuntimeError, "captured state has changed meanwhile");
    return nullptr;
  }
  // Elsewhere the queue of the device would fill up, and the wait for it be taken for the launch's cost.
  if (call.device == Call::kNoDevice || call.device >> 32 == kDLCPU) {
    const double program = nanoseconds_of(repeats, [&] { return run_state(launcher, &call, call_state) == 0; });
    if (!put(parts.get(), "program", program)) return nullptr;
  }
  return parts.release();
}

}  // namespace

PyObject* time_parts(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  Launcher* launcher = reinterpret_cast<JitFunctionObject*>(self)->launcher;
  const long repeats = count > 0 ? PyLong_AsLong(args[0]) : 0;
  if (repeats <= 0 || launcher->plan_object == nullptr) {
    if (PyErr_Occurred() == nullptr) {
      PyErr_SetString(PyExc_ValueError,
                      "_time_parts(repeats, *args): repeats is at least 1, and the launcher was called before");
    }
    return nullptr;
  }
  return parts_of(launcher, args + 1, count - 1, names, repeats);
}

}  // namespace darter
