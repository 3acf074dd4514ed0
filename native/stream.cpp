// Streams: the explicit argument in any of its spellings, or the framework's current stream on the tensors' device.
#include "launcher.hpp"

namespace darter {
namespace {

bool handle_from_int(const Place& place, PyObject* number, Call* call) {
  const unsigned long long handle = PyLong_AsUnsignedLongLong(number);
  if (handle == static_cast<unsigned long long>(-1) && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    return refuse_value(place, "found the stream handle %R; accepted: 0 to 2**64 - 1", number);
  }
  call->stream = reinterpret_cast<void*>(handle);
  call->explicit_stream = true;
  return true;
}

// Source: the CUDA stream protocol of cuda.core: (version, handle), by a method or an attribute.
bool handle_from_protocol(const Place& place, PyObject* value, Call* call) {
  Ref pair(PyCallable_Check(value) ? PyObject_CallNoArgs(value) : Py_NewRef(value));
  if (!pair) return false;
  if (!PyTuple_Check(pair.get()) || PyTuple_GET_SIZE(pair.get()) != 2 ||
      !PyLong_Check(PyTuple_GET_ITEM(pair.get(), 1))) {
    return refuse_type(place, "its __cuda_stream__ gave %R; accepted: (0, handle)", pair.get());
  }
  return handle_from_int(place, PyTuple_GET_ITEM(pair.get(), 1), call);
}

PyObject* optional_attribute(PyObject* object, const char* name) {
  PyObject* value = PyObject_GetAttrString(object, name);
  if (value == nullptr && PyErr_ExceptionMatches(PyExc_AttributeError)) PyErr_Clear();
  return value;
}

}  // namespace

bool read_stream(const Place& place, PyObject* object, Call* call) {
  if (PyLong_CheckExact(object)) return handle_from_int(place, object, call);
  Ref handle(optional_attribute(object, "cuda_stream"));
  if (!handle && PyErr_Occurred() != nullptr) return false;
  if (handle && PyLong_Check(handle.get())) return handle_from_int(place, handle.get(), call);
  Ref protocol(optional_attribute(object, "__cuda_stream__"));
  if (!protocol && PyErr_Occurred() != nullptr) return false;
  if (protocol) return handle_from_protocol(place, protocol.get(), call);
  return refuse_type(place,
                     "found a value of type %s; accepted for dt.Stream: None, a handle as an int, or an object with "
                     "cuda_stream or __cuda_stream__",
                     Py_TYPE(object)->tp_name);
}

bool choose_stream(Launcher* launcher, Call* call) {
  const auto device_type = static_cast<int32_t>(call->device >> 32);
  const auto device_id = static_cast<int32_t>(call->device);
  if (call->framework == nullptr) return true;
  if (call->framework->current_work_stream(device_type, device_id, &call->stream) != 0) return false;
  if (call->other_framework == nullptr) return true;
  void* other = nullptr;
  if (call->other_framework->current_work_stream(device_type, device_id, &other) != 0) return false;
  if (other == call->stream) return true;
  const ArgumentPath path{nullptr, launcher->plan.params[static_cast<size_t>(call->device_param)].name, 0};
  return refuse_value(
      {launcher->plan.name, &path},
      "its framework's current stream is %p, that of another argument's framework is %p; name the stream "
      "that the launch shall use by a dt.Stream parameter",
      call->stream, other);
}

}  // namespace darter
