// Streams: the explicit argument in any of its spellings, or the framework's current stream on the tensors' device.
#include "common/errors.hpp"
#include "cuda/cuda_api.hpp"
#include "launcher/launcher.hpp"

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

namespace {

int stream_of_call(void** out, PyObject* function, int32_t device_id, PyObject* attribute) {
  Ref device(function != nullptr ? PyLong_FromLong(device_id) : nullptr);
  Ref stream(device ? PyObject_CallOneArg(function, device.get()) : nullptr);
  Ref handle(stream && attribute != nullptr ? PyObject_GetAttr(stream.get(), attribute) : stream.release());
  if (!handle) return -1;
  *out = PyLong_AsVoidPtr(handle.get());
  return PyErr_Occurred() != nullptr ? -1 : 0;
}

int torch_stream(int32_t, int32_t device_id, void** out) {
  Ref module(PyImport_ImportModule("torch._C"));
  Ref function(module ? PyObject_GetAttrString(module.get(), "_cuda_getCurrentRawStream") : nullptr);
  return stream_of_call(out, function.get(), device_id, nullptr);
}

int cupy_stream(int32_t, int32_t device_id, void** out) {
  Ref module(PyImport_ImportModule("cupy.cuda"));
  Ref function(module ? PyObject_GetAttrString(module.get(), "get_current_stream") : nullptr);
  Ref attribute(PyUnicode_InternFromString("ptr"));
  return stream_of_call(out, function.get(), device_id, attribute.get());
}

int legacy_stream(int32_t, int32_t, void** out) {
  *out = nullptr;
  return 0;
}

constexpr DLPackExchangeAPI kTorchStreams = {{1, 3}, nullptr, nullptr, nullptr, nullptr, nullptr, torch_stream};
constexpr DLPackExchangeAPI kCupyStreams = {{1, 3}, nullptr, nullptr, nullptr, nullptr, nullptr, cupy_stream};
constexpr DLPackExchangeAPI kLegacyStreams = {{1, 3}, nullptr, nullptr, nullptr, nullptr, nullptr, legacy_stream};

// 0 and 1 both name the legacy default stream.
bool is_legacy(void* stream) { return reinterpret_cast<uintptr_t>(stream) <= 1; }
bool same_stream(void* a, void* b) { return a == b || (is_legacy(a) && is_legacy(b)); }

DARTER_COLD bool raise_no_stream(const Call& call) {
  if (PyErr_Occurred() == nullptr) {
    raise_error("DriverError", "the framework of the arguments does not say its current stream on device %d",
                static_cast<int>(static_cast<int32_t>(call.device)));
  }
  return false;
}

DARTER_INLINE bool current_stream(const DLPackExchangeAPI* framework, const Call& call, void** out) {
  const auto device_type = static_cast<int32_t>(call.device >> 32);
  const bool found = framework->current_work_stream != nullptr &&
                     framework->current_work_stream(device_type, static_cast<int32_t>(call.device), out) == 0;
  return DARTER_LIKELY(found) || raise_no_stream(call);
}

DARTER_COLD bool refuse_streams(Launcher* launcher, const Call& call, void* other) {
  const ArgumentPath path{nullptr, launcher->plan.params[static_cast<size_t>(call.device_param)].name, 0};
  return refuse_value(
      {launcher->plan.name, &path},
      "its framework's current stream is %p, that of another argument's framework is %p; name the stream "
      "that the launch shall use by a dt.Stream parameter",
      call.stream, other);
}

// The host waits for the legacy stream: nothing else orders another one behind it without an event that would have to
// be kept.
DARTER_COLD bool wait_for_legacy_stream() {
  const cuda::Api* api = cuda::open(nullptr);
  if (api == nullptr) return false;
  const cuda::Result status = api->stream_synchronize(reinterpret_cast<cuda::Stream>(uintptr_t{1}));
  if (status == cuda::kSuccess) return true;
  cuda::raise_status(status, "cuStreamSynchronize", "to make arrays ready that another framework computes");
  return false;
}

// Two frameworks, or one that has no stream of its own.
DARTER_COLD bool settle_among_frameworks(Launcher* launcher, Call* call) {
  const bool behind_legacy = call->framework == &kLegacyStreams || call->other_framework == &kLegacyStreams;
  const DLPackExchangeAPI* main =
      call->framework == &kLegacyStreams && call->other_framework != nullptr ? call->other_framework : call->framework;
  if (!call->explicit_stream) {
    if (!current_stream(main, *call, &call->stream)) return false;
    if (!behind_legacy) {
      void* other = nullptr;
      if (!current_stream(call->other_framework, *call, &other)) return false;
      if (!same_stream(other, call->stream)) return refuse_streams(launcher, *call, other);
    }
  }
  return !behind_legacy || is_legacy(call->stream) || wait_for_legacy_stream();
}

}  // namespace

const DLPackExchangeAPI* torch_streams() { return &kTorchStreams; }
const DLPackExchangeAPI* cupy_streams() { return &kCupyStreams; }
const DLPackExchangeAPI* legacy_streams() { return &kLegacyStreams; }

bool settle_stream(Launcher* launcher, Call* call) {
  if (DARTER_UNLIKELY(call->other_framework != nullptr || call->framework == &kLegacyStreams)) {
    return settle_among_frameworks(launcher, call);
  }
  return call->explicit_stream || current_stream(call->framework, *call, &call->stream);
}

}  // namespace darter
