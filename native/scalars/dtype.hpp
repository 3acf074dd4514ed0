// The scalar types; the numbers are ScalarType.code of src/darter/dtypes.py (a test compares them).
#pragma once

#include <cstdint>

namespace darter {

enum class Dtype : uint8_t {
  kPointer = 0,  // an address, where a pointer may stand
  kBool = 1,
  kI8 = 2,
  kI16 = 3,
  kI32 = 4,
  kI64 = 5,
  kU8 = 6,
  kU16 = 7,
  kU32 = 8,
  kU64 = 9,
  kF16 = 10,
  kBF16 = 11,
  kF32 = 12,
  kF64 = 13,
  kE4M3FN = 14,
  kE5M2 = 15,
  kE4M3FNUZ = 16,
  kE5M2FNUZ = 17,
};

constexpr int kDtypeCount = 18;

// Bits of storage; 64 for an address, 0 for a number that is no type.
constexpr int dtype_bits(Dtype dtype) {
  constexpr uint8_t kBits[kDtypeCount] = {64, 8, 8, 16, 32, 64, 8, 16, 32, 64, 16, 16, 32, 64, 8, 8, 8, 8};
  return static_cast<int>(dtype) < kDtypeCount ? kBits[static_cast<int>(dtype)] : 0;
}

constexpr bool dtype_is_signed_int(Dtype dtype) { return dtype >= Dtype::kI8 && dtype <= Dtype::kI64; }
constexpr bool dtype_is_int(Dtype dtype) { return dtype >= Dtype::kI8 && dtype <= Dtype::kU64; }
constexpr bool dtype_is_float(Dtype dtype) { return dtype >= Dtype::kF16 && dtype <= Dtype::kE5M2FNUZ; }

// Short name, as in Python.
constexpr const char* dtype_name(Dtype dtype) {
  constexpr const char* kNames[kDtypeCount] = {"pointer", "bool", "i8",     "i16",  "i32",      "i64",
                                               "u8",      "u16",  "u32",    "u64",  "f16",      "bf16",
                                               "f32",     "f64",  "e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz"};
  return static_cast<int>(dtype) < kDtypeCount ? kNames[static_cast<int>(dtype)] : "?";
}

}  // namespace darter
