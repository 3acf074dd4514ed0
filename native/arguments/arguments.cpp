// Reads the bound arguments of a call, one after the other, into key words and argument slots.
#include "arguments/argument_reader.hpp"
#include "arguments/quick_arguments.hpp"
#include "arguments/scalar.hpp"
#include "common/errors.hpp"

namespace darter {

DARTER_INLINE bool ArgumentReader::scalar(const Place& place, Dtype dtype, PyObject* value, bool with_word) {
  uint64_t bits = 0;
  if (DARTER_UNLIKELY(!encode_scalar(place, value, dtype, &bits) || !call->slots.append(bits))) return false;
  return !with_word || call->words.append(kTagScalar | static_cast<uint64_t>(dtype) << 8);
}

inline bool ArgumentReader::constexpr_value(const Place& place, const Param* param, PyObject* value) {
  if (param->constexpr_type != nullptr && reinterpret_cast<PyObject*>(Py_TYPE(value)) != param->constexpr_type &&
      !(value == Py_None && param->optional)) {
    const char* expected = reinterpret_cast<PyTypeObject*>(param->constexpr_type)->tp_name;
    return refuse_type(
        place,
        "found a value of type %s; accepted: dt.Constexpr[%s] takes exactly %s and no subclass. Convert it, or "
        "annotate dt.Constexpr for any type",
        Py_TYPE(value)->tp_name, expected, expected);
  }
  int64_t number = 0;
  if (DARTER_LIKELY(PyLong_CheckExact(value) && small_int(value, &number))) {  // block sizes, mostly
    if (DARTER_UNLIKELY(!call->words.reserve(3))) return false;
    call->words.push(kTagConstexpr);
    call->words.push(kValueInt);
    call->words.push(static_cast<uint64_t>(number));
    return true;
  }
  return call->words.append(kTagConstexpr) &&
         constexpr_words(place, value, launcher->cold, &launcher->interned, &call->words);
}

bool ArgumentReader::type(const Place& place, const Param* param, PyObject* value) {
  const Dtype dtype = dtype_of_class(value);
  const bool fits = dtype != kNoDtype &&
                    (param->cls == nullptr || PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(value),
                                                               reinterpret_cast<PyTypeObject*>(param->cls)) != 0);
  if (!fits) return refuse_type(place, "found %R; accepted: one of darter's scalar types, such as dt.f32", value);
  return call->words.append(kTagType | static_cast<uint64_t>(dtype) << 8);
}

// An argument without annotation is what it is.
bool ArgumentReader::any(const Place& place, Param* param, PyObject* value) {
  if (value == Py_None) return call->words.append(kTagNone);
  if (DARTER_LIKELY(Py_TYPE(value) == param->cache.type)) return tensor(place, param, value);
  const Dtype number = dtype_of_number(value);
  if (number != kNoDtype) return scalar(place, number, value, true);
  if (PyTuple_CheckExact(value)) return structure(place, param, value);
  if (dtype_of_class(value) != kNoDtype) return type(place, param, value);
  return known_class(place, param, value);
}

bool ArgumentReader::known_class(const Place& place, Param* param, PyObject* value) {
  const auto found = launcher->classes.find(reinterpret_cast<PyObject*>(Py_TYPE(value)));
  ClassPlan* plan = found != launcher->classes.end() ? found->second.get() : nullptr;
  if (plan == nullptr) {
    TypeCache chosen;
    if (!choose_reader(place, value, &chosen)) return false;
    const ReaderKind kind = chosen.reader;
    Py_XDECREF(chosen.type);
    // A class of the user's that is both a JitArgument and an array goes by the former.
    const bool library = kind == ReaderKind::Numpy || kind == ReaderKind::Torch || kind == ReaderKind::Explicit;
    if (library) return tensor_of_new_type(place, param, value);
    plan = plan_of_class(launcher, Py_TYPE(value));
    if (plan == nullptr) return refuse_class(place, value);
  }
  switch (plan->kind) {
    case ClassKind::JitArgument:
      return jit_argument(place, param, value);
    case ClassKind::Struct:
      return structure(place, param, value);
    case ClassKind::Object: {
      TypeCache chosen;
      if (!choose_reader(place, value, &chosen)) return false;
      Py_XDECREF(chosen.type);
      return chosen.reader == ReaderKind::None ? object(place, param, value) : tensor_of_new_type(place, param, value);
    }
    case ClassKind::Unknown:
      return unknown_class(place, param, value);
  }
  return false;
}

