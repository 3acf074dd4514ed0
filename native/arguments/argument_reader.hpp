// Reads one argument after the other the general way: every kind there is, with every check and every refusal.
#pragma once

#include <vector>

#include "launcher/launcher.hpp"
#include "signature/key_tags.hpp"

namespace darter {

// How deep arguments may nest, as in signature/constexprs.py: a value that contains itself has no end.
constexpr int kMaxNesting = 64;

// Every function reads a value into words and slots of `call`, or returns false with an exception set.
struct ArgumentReader {
  Launcher* launcher;
  Call* call;
  int depth = 0;  // of the values that the one being read stands in

  bool argument(const Place& place, Param* param, PyObject* value);

 private:
  bool nested(const Place& place, Param* param, PyObject* value);
  bool any(const Place& place, Param* param, PyObject* value);
  bool known_class(const Place& place, Param* param, PyObject* value);
  bool unknown_class(const Place& place, Param* param, PyObject* value);
  bool tensor(const Place& place, Param* param, PyObject* value);
  bool known_tensor(const Place& place, Param* param, PyObject* value);
  bool keyed_tensor(const Place& place, const Param* param, const TensorView& view);
  bool tensor_of_new_type(const Place& place, Param* param, PyObject* value);
  bool explicit_tensor(const Place& place, Param* param, PyObject* value);
  bool pointer(const Place& place, Param* param, PyObject* value);
  bool scalar(const Place& place, Dtype dtype, PyObject* value, bool with_word);
  bool constexpr_value(const Place& place, const Param* param, PyObject* value);
  bool type(const Place& place, const Param* param, PyObject* value);
  bool structure(const Place& place, Param* param, PyObject* value);
  bool object(const Place& place, const Param* param, PyObject* value);
  bool jit_argument(const Place& place, Param* param, PyObject* value);
  bool fields(const Place& place, std::vector<Param>* fields, PyObject* value);
  PyObject* field_value(const Place& place, PyObject* owner, PyObject* name);
  bool exact_class(const Place& place, const Param* param, PyObject* value);
  uint64_t class_word(KeyTag tag, size_t count, PyObject* value);
  bool place_tensor(const Place& place, const TensorView& view);
};

// A class that was met for the first time and cannot be planned; the planner's exception is on its way.
DARTER_COLD bool refuse_class(const Place& place, PyObject* value);

DARTER_INLINE bool ArgumentReader::tensor(const Place& place, Param* param, PyObject* value) {
  if (DARTER_UNLIKELY(Py_TYPE(value) != param->cache.type)) return tensor_of_new_type(place, param, value);
  return known_tensor(place, param, value);
}

}  // namespace darter
