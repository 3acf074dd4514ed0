#include "readers/torch_shim.hpp"

#include <dlfcn.h>

namespace darter {
namespace {

template <typename Function>
bool find_symbol(void* library, const char* name, Function* out) {
  *out = reinterpret_cast<Function>(dlsym(library, name));
  return *out != nullptr;
}

}  // namespace

bool load_torch_shim(TorchShim* found, Dtype* dtypes) {
  void* library = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) library = dlopen(nullptr, RTLD_LAZY);
  if (library == nullptr) return false;
  TorchShim& shim = *found;
  if (!find_symbol(library, "aoti_torch_get_data_ptr", &shim.get_data_ptr) ||
      !find_symbol(library, "aoti_torch_get_sizes", &shim.get_sizes) ||
      !find_symbol(library, "aoti_torch_get_strides", &shim.get_strides) ||
      !find_symbol(library, "aoti_torch_get_dim", &shim.get_dim) ||
      !find_symbol(library, "aoti_torch_get_dtype", &shim.get_dtype) ||
      !find_symbol(library, "aoti_torch_get_device_type", &shim.get_device_type) ||
      !find_symbol(library, "aoti_torch_get_device_index", &shim.get_device_index)) {
    return false;
  }
  struct Named {
    const char* name;
    Dtype code;
  };
  constexpr Named kNames[] = {
      {"bool", Dtype::kBool},
      {"int8", Dtype::kI8},
      {"int16", Dtype::kI16},
      {"int32", Dtype::kI32},
      {"int64", Dtype::kI64},
      {"uint8", Dtype::kU8},
      {"uint16", Dtype::kU16},
      {"uint32", Dtype::kU32},
      {"uint64", Dtype::kU64},
      {"float16", Dtype::kF16},
      {"bfloat16", Dtype::kBF16},
      {"float32", Dtype::kF32},
      {"float64", Dtype::kF64},
      {"float8_e4m3fn", Dtype::kE4M3FN},
      {"float8_e5m2", Dtype::kE5M2},
      {"float8_e4m3fnuz", Dtype::kE4M3FNUZ},
      {"float8_e5m2fnuz", Dtype::kE5M2FNUZ},
  };
  for (const Named& entry : kNames) {
    char symbol[64];
    PyOS_snprintf(symbol, sizeof symbol, "aoti_torch_dtype_%s", entry.name);
    int32_t (*number)() = nullptr;
    if (!find_symbol(library, symbol, &number)) continue;
    const int32_t value = number();
    if (value >= 0 && value < kDTypeNumbers) dtypes[value] = entry.code;
  }
  return true;
}

}  // namespace darter