// An array of a library that is not known by name, or nothing that a kernel can be given.
bool ArgumentReader::unknown_class(const Place& place, Param* param, PyObject* value) {
  TypeCache chosen;
  if (!choose_reader(place, value, &chosen)) return false;
  Py_XDECREF(chosen.type);
  const bool static_value =
      PyType_Check(value) || PyCallable_Check(value) || PyUnicode_Check(value) || PyBytes_Check(value);
  if (chosen.reader == ReaderKind::None && static_value) {
    return refuse_type(place,
                       "found a value of type %s for a parameter without annotation; annotate it dt.Constexpr to "
                       "pass it as a compile-time value",
                       Py_TYPE(value)->tp_name);
  }
  return tensor_of_new_type(place, param, value);
}

bool ArgumentReader::argument(const Place& place, Param* param, PyObject* value) {
  if (param->optional && value == Py_None) {
    switch (param->kind) {
      case ParamKind::Constexpr:
        break;
      case ParamKind::Stream:
        return true;
      default:
        return call->words.append(kTagNone);
    }
  }
  switch (param->kind) {
    case ParamKind::Tensor:
      return tensor(place, param, value);
    case ParamKind::Scalar:
      return scalar(place, param->dtype, value, param->optional);
    case ParamKind::Constexpr:
      return constexpr_value(place, param, value);
    case ParamKind::Stream:
      return value == Py_None || read_stream(place, value, call);
    case ParamKind::Any:
      return any(place, param, value);
    case ParamKind::Pointer:
      return pointer(place, param, value);
    case ParamKind::Type:
      return type(place, param, value);
    case ParamKind::Struct:
      return structure(place, param, value);
    case ParamKind::Self:
      return object(place, param, value);
    case ParamKind::JitArgument:
      return jit_argument(place, param, value);
  }
  return false;
}

namespace {

uint64_t device_word(int64_t device) {
  if (device == Call::kNoDevice) return 1;
  const auto type = static_cast<int32_t>(device >> 32);
  const uint64_t backend = type == kDLCUDA ? 2 : type == kDLROCM ? 3 : 1;
  return backend | static_cast<uint64_t>(static_cast<uint32_t>(device)) << 8;
}

bool general_argument(Launcher* launcher, Param* param, PyObject* value, int index, Call* call) {
  ArgumentReader reader{launcher, call};
  const ArgumentPath path{nullptr, param->name, 0};
  call->param = index;
  if (DARTER_LIKELY(reader.argument({launcher->plan.name, &path}, param, value))) return true;
  if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_SystemError, "a reader failed without an exception");
  return false;
}

}  // namespace

bool read_arguments(Launcher* launcher, PyObject* const* arguments, Call* call) {
  call->words.push(0);
  Param* params = launcher->plan.params.data();
  const int count = launcher->plan.count();
  QuickReader quick{call, nullptr, nullptr};
  bool is_quick = quick.begin(static_cast<size_t>(count));
  int i = 0;
  for (const QuickRun& run : launcher->plan.quick_runs) {
    for (;;) {
      if (DARTER_LIKELY(is_quick)) i = quick.read(run.kind, params, arguments, i, run.end);
      if (DARTER_LIKELY(i == run.end)) break;
      quick.end();
      if (DARTER_UNLIKELY(!general_argument(launcher, &params[i], arguments[i], i, call))) return false;
      is_quick = quick.begin(static_cast<size_t>(count - i));
      ++i;
    }
  }
  quick.end();
  call->words.data()[0] = device_word(call->device);
  return true;
}

}  // namespace darter
