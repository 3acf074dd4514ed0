#include "readers/reader.hpp"

#include <cstdarg>

#include "common/errors.hpp"
#include "scalars/scalar_types.hpp"

namespace darter {
namespace {

// Whether the exception on its way says nothing about the argument: an interrupt, an exit, no memory.
bool is_no_refusal() {
  return PyErr_Occurred() != nullptr &&
         (PyErr_ExceptionMatches(PyExc_Exception) == 0 || PyErr_ExceptionMatches(PyExc_MemoryError) != 0);
}

// An exception that is on its way (from a getter of the user's, say) becomes the cause of the refusal.
bool refuse(const Place& place, const char* error, const char* format, va_list arguments) {
  if (is_no_refusal()) return false;
  PyObject* type = nullptr;
  PyObject* cause = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &cause, &traceback);
  if (type != nullptr) {
    PyErr_NormalizeException(&type, &cause, &traceback);
    if (traceback != nullptr) PyException_SetTraceback(cause, traceback);
  }
  Ref cause_type(type);
  Ref cause_traceback(traceback);
  Ref held_cause(cause);
  Ref text(PyUnicode_FromFormatV(format, arguments));
  Ref path(text ? path_text(place.path) : nullptr);
  if (!path) return false;
  raise_error(error, "%U(): argument '%U': %U.", place.function, path.get(), text.get());
  if (held_cause) {
    PyErr_Fetch(&type, &cause, &traceback);
    PyErr_NormalizeException(&type, &cause, &traceback);
    PyException_SetCause(cause, held_cause.release());
    PyErr_Restore(type, cause, traceback);
  }
  return false;
}

bool has_attribute(PyTypeObject* type, const char* name) {
  PyObject* value = PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), name);
  if (value == nullptr) {
    PyErr_Clear();
    return false;
  }
  Py_DECREF(value);
  return true;
}

bool is_explicit_argument(PyTypeObject* type) {
  if (std::strcmp(type->tp_name, "TensorArgument") != 0) return false;
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "darter.signature.argument");
  if (module == nullptr) return false;
  Ref expected(PyObject_GetAttrString(module, "TensorArgument"));
  if (!expected) PyErr_Clear();
  return expected.get() == reinterpret_cast<PyObject*>(type);
}

// numpy arrays and scalars: 1 read as arrays, 0 another library's, 2 no array, -1 refused.
int classify_numpy(const Place& place, PyTypeObject* type, TypeCache* cache) {
  if (!numpy_known()) return 0;
  if (type == numpy_ndarray() || type == numpy_memmap()) {
    cache->reader = ReaderKind::Numpy;
    return 1;
  }
  if (PyType_IsSubtype(type, numpy_ndarray()) != 0) {
    refuse_type(place,
                "found a %s, a subclass of numpy.ndarray whose meaning would be lost; accepted: plain arrays. Pass "
                "numpy.asarray(array), or array.filled(value) of a masked one",
                type->tp_name);
    return -1;
  }
  return is_numpy_scalar(type) ? 2 : 0;
}

}  // namespace

PyObject* path_text(const ArgumentPath* path) {
  if (path->outer == nullptr) return Py_XNewRef(path->name);
  Ref outer(path_text(path->outer));
  if (!outer) return nullptr;
  if (path->name != nullptr) return PyUnicode_FromFormat("%U.%U", outer.get(), path->name);
  return PyUnicode_FromFormat("%U[%zd]", outer.get(), path->index);
}

bool refuse_type(const Place& place, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  refuse(place, "ArgumentTypeError", format, arguments);
  va_end(arguments);
  return false;
}

bool refuse_value(const Place& place, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  refuse(place, "ArgumentValueError", format, arguments);
  va_end(arguments);
  return false;
}

bool choose_reader(const Place& place, PyObject* object, TypeCache* cache) {
  PyTypeObject* type = Py_TYPE(object);
  TypeCache found;
  const int numpy = classify_numpy(place, type, &found);
  if (numpy < 0) return false;
  const int torch = numpy == 0 ? classify_torch(place, object, &found) : 0;
  if (torch < 0) return false;
  if (numpy == 0 && torch == 0) {
    if (is_explicit_argument(type)) {
      found.reader = ReaderKind::Explicit;
    } else if (const DLPackExchangeAPI* api = exchange_api_of(type)) {
      found.reader = ReaderKind::Exchange;
      found.framework = api;
    } else if (has_attribute(type, "__dlpack__") && has_attribute(type, "__dlpack_device__")) {
      found.reader = ReaderKind::DLPack;
    } else if (has_attribute(type, "__cuda_array_interface__")) {
      found.reader = ReaderKind::CudaArray;
    } else if (has_attribute(type, "__array_interface__")) {
      found.reader = ReaderKind::Array;
    }
  }
  if (found.reader == ReaderKind::None) return true;
  found.type = reinterpret_cast<PyTypeObject*>(Py_NewRef(reinterpret_cast<PyObject*>(type)));
  TypeCache old = *cache;
  *cache = found;
  Py_XDECREF(old.type);
  Py_XDECREF(old.dtype_object);
  return true;
}

bool check_extents(const Place& place, const TensorView& view) {
  for (int axis = 0; axis < view.rank; ++axis) {
    if (view.shape[axis] < 0) {
      return refuse_value(place, "found the extent %lld on axis %d; accepted: 0 and more",
                          static_cast<long long>(view.shape[axis]), axis);
    }
  }
  return true;
}

bool view_of_dltensor(const Place& place, const DLTensor& tensor, TensorView* view) {
  view->dtype = dtype_of_dlpack(tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes);
  if (view->dtype == kNoDtype) {
    return refuse_type(
        place,
        "found a DLPack data type (code %d, %d bits, %d lanes) that kernels cannot hold; accepted: " DARTER_DTYPES_TEXT
        ". Convert it in its own library, or pass its bytes as uint8",
        tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes);
  }
  if (tensor.ndim < 0 || tensor.ndim > kMaxRank) {
    return refuse_value(place, "found rank %d; accepted: ranks up to %d", tensor.ndim, kMaxRank);
  }
  view->rank = tensor.ndim;
  view->address = reinterpret_cast<uint64_t>(tensor.data) + tensor.byte_offset;
  if (tensor.data == nullptr) view->address = 0;
  view->device_type = folded_device_type(tensor.device.device_type);
  view->device_id = view->device_type == kDLCPU ? 0 : tensor.device.device_id;
  view->byte_strides = false;
  int64_t* shape = view->storage;
  int64_t* strides = view->storage + kMaxRank;
  uint64_t row_major = 1;
  for (int axis = tensor.ndim - 1; axis >= 0; --axis) {
    shape[axis] = tensor.shape[axis];
    strides[axis] = tensor.strides != nullptr ? tensor.strides[axis] : static_cast<int64_t>(row_major);
    row_major *= static_cast<uint64_t>(shape[axis]);
  }
  view->shape = shape;
  view->strides = strides;
  return true;
}

}  // namespace darter
