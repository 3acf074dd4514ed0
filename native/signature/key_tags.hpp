// What the first byte of a sequence of key words says; the numbers are those of signature/words.py.
#pragma once

#include <cstdint>

namespace darter {

// An argument.
enum KeyTag : uint8_t {
  kTagNone = 0x01,
  kTagTensor = 0x02,
  kTagPointer = 0x03,
  kTagScalar = 0x04,
  kTagType = 0x05,
  kTagStruct = 0x06,
  kTagSelf = 0x07,
  kTagJitArgument = 0x08,
  kTagConstexpr = 0x09,
};

// A compile-time value, behind kTagConstexpr.
enum ValueTag : uint8_t {
  kValueNone = 0x10,
  kValueFalse = 0x11,
  kValueTrue = 0x12,
  kValueInt = 0x13,
  kValueFloat = 0x15,
  kValueComplex = 0x16,
  kValueStr = 0x17,
  kValueBytes = 0x18,
  kValueTuple = 0x19,
  kValueScalarType = 0x1A,
  kValueEnum = 0x1B,
  kValueNumpyScalar = 0x1E,
};

}  // namespace darter
