// Key words: the facts of the arguments as 64-bit numbers, word for word what signature/words.py writes.
#pragma once

#include <unordered_map>

#include "reader.hpp"
#include "scalar_types.hpp"
#include "words.hpp"

namespace darter {

// First byte of a word sequence.
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

// Extents and byte offsets from here on need 64-bit indices.
constexpr int kWideBits = 30;

// Small numbers for objects of one JitFunction, by identity; holds the objects, so that no address comes back.
class Interned {
 public:
  Interned() = default;
  Interned(const Interned&) = delete;
  Interned& operator=(const Interned&) = delete;
  ~Interned() { clear(); }

  uint64_t number(PyObject* object);
  int traverse(visitproc visit, void* arg) const;
  void clear();

 private:
  std::unordered_map<PyObject*, uint64_t> numbers_;
  PyObject* last_ = nullptr;  // borrowed from numbers_
  uint64_t last_number_ = 0;
};

// Writes the encoding of a compile-time value, without the CONSTEXPR word. What it does not know itself it asks of
// `cold.constexpr_words(value, name)`, which raises UnkeyableError for what cannot be keyed.
bool constexpr_words(const Place& place, PyObject* value, PyObject* cold, Interned* interned, WordBuffer* words);

// The tensor's slots (address, extents, strides in elements) and the facts in its key word, but for device and layout.
// Returns the key word; sets *bad_stride where a stride in use is no multiple of the item size, *no_elements where an
// extent is 0.
inline uint64_t tensor_facts(const TensorView& view, uint64_t* slots, bool* bad_stride, bool* no_elements) {
  const int rank = view.rank;
  const int shift = size_shift(view.dtype);
  const int stride_shift = view.byte_strides ? shift : 0;
  uint64_t* extents = slots + 1;
  uint64_t* strides = extents + rank;
  slots[0] = view.address;

  uint64_t wide = 0;
  uint64_t low_bits = 0;   // of the strides, in elements, that vec16 asks about
  uint64_t remainder = 0;  // of the strides in bytes
  uint64_t above = 0;      // offsets on the two sides of the base, in elements
  uint64_t below = 0;
  uint64_t unit = 0;  // 1 + unit axis
  bool empty = false;
  const uint64_t item_mask = (uint64_t{1} << stride_shift) - 1;
  for (int axis = rank - 1; axis >= 0; --axis) {
    const int64_t extent = view.shape[axis];
    const int64_t raw = view.strides[axis];
    const int64_t stride = raw >> stride_shift;
    extents[axis] = static_cast<uint64_t>(extent);
    strides[axis] = static_cast<uint64_t>(stride);
    empty |= extent == 0;
    const uint64_t used = extent > 1 ? ~uint64_t{0} : 0;
    const uint64_t effective = static_cast<uint64_t>(stride) & used;
    const uint64_t sign = static_cast<uint64_t>(static_cast<int64_t>(effective) >> 63);
    const uint64_t distance = (effective ^ sign) - sign;
    // A product that overflows comes of a factor that makes the tensor wide already.
    const uint64_t reach = static_cast<uint64_t>(extent - 1) * distance;
    wide |= static_cast<uint64_t>(extent) >> kWideBits | distance >> kWideBits | reach >> kWideBits;
    above += reach & ~sign;
    below += reach & sign;
    remainder |= static_cast<uint64_t>(raw) & used & item_mask;
    if (unit == 0 && (used == 0 || stride == 1)) {
      unit = static_cast<uint64_t>(axis) + 1;
    } else {
      low_bits |= effective;
    }
  }
  wide |= (above << shift | below << shift) >> kWideBits;
  *bad_stride = remainder != 0;
  *no_elements = empty;
  const bool vec16 = unit != 0 && ((low_bits << shift | view.address) & 15) == 0;
  return kTagTensor | static_cast<uint64_t>(view.dtype) << 8 | static_cast<uint64_t>(rank) << 16 | unit << 24 |
         static_cast<uint64_t>(vec16) << 32 | static_cast<uint64_t>(wide != 0) << 33 |
         static_cast<uint64_t>(view.device_type) << 40;
}

}  // namespace darter
