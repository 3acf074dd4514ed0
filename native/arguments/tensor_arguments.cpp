// Tensors and pointers: read, checked, placed on the call's device.
#include "arguments/argument_reader.hpp"
#include "arguments/plain_tensor.hpp"
#include "arguments/scalar.hpp"
#include "arguments/tensor_checks.hpp"
#include "common/errors.hpp"
#include "readers/reader_dispatch.hpp"

namespace darter {
namespace {

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

}  // namespace

// The first tensor says where the call runs; the others must be there too.
DARTER_INLINE bool ArgumentReader::place_tensor(const Place& place, const TensorView& view) {
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
DARTER_INLINE bool ArgumentReader::keyed_tensor(const Place& place, const Param* param, const TensorView& view) {
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

bool ArgumentReader::known_tensor(const Place& place, Param* param, PyObject* value) {
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

DARTER_COLD bool ArgumentReader::tensor_of_new_type(const Place& place, Param* param, PyObject* value) {
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
bool ArgumentReader::explicit_tensor(const Place& place, Param* param, PyObject* value) {
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

bool ArgumentReader::pointer(const Place& place, Param* param, PyObject* value) {
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

}  // namespace darter
