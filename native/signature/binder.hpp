// From the arguments of a vectorcall to one value per parameter, as Python binds them.
#pragma once

#include "signature/plan.hpp"

namespace darter {

// What a kwnames tuple means for a plan; call sites hand over the same tuple at every call, so its identity is the key.
struct KeywordMap {
  PyObject* names = nullptr;  // owned: no other tuple takes its address
  Py_ssize_t positional = 0;
  std::vector<uint8_t> targets;   // parameter of each keyword
  std::vector<uint8_t> defaults;  // parameters left to their defaults
};

class Binder {
 public:
  Binder() = default;
  Binder(const Binder&) = delete;
  Binder& operator=(const Binder&) = delete;
  ~Binder() { clear(); }

  // Returns an array of plan.count() borrowed values: `args` itself where it is complete, or `room`, which holds
  // kMaxParams. NULL with ArgumentTypeError set.
  PyObject* const* bind(const Plan& plan, PyObject* const* args, Py_ssize_t count, PyObject* names, PyObject** room) {
    if (DARTER_LIKELY(names == nullptr && count <= plan.positional)) {
      if (DARTER_LIKELY(count == plan.complete)) return args;
      const Py_ssize_t all = plan.count();
      bool complete = true;
      for (Py_ssize_t i = 0; i < count; ++i) room[i] = args[i];
      for (Py_ssize_t i = count; i < all; ++i) {
        room[i] = plan.defaults[static_cast<size_t>(i)];
        complete &= room[i] != nullptr;
      }
      if (DARTER_LIKELY(complete)) return room;
    }
    return bind_slowly(plan, args, count, names, room);
  }

  void clear();

 private:
  static constexpr size_t kMaps = 8;

  PyObject* const* bind_slowly(const Plan& plan, PyObject* const* args, Py_ssize_t count, PyObject* names,
                               PyObject** room);
  const KeywordMap* map_of(const Plan& plan, PyObject* const* args, Py_ssize_t count, PyObject* names, PyObject** room);

  std::vector<KeywordMap> maps_;
  size_t oldest_ = 0;
};

}  // namespace darter
