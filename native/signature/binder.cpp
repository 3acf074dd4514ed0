#include "signature/binder.hpp"

#include "common/errors.hpp"

namespace darter {
namespace {

// -- failures, in Python's words
// ---------------------------------------------------------------------------------------

// "'a'", "'a' and 'b'", "'a', 'b', and 'c'"
PyObject* listed(const std::vector<PyObject*>& names) {
  PyObject* text = PyUnicode_FromString("");
  for (size_t i = 0; i < names.size() && text != nullptr; ++i) {
    const bool last = i + 1 == names.size();
    const char* joint = i == 0 ? "" : !last ? ", " : names.size() == 2 ? " and " : ", and ";
    PyObject* longer = PyUnicode_FromFormat("%U%s%R", text, joint, names[i]);
    Py_SETREF(text, longer);
  }
  return text;
}

DARTER_COLD void raise_missing(const Plan& plan, PyObject* const* room) {
  std::vector<PyObject*> positional;
  std::vector<PyObject*> keyword_only;
  for (int i = 0; i < plan.count(); ++i) {
    const Param& param = plan.params[static_cast<size_t>(i)];
    if (room[i] == nullptr) (param.keyword_only ? keyword_only : positional).push_back(param.name);
  }
  const auto& missing = positional.empty() ? keyword_only : positional;
  Ref names(listed(missing));
  if (!names) return;
  raise_error("ArgumentTypeError", "%U() missing %zu required %s argument%s: %U", plan.name, missing.size(),
              positional.empty() ? "keyword-only" : "positional", missing.size() == 1 ? "" : "s", names.get());
}

DARTER_COLD void raise_too_many(const Plan& plan, Py_ssize_t given, Py_ssize_t keyword_only) {
  int required = 0;
  for (int i = 0; i < plan.positional; ++i) required += plan.params[static_cast<size_t>(i)].default_value == nullptr;
  Ref accepted(required == plan.positional ? PyUnicode_FromFormat("%d", plan.positional)
                                           : PyUnicode_FromFormat("from %d to %d", required, plan.positional));
  if (!accepted) return;
  const bool one = plan.positional == 1 && required == plan.positional;
  if (keyword_only == 0) {
    raise_error("ArgumentTypeError", "%U() takes %U positional argument%s but %zd %s given", plan.name, accepted.get(),
                one ? "" : "s", given, given == 1 ? "was" : "were");
    return;
  }
  raise_error(
      "ArgumentTypeError",
      "%U() takes %U positional argument%s but %zd positional argument%s (and %zd keyword-only argument%s) were given",
      plan.name, accepted.get(), one ? "" : "s", given, given == 1 ? "" : "s", keyword_only,
      keyword_only == 1 ? "" : "s");
}

DARTER_COLD void raise_unknown(const Plan& plan, PyObject* names, PyObject* name) {
  std::vector<PyObject*> positional_only;
  for (const Param& param : plan.params) {
    for (Py_ssize_t i = 0; param.positional_only && i < PyTuple_GET_SIZE(names); ++i) {
      if (PyUnicode_Compare(param.name, PyTuple_GET_ITEM(names, i)) == 0) positional_only.push_back(param.name);
    }
  }
  if (positional_only.empty()) {
    raise_error("ArgumentTypeError", "%U() got an unexpected keyword argument '%S'", plan.name, name);
    return;
  }
  PyObject* text = PyUnicode_FromString("");
  for (size_t i = 0; i < positional_only.size() && text != nullptr; ++i) {
    PyObject* longer = PyUnicode_FromFormat("%U%s%U", text, i == 0 ? "" : ", ", positional_only[i]);
    Py_SETREF(text, longer);
  }
  Ref shown(text);
  if (!shown) return;
  raise_error("ArgumentTypeError", "%U() got some positional-only arguments passed as keyword arguments: '%U'",
              plan.name, shown.get());
}

// -- binding
// -----------------------------------------------------------------------------------------------------------

// The parameter that a keyword names, or -1: by identity first, since names are interned almost always.
int find_param(const Plan& plan, PyObject* name) {
  for (int i = 0; i < plan.count(); ++i) {
    const Param& param = plan.params[static_cast<size_t>(i)];
    if (param.name == name && !param.positional_only) return i;
  }
  if (!PyUnicode_Check(name)) return -1;
  for (int i = 0; i < plan.count(); ++i) {
    const Param& param = plan.params[static_cast<size_t>(i)];
    if (!param.positional_only && PyUnicode_Compare(param.name, name) == 0) return i;
  }
  return -1;
}

Py_ssize_t count_keyword_only(const Plan& plan, PyObject* names) {
  Py_ssize_t count = 0;
  for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_GET_SIZE(names); ++i) {
    const int target = find_param(plan, PyTuple_GET_ITEM(names, i));
    count += target >= 0 && plan.params[static_cast<size_t>(target)].keyword_only;
  }
  return count;
}

// Writes positional arguments to `room`, NULL behind them.
void spread(const Plan& plan, PyObject* const* args, Py_ssize_t count, PyObject** room) {
  std::memcpy(room, args, static_cast<size_t>(count) * sizeof(PyObject*));
  std::memset(room + count, 0, static_cast<size_t>(plan.count() - count) * sizeof(PyObject*));
}

DARTER_COLD void raise_duplicate(const Plan& plan, PyObject* name) {
  raise_error("ArgumentTypeError", "%U() got multiple values for argument '%S'", plan.name, name);
}

// More positional arguments than parameters; as Python does, complains of a wrong keyword first.
DARTER_COLD void raise_surplus(const Plan& plan, PyObject* const* args, Py_ssize_t count, PyObject* names,
                               PyObject** room) {
  spread(plan, args, plan.positional, room);
  for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_GET_SIZE(names); ++i) {
    PyObject* name = PyTuple_GET_ITEM(names, i);
    const int target = find_param(plan, name);
    if (target < 0) return raise_unknown(plan, names, name);
    if (room[target] != nullptr) return raise_duplicate(plan, name);
    room[target] = args[count + i];
  }
  raise_too_many(plan, count, count_keyword_only(plan, names));
}

