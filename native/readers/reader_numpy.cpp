#include "readers/reader_numpy.hpp"

#include "signature/key_tags.hpp"

namespace darter {

bool learn_numpy_dtype(const Place& place, NumpyDescr* descr, TypeCache* cache) {
  auto* object = reinterpret_cast<PyObject*>(descr);
  if (descr->byteorder == '>') {
    return refuse_type(place,
                       "found byte-swapped data (dtype %S); accepted: native byte order. Convert it with "
                       "array.astype(array.dtype.newbyteorder('='))",
                       object);
  }
  const Dtype dtype = dtype_of_numpy_scalar(descr->typeobj);
  if (dtype == kNoDtype) {
    return refuse_type(place, "found dtype %S; accepted: " DARTER_DTYPES_TEXT ". Convert it with array.astype(...)",
                       object);
  }
  PyObject* old = std::exchange(cache->dtype_object, Py_NewRef(object));
  cache->dtype = dtype;
  cache->numpy_type = cache->type;
  cache->item_shift = static_cast<uint8_t>(size_shift(dtype));
  cache->word = kTagTensor | static_cast<uint64_t>(dtype) << 8 | static_cast<uint64_t>(kDLCPU) << 40;
  Py_XDECREF(old);
  return true;
}

}  // namespace darter
