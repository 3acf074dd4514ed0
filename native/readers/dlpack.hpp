// The parts of DLPack 1.x that the readers use.
// Source: the DLPack specification, version 1.1 and the C exchange API of 1.3.
#pragma once

#include <cstdint>

namespace darter {

enum DLDeviceType : int32_t {
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3,
  kDLROCM = 10,
  kDLROCMHost = 11,
  kDLCUDAManaged = 13,
};

struct DLDevice {
  int32_t device_type;
  int32_t device_id;
};

struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; NULL: row-major
  uint64_t byte_offset;
};

struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};

struct DLPackVersion {
  uint32_t major;
  uint32_t minor;
};

constexpr uint64_t kDLPackReadOnly = 1;
constexpr uint64_t kDLPackIsCopied = 2;

struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  uint64_t flags;
  DLTensor dl_tensor;
};

struct DLPackExchangeAPI {
  DLPackVersion version;
  DLPackExchangeAPI* previous;
  void* managed_tensor_allocator;
  int (*managed_tensor_from_py_object_no_sync)(void* object, DLManagedTensorVersioned** out);
  int (*managed_tensor_to_py_object_no_sync)(DLManagedTensorVersioned* tensor, void** out);
  int (*dltensor_from_py_object_no_sync)(void* object, DLTensor* out);  // may be NULL
  int (*current_work_stream)(int32_t device_type, int32_t device_id, void** out);
};

// Host memory is host memory, pinned or not; managed memory belongs to its GPU.
inline int32_t folded_device_type(int32_t device_type) {
  if (device_type == kDLCUDAHost || device_type == kDLROCMHost) return kDLCPU;
  if (device_type == kDLCUDAManaged) return kDLCUDA;
  return device_type;
}

}  // namespace darter