// Fills what is missing from defaults; false with an exception set.
bool fill_defaults(const Plan& plan, PyObject** room) {
  bool complete = true;
  for (int i = 0; i < plan.count(); ++i) {
    if (room[i] == nullptr) room[i] = plan.params[static_cast<size_t>(i)].default_value;
    complete &= room[i] != nullptr;
  }
  if (DARTER_UNLIKELY(!complete)) raise_missing(plan, room);
  return complete;
}

// f(**options) makes a new tuple of the same strings at each call.
bool same_names(PyObject* a, PyObject* b) {
  const Py_ssize_t count = PyTuple_GET_SIZE(a);
  if (PyTuple_GET_SIZE(b) != count) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (PyTuple_GET_ITEM(a, i) != PyTuple_GET_ITEM(b, i)) return false;
  }
  return true;
}

PyObject* const* apply(const Plan& plan, const KeywordMap& map, PyObject* const* args, PyObject** room) {
  for (Py_ssize_t i = 0; i < map.positional; ++i) room[i] = args[i];
  const size_t keywords = map.targets.size();
  for (size_t i = 0; i < keywords; ++i) room[map.targets[i]] = args[map.positional + static_cast<Py_ssize_t>(i)];
  for (const uint8_t param : map.defaults) room[param] = plan.params[param].default_value;
  return room;
}

}  // namespace

PyObject* const* Binder::bind_slowly(const Plan& plan, PyObject* const* args, Py_ssize_t count, PyObject* names,
                                     PyObject** room) {
  if (names != nullptr && PyTuple_GET_SIZE(names) == 0) names = nullptr;
  if (names != nullptr) {
    for (const KeywordMap& map : maps_) {
      if (map.names == names && map.positional == count) return apply(plan, map, args, room);
    }
    for (const KeywordMap& map : maps_) {
      if (map.positional == count && same_names(map.names, names)) return apply(plan, map, args, room);
    }
  }
  if (DARTER_UNLIKELY(count > plan.positional)) {
    raise_surplus(plan, args, count, names, room);
    return nullptr;
  }
  spread(plan, args, count, room);
  if (names != nullptr) return map_of(plan, args, count, names, room) != nullptr ? room : nullptr;
  return fill_defaults(plan, room) ? room : nullptr;
}

// Binds by the names of a tuple that was not seen before, and remembers what they mean.
const KeywordMap* Binder::map_of(const Plan& plan, PyObject* const* args, Py_ssize_t count, PyObject* names,
                                 PyObject** room) {
  KeywordMap map;
  map.positional = count;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    PyObject* name = PyTuple_GET_ITEM(names, i);
    const int target = find_param(plan, name);
    if (target < 0) {
      raise_unknown(plan, names, name);
      return nullptr;
    }
    if (room[target] != nullptr) {
      raise_duplicate(plan, name);
      return nullptr;
    }
    room[target] = args[count + i];
    map.targets.push_back(static_cast<uint8_t>(target));
  }
  for (int i = 0; i < plan.count(); ++i) {
    if (room[i] == nullptr) map.defaults.push_back(static_cast<uint8_t>(i));
  }
  if (!fill_defaults(plan, room)) return nullptr;
  map.names = Py_NewRef(names);
  if (maps_.size() < kMaps) {
    maps_.push_back(std::move(map));
    return &maps_.back();
  }
  KeywordMap* slot = &maps_[oldest_];
  oldest_ = (oldest_ + 1) % kMaps;
  PyObject* old = slot->names;
  *slot = std::move(map);
  Py_DECREF(old);
  return slot;
}

void Binder::clear() {
  std::vector<KeywordMap> maps;
  maps.swap(maps_);
  oldest_ = 0;
  for (const KeywordMap& map : maps) Py_DECREF(map.names);
}

}  // namespace darter
