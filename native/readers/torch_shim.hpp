// torch's stable C shim (aoti_torch_get_*), found by dlsym in the torch that is loaded.
#pragma once

#include "readers/reader.hpp"

namespace darter {

using TorchHandle = void*;  // at::Tensor*

struct TorchShim {
  int32_t (*get_data_ptr)(TorchHandle, void**);
  int32_t (*get_sizes)(TorchHandle, int64_t**);
  int32_t (*get_strides)(TorchHandle, int64_t**);
  int32_t (*get_dim)(TorchHandle, int64_t*);
  int32_t (*get_dtype)(TorchHandle, int32_t*);
  int32_t (*get_device_type)(TorchHandle, int32_t*);
  int32_t (*get_device_index)(TorchHandle, int32_t*);
};

constexpr int kDTypeNumbers = 64;  // c10::ScalarType counts fewer

// Fills the shim and the table from c10::ScalarType to dtypes, of kDTypeNumbers entries; false where torch has no shim.
DARTER_COLD bool load_torch_shim(TorchShim* shim, Dtype* dtypes);

}  // namespace darter
