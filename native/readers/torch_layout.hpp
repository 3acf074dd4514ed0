// Where a torch tensor keeps what a launch reads.
#pragma once

#include "readers/torch_shim.hpp"

namespace darter {

// Up to this rank a TensorImpl holds extents and strides itself.
constexpr int kTorchInlineRank = 5;

// Places in bytes. torch promises none of them: each one was found on probe tensors (signature/torch_probes.py).
struct alignas(64) TorchLayout {
  bool shim = false;    // `handle` and `keys` are known: the C shim can be asked about any tensor
  bool direct = false;  // and all the others
  int16_t handle = 0;   // of the Python object: an at::Tensor, which is a pointer to a TensorImpl
  // Of the TensorImpl.
  int16_t keys = 0;     // the dispatch key set
  int16_t sizes = 0;    // rank, five extents, five strides; 64 bits each
  int16_t dtype = 0;    // c10::ScalarType in 16 bits, type of the device in 8, its index in 8
  int16_t storage = 0;  // pointer to a StorageImpl
  int16_t offset = 0;   // into the storage, in elements
  // Of the StorageImpl.
  int16_t data = 0;
  int16_t guarded = 0;  // a byte, not 0 where the address must be asked for: copy on write, for one
};

// What the loaded torch's is; of no use before the first tensor was classified.
extern TorchLayout torch_layout;

template <typename T>
DARTER_INLINE T torch_field(const void* object, int place) {
  T value;
  std::memcpy(&value, static_cast<const char*>(object) + place, sizeof value);
  return value;
}

inline TorchHandle torch_handle(const TorchLayout& at, PyObject* tensor) {
  return reinterpret_cast<char*>(tensor) + at.handle;
}
inline const char* torch_impl(const TorchLayout& at, PyObject* tensor) {
  return torch_field<const char*>(tensor, at.handle);
}

// Fills in what all probes agree on. False where the probes could not be made at this time, with no exception: a later
// tensor may try again.
DARTER_COLD bool find_torch_layout(const TorchShim& shim, const Dtype* dtypes, TorchLayout* found);

}  // namespace darter
