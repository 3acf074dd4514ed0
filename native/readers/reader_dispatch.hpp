// From the cached kind of a type to its reader; in a header, so that numpy's is inlined into the warm call.
#pragma once

#include "readers/reader_numpy.hpp"

namespace darter {

inline bool read_view(const Place& place, PyObject* object, TypeCache* cache, TensorView* view) {
  switch (cache->reader) {
    case ReaderKind::Numpy:
      return read_numpy(place, object, cache, view);
    case ReaderKind::Torch:
      return read_torch(place, object, view);
    case ReaderKind::Exchange:
      return read_exchange(place, object, static_cast<const DLPackExchangeAPI*>(cache->framework), view);
    case ReaderKind::DLPack:
      return read_dlpack(place, object, view);
    case ReaderKind::CudaArray:
      return read_array_interface(place, object, true, view);
    case ReaderKind::Array:
      return read_array_interface(place, object, false, view);
    case ReaderKind::Explicit:
    case ReaderKind::None:
      break;
  }
  return false;
}

}  // namespace darter
