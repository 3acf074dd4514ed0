// numpy arrays by their C struct, whose head has been the same since numpy 1.7 and is part of numpy's ABI.
// Source: numpy/core/include/numpy/ndarraytypes.h, PyArrayObject_fields and PyArray_Descr.
#pragma once

#include "readers/reader.hpp"
#include "scalars/scalar_types.hpp"

namespace darter {

struct NumpyDescr {
  PyObject_HEAD PyTypeObject* typeobj;
  char kind;
  char type;
  char byteorder;
};

struct NumpyArray {
  PyObject_HEAD char* data;
  int nd;
  int64_t* dimensions;
  int64_t* strides;
  PyObject* base;
  NumpyDescr* descr;
  int flags;
};

constexpr int kNumpyWriteable = 0x0400;

// Finds the dtype of a descriptor that the cache does not hold, or refuses it.
DARTER_COLD bool learn_numpy_dtype(const Place& place, NumpyDescr* descr, TypeCache* cache);

inline bool read_numpy(const Place& place, PyObject* object, TypeCache* cache, TensorView* view) {
  auto* array = reinterpret_cast<NumpyArray*>(object);
  if (DARTER_UNLIKELY(reinterpret_cast<PyObject*>(array->descr) != cache->dtype_object)) {
    if (!learn_numpy_dtype(place, array->descr, cache)) return false;
  }
  view->address = reinterpret_cast<uint64_t>(array->data);
  view->shape = array->dimensions;
  view->strides = array->strides;
  view->rank = array->nd;
  view->dtype = cache->dtype;
  view->byte_strides = true;
  view->readonly = (array->flags & kNumpyWriteable) == 0;
  view->device_type = kDLCPU;
  view->device_id = 0;
  view->framework = nullptr;
  return true;
}

}  // namespace darter
