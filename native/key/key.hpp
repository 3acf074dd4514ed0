// Key words: the facts of the arguments as 64-bit numbers, word for word what signature/words.py writes.
#pragma once

#include <unordered_map>

#include "key/words.hpp"
#include "readers/reader.hpp"
#include "scalars/scalar_types.hpp"
#include "signature/key_tags.hpp"

namespace darter {

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

  // Lets go of the functions that nobody else holds, which no call can bring again. Their numbers are not given anew.
  void release_functions();

  int traverse(visitproc visit, void* arg) const;
  void clear();

 private:
  std::unordered_map<PyObject*, uint64_t> numbers_;
  uint64_t count_ = 0;
  PyObject* last_ = nullptr;  // borrowed from numbers_
  uint64_t last_number_ = 0;
};

// Writes the encoding of a compile-time value, without the CONSTEXPR word. What it does not know itself it asks of
// `cold.constexpr_words(value, name)`, which raises UnkeyableError for what cannot be keyed.
bool constexpr_words(const Place& place, PyObject* value, PyObject* cold, Interned* interned, WordBuffer* words);

// The bits of a tensor's key word that its layout decides, or kIrregular.
constexpr uint64_t kIrregular = ~uint64_t{0};

inline uint64_t layout_bits(uint64_t unit, bool vec16, bool wide) {
  return unit << 24 | static_cast<uint64_t>(vec16) << 32 | static_cast<uint64_t>(wide) << 33;
}

// Writes extents and strides (in elements) behind slots[0] and returns the layout bits of any tensor. kIrregular where
// a stride in use is no multiple of the item size.
uint64_t general_layout(const TensorView& view, uint64_t* slots);

// The same for small ranks, unrolled, where extents and strides are below 2^30 and not negative, and all strides are
// multiples of the item size. kIrregular for others, which general_layout decides.
template <int Rank>
inline uint64_t regular_layout(const TensorView& view, uint64_t* slots) {
  const int shift = size_shift(view.dtype);
  const int down = view.byte_strides ? shift : 0;
  const int up = shift - down;
  uint64_t extents[Rank + 1];
  uint64_t raws[Rank + 1];
  uint64_t high = 0;
  uint64_t low = 0;
  for (int axis = 0; axis < Rank; ++axis) {
    extents[axis] = static_cast<uint64_t>(view.shape[axis]);
    raws[axis] = static_cast<uint64_t>(view.strides[axis]);
    high |= extents[axis] | raws[axis];
    low |= raws[axis];
  }
  if (DARTER_UNLIKELY((high >> kWideBits | (low & ((uint64_t{1} << down) - 1))) != 0)) return kIrregular;

  uint64_t reach = 0;       // bytes from the first element to the last; below 2^62 for ranks up to 4
  uint64_t used[Rank + 1];  // strides in bytes of axes that are stepped along
  uint64_t units = 0;       // bit d: axis d may be the unit axis
  for (int axis = 0; axis < Rank; ++axis) {
    const uint64_t extent = extents[axis];
    const uint64_t stride = raws[axis] >> down;
    slots[1 + axis] = extent;
    slots[1 + Rank + axis] = stride;
    used[axis] = extent > 1 ? raws[axis] << up : 0;
    reach += (extent - 1) * used[axis];
    units |= static_cast<uint64_t>(stride == 1 || extent <= 1) << axis;
  }
  uint64_t others = view.address;
  uint64_t unit = Rank;
  if (Rank > 0 && DARTER_LIKELY((units >> (Rank - 1)) != 0)) {
    for (int axis = 0; axis + 1 < Rank; ++axis) others |= used[axis];
  } else {
    if (units == 0) return layout_bits(0, false, reach >> kWideBits != 0);
    unit = 64 - static_cast<uint64_t>(__builtin_clzll(units));
    for (int axis = 0; axis < Rank; ++axis) others |= static_cast<uint64_t>(axis) + 1 == unit ? 0 : used[axis];
  }
  return layout_bits(unit, (others & 15) == 0, reach >> kWideBits != 0);
}

DARTER_INLINE uint64_t tensor_layout(const TensorView& view, uint64_t* slots) {
  uint64_t bits = kIrregular;
  slots[0] = view.address;
  switch (view.rank) {
    case 0:
      return 0;
    case 1:
      bits = regular_layout<1>(view, slots);
      break;
    case 2:
      bits = regular_layout<2>(view, slots);
      break;
    case 3:
      bits = regular_layout<3>(view, slots);
      break;
    case 4:
      bits = regular_layout<4>(view, slots);
      break;
    default:
      break;
  }
  return DARTER_LIKELY(bits != kIrregular) ? bits : general_layout(view, slots);
}

DARTER_INLINE uint64_t tensor_word(const TensorView& view, uint64_t layout) {
  return kTagTensor | static_cast<uint64_t>(view.dtype) << 8 | static_cast<uint64_t>(view.rank) << 16 | layout |
         static_cast<uint64_t>(view.device_type) << 40;
}

}  // namespace darter
