// Reads the bound arguments of a call, one after the other, into key words and argument slots.
#include "arguments/plain_tensor.hpp"
#include "arguments/quick_arguments.hpp"
#include "arguments/scalar.hpp"
#include "arguments/tensor_checks.hpp"
#include "common/errors.hpp"
#include "launcher/launcher.hpp"
#include "readers/reader_dispatch.hpp"

namespace darter {
namespace {

struct Reader {
  Launcher* launcher;
  Call* call;

  bool argument(const Place& place, Param* param, PyObject* value);
  bool argument_inline(const Place& place, Param* param, PyObject* value);

 private:
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

DARTER_COLD bool refuse_no_tensor(const Place& place, PyObject* value) {
  if (PyErr_Occurred() != nullptr) return false;
  if (value == Py_None) {
    return refuse_type(place, "found None; the parameter is not optional. Annotate it with `| None` to admit None");
  }
  const char* way_out = PyList_Check(value) || PyTuple_Check(value)
                            ? "Make an array of it first, for example with numpy.asarray"
                        : dtype_of_number(value) != kNoDtype ? "Put it into an array, or annotate a scalar type"
                                                             : "Give its class one of those protocols, or annotate "
                                                               "the parameter (dt.Constexpr, a frozen dataclass)";
  return refuse_type(place,
                     "found a value of type %s; accepted: NumPy arrays, torch tensors, and objects with __dlpack__, "
                     "__cuda_array_interface__ or __array_interface__. %s",
                     Py_TYPE(value)->tp_name, way_out);
}

DARTER_COLD bool refuse_devices(const Launcher* launcher, const Place& place, const Call* call,
                                const TensorView& view) {
  const char* names[2] = {};
  const int32_t types[2] = {view.device_type, static_cast<int32_t>(call->device >> 32)};
  for (int i = 0; i < 2; ++i) names[i] = types[i] == kDLCPU ? "cpu" : types[i] == kDLROCM ? "hip" : "cuda";
  return refuse_value(
      place,
      "found on device %s:%d, but argument '%U' is on %s:%d; accepted: all tensors of a call on one device. "
      "Move one of the two",
      names[0], view.device_id, launcher->plan.params[static_cast<size_t>(call->device_param)].name, names[1],
      static_cast<int32_t>(call->device));
}

// The first tensor says where the call runs; the others must be there too.
DARTER_INLINE bool Reader::place_tensor(const Place& place, const TensorView& view) {
  const int64_t device = device_number(view);
  if (DARTER_UNLIKELY(device != call->device)) {
    if (call->device != Call::kNoDevice) return refuse_devices(launcher, place, call, view);
    if (view.device_type != kDLCPU && view.device_type != kDLCUDA && view.device_type != kDLROCM) {
      return refuse_value(place, "found on device type %d (DLPack's number); accepted: cpu, cuda, hip",
                          view.device_type);
    }
    call->device = device;
    call->device_param = call->param;
  }
  if (DARTER_UNLIKELY(view.framework != nullptr && view.framework != call->framework)) {
    (call->framework == nullptr ? call->framework : call->other_framework) = view.framework;
  }
  if (DARTER_UNLIKELY(view.readonly)) call->set_readonly();
  return true;
}

// The steps after reading: slots, key word, checks.
DARTER_INLINE bool Reader::keyed_tensor(const Place& place, const Param* param, const TensorView& view) {
  const auto rank = static_cast<size_t>(view.rank);
  if (DARTER_UNLIKELY(!call->slots.reserve(1 + 2 * rank) || !call->words.reserve(1))) return false;
  const uint64_t layout = tensor_layout(view, call->slots.take(1 + 2 * rank));
  if (DARTER_UNLIKELY(layout == kIrregular || memory_is_bad(view))) {
    return refuse_memory(place, view, layout == kIrregular);
  }
  if (DARTER_UNLIKELY(!contract_holds(launcher, place, param, view, call))) return false;
  call->words.push(tensor_word(view, layout));
  return place_tensor(place, view);
}

DARTER_INLINE bool Reader::tensor(const Place& place, Param* param, PyObject* value) {
  if (DARTER_UNLIKELY(Py_TYPE(value) != param->cache.type)) return tensor_of_new_type(place, param, value);
  return known_tensor(place, param, value);
}

bool Reader::known_tensor(const Place& place, Param* param, PyObject* value) {
  if (DARTER_UNLIKELY(param->cache.reader == ReaderKind::Explicit)) return explicit_tensor(place, param, value);
  TensorView view;
  if (DARTER_UNLIKELY(!read_view(place, value, &param->cache, &view))) return false;
  if (DARTER_UNLIKELY(!call->slots.reserve(kPlainSlots) || !call->words.reserve(1))) return false;
  const uint64_t layout = plain_view(view, call->slots.end());
  if (DARTER_UNLIKELY(layout == kIrregular)) return keyed_tensor(place, param, view);
  if (DARTER_UNLIKELY(!contract_holds(launcher, place, param, view, call))) return false;
  call->slots.take(1 + 2 * static_cast<size_t>(view.rank));
  call->words.push(kTagTensor | static_cast<uint64_t>(view.dtype) << 8 | layout |
                   static_cast<uint64_t>(view.device_type) << 40);
  return place_tensor(place, view);
}

DARTER_COLD bool Reader::tensor_of_new_type(const Place& place, Param* param, PyObject* value) {
  if (Py_TYPE(value) != param->cache.type) {
    // What is no tensor does not displace what the cache knows.
    TypeCache chosen;
    if (!choose_reader(place, value, &chosen)) return false;
    if (chosen.reader == ReaderKind::None) return refuse_no_tensor(place, value);
    const TypeCache old = std::exchange(param->cache, chosen);
    Py_XDECREF(old.type);
    Py_XDECREF(old.dtype_object);
  }
  return param->cache.reader == ReaderKind::Explicit ? explicit_tensor(place, param, value)
                                                     : tensor(place, param, value);
}

// dt.from_dlpack(t): static extents and strides join the key.
bool Reader::explicit_tensor(const Place& place, Param* param, PyObject* value) {
  Ref source(PyObject_GetAttrString(value, "source"));
  if (!source) return false;
  TensorView view;
  TypeCache cache;
  const bool read = choose_reader(place, source.get(), &cache) &&
                    (cache.reader != ReaderKind::None || refuse_no_tensor(place, source.get())) &&
                    read_view(place, source.get(), &cache, &view);
  Py_XDECREF(cache.type);
  Py_XDECREF(cache.dtype_object);
  if (!read) return false;
  const auto rank = static_cast<size_t>(view.rank);
  if (!call->slots.reserve(1 + 2 * rank) || !call->words.reserve(2 + 2 * rank)) return false;
  uint64_t* slots = call->slots.take(1 + 2 * rank);
  const uint64_t layout = tensor_layout(view, slots);
  if (layout == kIrregular || memory_is_bad(view)) return refuse_memory(place, view, layout == kIrregular);
  if (!contract_holds(launcher, place, param, view, call)) return false;
  call->words.push(tensor_word(view, layout) | uint64_t{1} << 34);
  return layout_words(place, value, view.rank, slots + 1, &call->words) && place_tensor(place, view);
}

bool Reader::pointer(const Place& place, Param* param, PyObject* value) {
  uint64_t address = 0;
  uint64_t device_type = 0;
  if (PyLong_CheckExact(value)) {
    address = PyLong_AsUnsignedLongLong(value);
    if (address == ~uint64_t{0} && PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      return refuse_value(place, "found the address %R; accepted: 0 to 2**64 - 1", value);
    }
  } else {
    Ref source = Ref::borrow(value);
    if (Py_TYPE(value) != param->cache.type) {
      TypeCache chosen;
      if (!choose_reader(place, value, &chosen)) return false;
      if (chosen.reader == ReaderKind::None) {
        return refuse_type(place,
                           "found a value of type %s; accepted for dt.Pointer: a tensor of dtype %s, or an address as "
                           "an int",
                           Py_TYPE(value)->tp_name, dtype_name(param->dtype));
      }
      const TypeCache old = std::exchange(param->cache, chosen);
      Py_XDECREF(old.type);
      Py_XDECREF(old.dtype_object);
    }
    if (param->cache.reader == ReaderKind::Explicit) {
      Ref inner(PyObject_GetAttrString(value, "source"));
      return inner && pointer(place, param, inner.get());
    }
    TensorView view;
    if (!read_view(place, value, &param->cache, &view)) return false;
    bool bad_stride = false;
    const int64_t item_mask = view.byte_strides ? (int64_t{1} << size_shift(view.dtype)) - 1 : 0;
    for (int axis = 0; axis < view.rank; ++axis) {
      bad_stride |= view.shape[axis] > 1 && (view.strides[axis] & item_mask) != 0;
    }
    if (bad_stride || memory_is_bad(view)) return refuse_memory(place, view, bad_stride);
    if (!dtype_holds(place, param, view)) return false;
    if (!place_tensor(place, view)) return false;
    address = view.address;
    device_type = static_cast<uint64_t>(view.device_type);
  }
  if (!call->slots.reserve(1) || !call->words.reserve(1)) return false;
  const uint64_t align = address == 0 ? 4 : static_cast<uint64_t>(__builtin_ctzll(address | 16));
  call->slots.push(address);
  call->words.push(kTagPointer | static_cast<uint64_t>(param->dtype) << 8 | align << 16 | device_type << 40);
  return true;
}

DARTER_INLINE bool Reader::scalar(const Place& place, Dtype dtype, PyObject* value, bool with_word) {
  uint64_t bits = 0;
  if (DARTER_UNLIKELY(!encode_scalar(place, value, dtype, &bits) || !call->slots.append(bits))) return false;
  return !with_word || call->words.append(kTagScalar | static_cast<uint64_t>(dtype) << 8);
}

inline bool Reader::constexpr_value(const Place& place, const Param* param, PyObject* value) {
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

bool Reader::type(const Place& place, const Param* param, PyObject* value) {
  const Dtype dtype = dtype_of_class(value);
  const bool fits = dtype != kNoDtype &&
                    (param->cls == nullptr || PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(value),
                                                               reinterpret_cast<PyTypeObject*>(param->cls)) != 0);
  if (!fits) return refuse_type(place, "found %R; accepted: one of darter's scalar types, such as dt.f32", value);
  return call->words.append(kTagType | static_cast<uint64_t>(dtype) << 8);
}

bool Reader::exact_class(const Place& place, const Param* param, PyObject* value) {
  if (param->cls == nullptr || reinterpret_cast<PyObject*>(Py_TYPE(value)) == param->cls) return true;
  return refuse_type(place, "found a value of type %s; accepted: exactly %s, as annotated", Py_TYPE(value)->tp_name,
                     reinterpret_cast<PyTypeObject*>(param->cls)->tp_name);
}

uint64_t Reader::class_word(KeyTag tag, size_t count, PyObject* value) {
  return tag | static_cast<uint64_t>(count) << 8 |
         launcher->interned.number(reinterpret_cast<PyObject*>(Py_TYPE(value))) << 32;
}

PyObject* Reader::field_value(const Place& place, PyObject* owner, PyObject* name) {
  PyObject* value = PyObject_GetAttr(owner, name);
  if (value != nullptr) return call->held.hold(value);
  if (PyErr_ExceptionMatches(PyExc_AttributeError)) {
    const ArgumentPath path{place.path, name, 0};
    refuse_value({place.function, &path}, "this %s has no such attribute; set it before the call",
                 Py_TYPE(owner)->tp_name);
  }
  return nullptr;
}

bool Reader::fields(const Place& place, std::vector<Param>* fields, PyObject* value) {
  const bool is_tuple = PyTuple_Check(value);
  const bool is_plain = PyTuple_CheckExact(value);
  for (size_t i = 0; i < fields->size(); ++i) {
    Param* field = &(*fields)[i];
    const auto index = static_cast<Py_ssize_t>(i);
    PyObject* held = is_tuple ? PyTuple_GET_ITEM(value, index) : field_value(place, value, field->name);
    if (held == nullptr) return false;
    const ArgumentPath path{place.path, is_plain ? nullptr : field->name, index};
    if (!argument({place.function, &path}, field, held)) return false;
  }
  return true;
}

bool Reader::structure(const Place& place, Param* param, PyObject* value) {
  if (!exact_class(place, param, value)) return false;
  if (param->cls == nullptr && PyTuple_CheckExact(value)) {
    const Py_ssize_t count = PyTuple_GET_SIZE(value);
    if (!call->words.append(class_word(kTagStruct, static_cast<size_t>(count), value))) return false;
    for (Py_ssize_t i = 0; i < count; ++i) {
      const ArgumentPath path{place.path, nullptr, i};
      if (!argument({place.function, &path}, &launcher->any, PyTuple_GET_ITEM(value, i))) return false;
    }
    return true;
  }
  std::vector<Param>* plans = &param->fields;
  if (param->cls == nullptr) {
    ClassPlan* plan = plan_of_class(launcher, Py_TYPE(value));
    if (plan == nullptr) return false;
    plans = &plan->fields;
  }
  const auto count = static_cast<Py_ssize_t>(plans->size());
  if (PyTuple_Check(value) && PyTuple_GET_SIZE(value) != count) {
    return refuse_value(place, "found a tuple of %zd items; accepted: %zd items", PyTuple_GET_SIZE(value), count);
  }
  return call->words.append(class_word(kTagStruct, plans->size(), value)) && fields(place, plans, value);
}

bool Reader::object(const Place& place, const Param* param, PyObject* value) {
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

bool Reader::jit_argument(const Place& place, Param* param, PyObject* value) {
  if (!exact_class(place, param, value)) return false;
  std::vector<Param>* plans = &param->fields;
  if (param->cls == nullptr) {
    ClassPlan* plan = plan_of_class(launcher, Py_TYPE(value));
    if (plan == nullptr) return false;
    plans = &plan->fields;
  }
  Ref signature(PyObject_CallMethod(value, "__cache_signature__", nullptr));
  return signature && call->words.append(class_word(kTagJitArgument, plans->size(), value)) &&
         constexpr_words(place, signature.get(), launcher->cold, &launcher->interned, &call->words) &&
         fields(place, plans, value);
}

// An argument without annotation is what it is.
bool Reader::any(const Place& place, Param* param, PyObject* value) {
  if (value == Py_None) return call->words.append(kTagNone);
  if (DARTER_LIKELY(Py_TYPE(value) == param->cache.type)) return tensor(place, param, value);
  const Dtype number = dtype_of_number(value);
  if (number != kNoDtype) return scalar(place, number, value, true);
  if (PyTuple_CheckExact(value)) return structure(place, param, value);
  if (dtype_of_class(value) != kNoDtype) return type(place, param, value);
  return known_class(place, param, value);
}

bool Reader::known_class(const Place& place, Param* param, PyObject* value) {
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
    if (plan == nullptr) return false;
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
bool Reader::unknown_class(const Place& place, Param* param, PyObject* value) {
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

DARTER_INLINE bool Reader::argument_inline(const Place& place, Param* param, PyObject* value) {
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

bool Reader::argument(const Place& place, Param* param, PyObject* value) {
  return argument_inline(place, param, value);
}

uint64_t device_word(int64_t device) {
  if (device == Call::kNoDevice) return 1;
  const auto type = static_cast<int32_t>(device >> 32);
  const uint64_t backend = type == kDLCUDA ? 2 : type == kDLROCM ? 3 : 1;
  return backend | static_cast<uint64_t>(static_cast<uint32_t>(device)) << 8;
}

}  // namespace

namespace {

bool general_argument(Launcher* launcher, Param* param, PyObject* value, int index, Call* call) {
  Reader reader{launcher, call};
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
  const QuickKind* kinds = launcher->plan.quick_kinds.data();
  const int count = launcher->plan.count();
  QuickReader quick{call, nullptr, nullptr};
  bool is_quick = quick.begin(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    if (DARTER_LIKELY(is_quick && quick.read(&params[i], kinds[i], arguments[i], i))) continue;
    quick.end();
    if (DARTER_UNLIKELY(!general_argument(launcher, &params[i], arguments[i], i, call))) return false;
    is_quick = quick.begin(static_cast<size_t>(count - i));
  }
  quick.end();
  call->words.data()[0] = device_word(call->device);
  return true;
}

}  // namespace darter
