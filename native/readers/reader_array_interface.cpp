// Arrays that only tell of themselves by __array_interface__ or __cuda_array_interface__ (version 2 and 3).
// Source: numpy's "The array interface protocol" and numba's "CUDA Array Interface (Version 3)".
#include <cstdlib>

#include "cuda/cuda_context.hpp"
#include "readers/reader.hpp"
#include "scalars/scalar_types.hpp"

namespace darter {
namespace {

Dtype dtype_of_typestr(PyObject* typestr) {
  const char* text = typestr != nullptr && PyUnicode_Check(typestr) ? PyUnicode_AsUTF8(typestr) : nullptr;
  if (text == nullptr || std::strlen(text) < 3 || text[0] == '>') return kNoDtype;
  const long size = std::strtol(text + 2, nullptr, 10);
  if (size < 1 || size > 64) return kNoDtype;
  const int bytes = static_cast<int>(size);
  switch (text[1]) {
    case 'b':
      return dtype_of_dlpack(6, bytes * 8, 1);
    case 'i':
      return dtype_of_dlpack(0, bytes * 8, 1);
    case 'u':
      return dtype_of_dlpack(1, bytes * 8, 1);
    case 'f':
      return dtype_of_dlpack(2, bytes * 8, 1);
    default:
      return kNoDtype;
  }
}

DARTER_COLD bool refuse_field(const Place& place, const char* name, PyObject* found, const char* accepted) {
  return refuse_type(place, "found %R as '%s' of its array interface; accepted: %s. Pass numpy.asarray(array)",
                     found != nullptr ? found : Py_None, name, accepted);
}

bool read_integers(const Place& place, PyObject* items, const char* what, int64_t* out, int* count) {
  Ref tuple(items != nullptr ? PySequence_Tuple(items) : nullptr);
  if (!tuple || PyTuple_GET_SIZE(tuple.get()) > kMaxRank) {
    return refuse_field(place, what, items, "a tuple of up to 64 ints");
  }
  *count = static_cast<int>(PyTuple_GET_SIZE(tuple.get()));
  for (int i = 0; i < *count; ++i) {
    out[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple.get(), i));
    if (out[i] == -1 && PyErr_Occurred() != nullptr) {
      return refuse_field(place, what, items, "a tuple of up to 64 ints of 64 bits");
    }
  }
  return true;
}

bool read_data(const Place& place, PyObject* data, TensorView* view) {
  if (data == nullptr || !PyTuple_Check(data) || PyTuple_GET_SIZE(data) != 2) {
    return refuse_field(place, "data", data, "(address, is read-only)");
  }
  view->address = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(data, 0));
  const int readonly = PyErr_Occurred() == nullptr ? PyObject_IsTrue(PyTuple_GET_ITEM(data, 1)) : -1;
  view->readonly = readonly == 1;
  return readonly >= 0 || refuse_field(place, "data", data, "(address, is read-only)");
}

// The protocol says no device: the driver knows it of the address. Device 0 where there is no memory.
bool read_device(const Place& place, TensorView* view) {
  view->device_type = kDLCUDA;
  view->device_id = 0;
  if (view->address == 0) return true;
  const cuda::Api* api = cuda::open(nullptr);
  view->device_id = api != nullptr ? cuda::device_of_pointer(api, view->address) : -1;
  return view->device_id >= 0 || refuse_value(place, "its __cuda_array_interface__ gives no address of a CUDA device");
}

// Waits until the array is ready: version 3 names the stream that computes it, and asks the consumer to wait for it.
bool wait_for_producer(const Place& place, PyObject* stream) {
  if (stream == nullptr || stream == Py_None) return true;
  void* handle = PyLong_AsVoidPtr(stream);
  if (PyErr_Occurred() != nullptr) return refuse_field(place, "stream", stream, "None or a handle");
  if (reinterpret_cast<uintptr_t>(handle) <= 1) return true;
  const cuda::Api* api = cuda::open(nullptr);
  const cuda::Result status = api != nullptr ? api->stream_synchronize(static_cast<cuda::Stream>(handle)) : -1;
  if (api != nullptr && status != cuda::kSuccess) cuda::raise_status(status, "cuStreamSynchronize", "");
  return status == cuda::kSuccess || refuse_value(place, "the stream that computes it cannot be waited for");
}

}  // namespace

bool read_array_interface(const Place& place, PyObject* object, bool cuda, TensorView* view) {
  Ref interface(PyObject_GetAttrString(object, cuda ? "__cuda_array_interface__" : "__array_interface__"));
  if (!interface || !PyDict_Check(interface.get())) {
    return refuse_type(place,
                       "the array interface of a %s could not be read; accepted: a dict. Pass numpy.asarray(array)",
                       Py_TYPE(object)->tp_name);
  }
  PyObject* fields = interface.get();
  PyObject* mask = PyDict_GetItemString(fields, "mask");
  if (mask != nullptr && mask != Py_None)
    return refuse_type(place,
                       "found a masked array; accepted: plain arrays. Pass the data and "
                       "the mask as two arguments");
  PyObject* typestr = PyDict_GetItemString(fields, "typestr");
  view->dtype = dtype_of_typestr(typestr);
  if (view->dtype == kNoDtype) {
    return refuse_type(place,
                       "found an array of type %R; accepted: bool, integers, float16, float32 and float64 in native "
                       "byte order. Convert it in its own library",
                       typestr != nullptr ? typestr : Py_None);
  }
  int rank = 0;
  int stride_count = 0;
  int64_t* strides = view->storage + kMaxRank;
  if (!read_integers(place, PyDict_GetItemString(fields, "shape"), "shape", view->storage, &rank)) return false;
  PyObject* given = PyDict_GetItemString(fields, "strides");
  if (given != nullptr && given != Py_None) {
    if (!read_integers(place, given, "strides", strides, &stride_count)) return false;
    if (stride_count != rank) return refuse_field(place, "strides", given, "as many ints as 'shape' has, or None");
  } else {
    uint64_t step = uint64_t{1} << size_shift(view->dtype);
    for (int axis = rank - 1; axis >= 0; --axis) {
      strides[axis] = static_cast<int64_t>(step);
      step *= static_cast<uint64_t>(view->storage[axis]);
    }
  }
  if (!read_data(place, PyDict_GetItemString(fields, "data"), view)) return false;
  view->rank = rank;
  view->shape = view->storage;
  view->strides = strides;
  view->byte_strides = true;
  view->device_type = kDLCPU;
  view->device_id = 0;
  view->framework = nullptr;
  if (!check_extents(place, *view)) return false;
  return !cuda || (read_device(place, view) && wait_for_producer(place, PyDict_GetItemString(fields, "stream")));
}

}  // namespace darter
