// Arrays of other libraries by DLPack: through the C exchange table of the type, or through __dlpack__ and its capsule.
#include "readers/reader.hpp"

namespace darter {
namespace {

// Whether the type's library says its current stream, so that its launches need no wait.
bool has_streams(PyTypeObject* type, const char* library) {
  Ref name(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__module__"));
  const char* text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : nullptr;
  if (text == nullptr) {
    PyErr_Clear();
    return false;
  }
  const size_t length = std::strlen(library);
  return std::strncmp(text, library, length) == 0 && (text[length] == '\0' || text[length] == '.');
}

const DLPackExchangeAPI* streams_of(PyObject* object) {
  if (has_streams(Py_TYPE(object), "cupy")) return cupy_streams();
  return has_streams(Py_TYPE(object), "torch") ? torch_streams() : legacy_streams();
}

// Calls object.__dlpack__ for the newest capsule that the producer has, without a copy. Host arrays take no stream.
PyObject* capsule_of(PyObject* object, bool on_host, const DLPackExchangeAPI* streams) {
  Ref method(PyObject_GetAttrString(object, "__dlpack__"));
  if (!method) return nullptr;
  Ref none(PyTuple_New(0));
  Ref keywords(none ? PyDict_New() : nullptr);
  // -1 asks the producer not to synchronise, 1 to make the array ready on the legacy default stream.
  if (keywords && !on_host) {
    Ref stream(PyLong_FromLong(streams == legacy_streams() ? 1 : -1));
    if (!stream || PyDict_SetItemString(keywords.get(), "stream", stream.get()) < 0) return nullptr;
  }
  Ref version(keywords ? Py_BuildValue("(ii)", 1, 1) : nullptr);
  if (!version || PyDict_SetItemString(keywords.get(), "max_version", version.get()) < 0) return nullptr;
  PyObject* capsule = PyObject_Call(method.get(), none.get(), keywords.get());
  if (capsule == nullptr && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();  // a producer of before DLPack 1.0 has no max_version
    if (PyDict_DelItemString(keywords.get(), "max_version") < 0) return nullptr;
    capsule = PyObject_Call(method.get(), none.get(), keywords.get());
  }
  return capsule;
}

// Whether the object says that it lies in host memory: 1 or 0, or -1 with a refusal set.
int host_device(const Place& place, PyObject* object) {
  Ref device(PyObject_CallMethod(object, "__dlpack_device__", nullptr));
  if (device && PyTuple_Check(device.get()) && PyTuple_GET_SIZE(device.get()) >= 1) {
    Ref index(PyNumber_Index(PyTuple_GET_ITEM(device.get(), 0)));
    const long number = index ? PyLong_AsLong(index.get()) : -1;
    if (number > 0 && number <= INT32_MAX) return folded_device_type(static_cast<int32_t>(number)) == kDLCPU ? 1 : 0;
  }
  if (!device) {
    refuse_type(place, "the __dlpack_device__ of a %s failed; pass a dense array or tensor", Py_TYPE(object)->tp_name);
  } else {
    refuse_type(place, "its __dlpack_device__ gave %R; accepted: (device type, device number), both ints",
                device.get());
  }
  return -1;
}

// Calls the producer's deleter, which may run Python and must not meet an exception that is on its way.
template <typename Managed>
void release(Managed* managed) {
  if (managed->deleter == nullptr) return;
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  managed->deleter(managed);
  PyErr_Restore(type, value, traceback);
}

// The consumer renames the capsule and calls the deleter itself: the array lives on in the caller's hands, and the view
// must not outlast this call.
template <typename Managed>
bool consume(const Place& place, PyObject* capsule, const char* name, const char* used_name, TensorView* view) {
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  if (managed == nullptr) return false;
  bool read = true;
  if constexpr (sizeof(Managed) == sizeof(DLManagedTensorVersioned)) {
    if (managed->version.major != 1) {
      read =
          refuse_type(place, "found DLPack version %u; accepted: 0 and 1. Update the library that made it, or darter",
                      managed->version.major);
    } else if ((managed->flags & kDLPackIsCopied) != 0) {
      read = refuse_type(place, "its __dlpack__ made a copy, so results would be lost; pass a plain array");
    }
    view->readonly = (managed->flags & kDLPackReadOnly) != 0;
  }
  read = read && view_of_dltensor(place, managed->dl_tensor, view) && check_extents(place, *view);
  PyCapsule_SetName(capsule, used_name);
  release(managed);
  return read;
}

}  // namespace

const DLPackExchangeAPI* exchange_api_of(PyTypeObject* type) {
  Ref capsule(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__dlpack_c_exchange_api__"));
  if (!capsule || !PyCapsule_IsValid(capsule.get(), "dlpack_exchange_api")) {
    PyErr_Clear();
    return nullptr;
  }
  auto* api = static_cast<DLPackExchangeAPI*>(PyCapsule_GetPointer(capsule.get(), "dlpack_exchange_api"));
  while (api != nullptr && api->version.major != 1) api = api->previous;
  return api != nullptr && api->dltensor_from_py_object_no_sync != nullptr ? api : nullptr;
}

bool read_exchange(const Place& place, PyObject* object, const DLPackExchangeAPI* api, TensorView* view) {
  DLTensor tensor;
  if (api->dltensor_from_py_object_no_sync(object, &tensor) != 0) {
    return refuse_type(place, "a %s could not be read through DLPack; pass a dense array or tensor",
                       Py_TYPE(object)->tp_name);
  }
  view->readonly = false;
  if (!view_of_dltensor(place, tensor, view)) return false;
  view->framework = view->device_type == kDLCPU ? nullptr : api;
  return true;
}

bool read_dlpack(const Place& place, PyObject* object, TensorView* view) {
  view->readonly = false;
  const int on_host = host_device(place, object);
  if (on_host < 0) return false;
  const DLPackExchangeAPI* streams = on_host == 0 ? streams_of(object) : nullptr;
  Ref capsule(capsule_of(object, on_host == 1, streams));
  if (!capsule) {
    return refuse_type(place, "a %s could not be read through __dlpack__; pass a dense array or tensor",
                       Py_TYPE(object)->tp_name);
  }
  view->framework = streams;
  if (PyCapsule_IsValid(capsule.get(), "dltensor_versioned")) {
    return consume<DLManagedTensorVersioned>(place, capsule.get(), "dltensor_versioned", "used_dltensor_versioned",
                                             view);
  }
  if (PyCapsule_IsValid(capsule.get(), "dltensor")) {
    return consume<DLManagedTensor>(place, capsule.get(), "dltensor", "used_dltensor", view);
  }
  return refuse_type(place,
                     "its __dlpack__ returned %R and no unused DLPack capsule; accepted: a new capsule at each call",
                     capsule.get());
}

}  // namespace darter
