// Structs, objects and users' own arguments: a word for the class, then what the instance holds.
#include "arguments/argument_reader.hpp"
#include "common/errors.hpp"
#include "key/key.hpp"

namespace darter {

bool ArgumentReader::exact_class(const Place& place, const Param* param, PyObject* value) {
  if (param->cls == nullptr || reinterpret_cast<PyObject*>(Py_TYPE(value)) == param->cls) return true;
  return refuse_type(place, "found a value of type %s; accepted: exactly %s, as annotated", Py_TYPE(value)->tp_name,
                     reinterpret_cast<PyTypeObject*>(param->cls)->tp_name);
}

uint64_t ArgumentReader::class_word(KeyTag tag, size_t count, PyObject* value) {
  return tag | static_cast<uint64_t>(count) << 8 |
         launcher->interned.number(reinterpret_cast<PyObject*>(Py_TYPE(value))) << 32;
}

PyObject* ArgumentReader::field_value(const Place& place, PyObject* owner, PyObject* name) {
  PyObject* value = PyObject_GetAttr(owner, name);
  if (value != nullptr) return call->held.hold(value);
  if (PyErr_ExceptionMatches(PyExc_AttributeError)) {
    const ArgumentPath path{place.path, name, 0};
    refuse_value({place.function, &path}, "this %s has no such attribute; set it before the call",
                 Py_TYPE(owner)->tp_name);
  }
  return nullptr;
}

bool refuse_class(const Place& place, PyObject* value) {
  PyObject* type = nullptr;
  PyObject* error = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &error, &traceback);
  PyErr_NormalizeException(&type, &error, &traceback);
  Ref reason(Py_XNewRef(error));
  PyErr_Restore(type, error, traceback);
  return refuse_type(place, "found a value of type %s, whose class is no argument type (%S)", Py_TYPE(value)->tp_name,
                     reason.get());
}

bool ArgumentReader::nested(const Place& place, Param* param, PyObject* value) {
  if (DARTER_UNLIKELY(depth == kMaxNesting)) {
    return refuse_value(place, "found a value nested deeper than %d levels, or containing itself; flatten it",
                        kMaxNesting);
  }
  ++depth;
  const bool read = argument(place, param, value);
  --depth;
  return read;
}

bool ArgumentReader::fields(const Place& place, std::vector<Param>* fields, PyObject* value) {
  const bool is_tuple = PyTuple_Check(value);
  const bool is_plain = PyTuple_CheckExact(value);
  for (size_t i = 0; i < fields->size(); ++i) {
    Param* field = &(*fields)[i];
    const auto index = static_cast<Py_ssize_t>(i);
    PyObject* held = is_tuple ? PyTuple_GET_ITEM(value, index) : field_value(place, value, field->name);
    if (held == nullptr) return false;
    const ArgumentPath path{place.path, is_plain ? nullptr : field->name, index};
    if (!nested({place.function, &path}, field, held)) return false;
  }
  return true;
}

bool ArgumentReader::structure(const Place& place, Param* param, PyObject* value) {
  if (!exact_class(place, param, value)) return false;
  if (param->cls == nullptr && PyTuple_CheckExact(value)) {
    const Py_ssize_t count = PyTuple_GET_SIZE(value);
    if (!call->words.append(class_word(kTagStruct, static_cast<size_t>(count), value))) return false;
    for (Py_ssize_t i = 0; i < count; ++i) {
      const ArgumentPath path{place.path, nullptr, i};
      if (!nested({place.function, &path}, &launcher->any, PyTuple_GET_ITEM(value, i))) return false;
    }
    return true;
  }
  std::vector<Param>* plans = &param->fields;
  if (param->cls == nullptr) {
    ClassPlan* plan = plan_of_class(launcher, Py_TYPE(value));
    if (plan == nullptr) return refuse_class(place, value);
    plans = &plan->fields;
  }
  const auto count = static_cast<Py_ssize_t>(plans->size());
  if (PyTuple_Check(value) && PyTuple_GET_SIZE(value) != count) {
    return refuse_value(place, "found a tuple of %zd items; accepted: %zd items", PyTuple_GET_SIZE(value), count);
  }
  return call->words.append(class_word(kTagStruct, plans->size(), value)) && fields(place, plans, value);
}

bool ArgumentReader::object(const Place& place, const Param* param, PyObject* value) {
  if (PyType_Check(value)) {  // a class method's class is a compile-time value
    if (!exact_class(place, param, value)) return false;
    return call->words.append(kTagConstexpr) &&
           constexpr_words(place, value, launcher->cold, &launcher->interned, &call->words);
  }
  if (param->cls != nullptr && PyType_IsSubtype(Py_TYPE(value), reinterpret_cast<PyTypeObject*>(param->cls)) == 0) {
    return exact_class(place, param, value);
  }
  ClassPlan* plan = plan_of_object(launcher, Py_TYPE(value));
  if (plan == nullptr || !call->words.append(class_word(kTagSelf, plan->fields.size(), value))) return false;
  for (const Param& field : plan->fields) {
    PyObject* held = field_value(place, value, field.name);
    if (held == nullptr) return false;
    const ArgumentPath path{place.path, field.name, 0};
    const Place inner{place.function, &path};
    if (field.constexpr_type != nullptr && reinterpret_cast<PyObject*>(Py_TYPE(held)) != field.constexpr_type) {
      return refuse_type(inner, "found a value of type %s; accepted: exactly %s, as declared", Py_TYPE(held)->tp_name,
                         reinterpret_cast<PyTypeObject*>(field.constexpr_type)->tp_name);
    }
    if (!constexpr_words(inner, held, launcher->cold, &launcher->interned, &call->words)) return false;
  }
  return true;
}

bool ArgumentReader::jit_argument(const Place& place, Param* param, PyObject* value) {
  if (!exact_class(place, param, value)) return false;
  std::vector<Param>* plans = &param->fields;
  if (param->cls == nullptr) {
    ClassPlan* plan = plan_of_class(launcher, Py_TYPE(value));
    if (plan == nullptr) return refuse_class(place, value);
    plans = &plan->fields;
  }
  Ref signature(PyObject_CallMethod(value, "__cache_signature__", nullptr));
  return signature && call->words.append(class_word(kTagJitArgument, plans->size(), value)) &&
         constexpr_words(place, signature.get(), launcher->cold, &launcher->interned, &call->words) &&
         fields(place, plans, value);
}

}  // namespace darter
